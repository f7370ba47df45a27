"""`--learner jax`: the RLTrainer around the compiled programs."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.advisor.settings import AdviserSettings
from jimbot.errors import SettingsError
from jimbot.games.contract import BatchGame, FunctionalGame, available_games, functional_game, game_entry
from jimbot.games.functional import from_named_leaves, named_leaves
from jimbot.games.hooks import Variety
from jimbot.games.variety import VarietyCount
from jimbot.knowledge.sorting import ways_of
from jimbot.policies.jax_networks import Params
from jimbot.policies.onnx_form import onnx_from_params
from jimbot.policies.portable import OnnxPolicy, with_metadata
from jimbot.runs.checkpoint import Manifest, check_matches, load_checkpoint
from jimbot.runs.files import remove_directory
from jimbot.training.advice.background import BackgroundAdvice, LatestPolicy
from jimbot.training.environments.given import has_curriculum, training_game, training_options
from jimbot.training.exploration.counting import CountBonus
from jimbot.training.exploration.weighing import RareWeight
from jimbot.training.far_runs import FarRuns
from jimbot.training.framework import Callback, RLTrainer, plain_callback
from jimbot.training.init_policy import check_network, filled, fitting_params, start_of
from jimbot.training.jax_ppo.entropy import blocks_of
from jimbot.training.jax_ppo.gradients import NOISE, SIGNAL
from jimbot.training.jax_ppo.growth import Growth, grown, growth_from
from jimbot.training.jax_ppo.imitate import Imitation, answering
from jimbot.training.jax_ppo.phases import fused_phase_seconds
from jimbot.training.jax_ppo.program import (
    HostUpdate,
    TrainState,
    fused_update,
    initial_state,
    network_for,
)
from jimbot.training.jax_ppo.shared import KEPT_PROGRAMS, network_text
from jimbot.training.jax_ppo.teacher import Teacher
from jimbot.training.league.opponents import Seats
from jimbot.training.league.store import league_state, open_league, past_self, plays_league, restore_league
from jimbot.training.memory.relief import MOST_PIECES
from jimbot.training.running_statistics import Moments, moments_of
from jimbot.training.session.compile_cache import use_compile_cache
from jimbot.training.session.log_rows import Measures
from jimbot.training.session.session import JUDGED_RETURN, Session, TrainResult
from jimbot.training.settings.record import TrainSettings

LEARNER, ALGORITHM = "jax", "PPO"
_log = logging.getLogger("jimbot.training.jax")
EXPERIENCE = "experience"  # folder of a run with `share: file_system`
JUDGED_GAMES = 100  # after a checkpoint of a league, which they may make the best
PER_ROW = ("tally", "rows")  # parts of TrainState with one entry per row of the game
_GAME_PREFIX = "game/"  # of a host-stepped game's snapshot inside a checkpoint's state
_LEAGUE_PREFIX = "league/"
_GROWTH_PREFIX = "growth/"
_BONUS_PREFIX = "bonus/"
_RARE_PREFIX = "rare/"


class JaxPPOTrainer(RLTrainer):
    """PPO on one machine; fused with JAX games."""

    algorithms = (ALGORITHM,)

    def __init__(self, settings: TrainSettings, session: Session, game: BatchGame | None = None) -> None:
        super().__init__(settings, session, game)
        use_compile_cache()
        self.network = network_for(settings, self.spec)
        league = open_league(settings, session.run.root) if plays_league(settings) else None
        self.game: FunctionalGame | BatchGame = game if game is not None else self._build_game()
        self.curriculum = getattr(self.game, "curriculum", None)
        self.spec = self.game.spec  # with as many players as the options make it
        self.seats: Seats | None = None
        if league is not None and isinstance(self.game, BatchGame) and self.spec.players > 1:
            self.seats = Seats(self.game, league, settings.seed)
            session.judge_by(JUDGED_RETURN)  # against a league that gets stronger, a better policy may score less
        if settings.ppo.rival_coef and self.spec.players != 2:
            raise SettingsError(
                f"rival_coef is {settings.ppo.rival_coef}, but a game of '{self.spec.id}' has {self.spec.players} row "
                "here, so nobody knows what a rival does. Play a league, or leave it out."
            )
        blocks_of(self.spec, settings.ppo.ent_blocks)  # says at once which block there is not
        self.state: TrainState | None = None
        self.growth = Growth()
        self.teacher = Teacher.of(settings, session.run.root)
        explore = settings.exploration
        self.bonus = CountBonus.of(settings.game, explore.count_bonus, explore.strategy_bonus)
        self.rare = RareWeight.of(self.spec, explore.rare_weight)
        self.variety = VarietyCount(_varieties(settings.game))
        self.far_runs = FarRuns.of(settings.game, session.run.path, settings.saving.keep_games)
        self.advice: BackgroundAdvice | None = None
        AdviserSettings().with_values(settings.advice.settings)  # says at once which setting there is not
        self._imitation = Imitation(self.network, settings.ppo.max_grad_norm, settings.advice.coef, settings.seed)
        self._latest: LatestPolicy | None = None
        self._update: Any
        self._compile()
        self._fused_seconds: dict[str, float] | None = None

    @property
    def step(self) -> int:
        updates = int(self._live().update) - self.growth.update
        return self.growth.step + updates * self._grown().batch_size

    def create_model(self) -> None:
        self.state = initial_state(self.settings, self.network, self.game)
        if isinstance(self.game, BatchGame):
            self.game.reset()

    def start_from(self, path: str | Path) -> None:
        start = start_of(path, self.spec, self.network.description)

        def copied() -> Params:  # one copy each: the compiled update reuses the memory of what it is given
            return {name: jnp.array(value, jnp.float32) for name, value in start.params.items()}

        self._begin_with(copied)
        if self.settings.normalize_obs:
            observed = Moments(*(jnp.array(value, jnp.float32) for value in moments_of(start.params, start.step)))
            live = self._live()
            self.state = live._replace(statistics=live.statistics._replace(observed=observed))

    def described_network(self) -> Mapping[str, Any]:
        return self.network.description

    def put_params(self, params: Mapping[str, np.ndarray]) -> None:
        live = self._live()
        given = {name: jnp.array(value, jnp.float32) for name, value in params.items()}
        self.state = live._replace(params={**live.params, **given})

    def start_from_clone(self, path: str | Path) -> str:
        taken = fitting_params(path, self.spec, self.network.description)
        if self.settings.start.init_kl and not taken.whole:
            raise SettingsError(
                f"init_kl is {self.settings.start.init_kl}, but the clone {path} has another network than this run, so "
                "there is nothing to be pulled to. Leave init_kl out, or give the clone's --network, --hidden-dim and "
                "layers."
            )
        fresh = self._params()

        def copied() -> Params:
            found = {name: filled(value, taken.params.get(name)) for name, value in fresh.items()}
            return {name: jnp.array(value, jnp.float32) for name, value in found.items()}

        self._begin_with(copied)
        return taken.told

    def _begin_with(self, copied: Callable[[], Params]) -> None:
        """Takes over parameters; `copied` makes them anew each time."""
        self.state = self._live()._replace(params=copied())
        if self.settings.start.init_kl:
            self.state = self.state._replace(reference=copied())

    def train(self, total_timesteps: int | None = None, callback: Callback | None = None) -> TrainResult:
        if self.state is None:
            self.create_model()
        callback = plain_callback(callback)
        total = total_timesteps or self.settings.total_timesteps
        measures = Measures(self.spec)
        session = self.session
        with session.running(self.step, total, first_phase="compile"):
            while not (reason := session.stop_reason(self.step, total)):
                with session.turn():
                    _log.debug("%s: collecting and learning update %d", session.run.name, int(self._live().update) + 1)
                    result = self._update(self._live(), self._learning_rate(total))
                    self.state = jax.block_until_ready(result.state)
                update = int(self.state.update)
                session.check_finite(result.losses, update, self.step)
                self.growth.add(result.losses)
                losses = {name: value for name, value in result.losses.items() if name not in (SIGNAL, NOISE)}
                measures.add(losses, result.measured, self._grown().batch_size)
                self._take_advice(update, total)
                if isinstance(self.game, BatchGame):
                    self._look(self.game)
                self._grow(update)
                if self.seats is not None and update % self.settings.league.past_interval == 0:
                    self.seats.league.add(past_self(update, self.policy_onnx()))
                self.after_update(update, measures, self._phase_seconds, callback)
            if rest := measures.take():
                session.log(self.step, rest | self.more_metrics())
            path = self.save_model()
            if self.advice is not None:
                self.advice.finish(training_options(self.settings))
        return session.finished(self.step, reason, path)

    def _look(self, game: BatchGame) -> None:
        """Notes how the games of the last rollout were played."""
        self.variety.look(game.observation)
        if self.far_runs is not None:
            collected = self._update.collector
            ended = collected.terminated | collected.truncated
            self.far_runs.look(collected.observation, ended, collected.stats, game.seeds)

    def more_metrics(self) -> dict[str, float]:
        figures = self.game.health() if isinstance(self.game, BatchGame) else {}
        found = {f"health/{name}": value for name, value in figures.items()} | self.growth.metrics()
        found |= self.variety.metrics()
        for part in (self.bonus, self.rare):
            found |= part.metrics() if part is not None else {}
        self.variety.clear()
        if self.advice is not None:
            found |= self.advice.metrics() | {"train/advice_loss": self._imitation.loss}
        return found | (self.seats.league.metrics() if self.seats is not None else {})

    def policy_onnx(self) -> bytes:
        """The policy as it is now, in its portable form."""
        sizes = self.spec.observation.size, self.spec.actions.size
        model = onnx_from_params(self.network.description, self._params(), *sizes)
        return with_metadata(model, self._manifest())

    def save_model(self) -> Path:
        with self.session.rating_later():
            path = self._write_checkpoint()
            if self.seats is not None and not self.session.judged(self.step):
                with self.session.judging():
                    self.session.evaluated(self.step, *self.evaluate(JUDGED_GAMES, bank="validation"))
        return path

    def _write_checkpoint(self) -> Path:
        live, kept = self._live(), None
        if self.games_kept is not None:
            kept = np.arange(self.games_kept * self.spec.players)
            live = live._replace(
                **{part: jax.tree.map(lambda rows: rows[kept], getattr(live, part)) for part in PER_ROW}
            )
            discounted = jax.tree.map(lambda rows: rows[kept], live.statistics.discounted)
            live = live._replace(statistics=live.statistics._replace(discounted=discounted))
        state = named_leaves(live)
        if isinstance(self.game, BatchGame):
            state |= {_GAME_PREFIX + name: value for name, value in self.game.snapshot(kept).items()}
        if self.seats is not None:
            parts = league_state(self.seats, self.games_kept)
            state |= {_LEAGUE_PREFIX + name: value for name, value in parts.items()}
        for prefix, part in ((_BONUS_PREFIX, self.bonus), (_RARE_PREFIX, self.rare)):
            state |= {prefix + name: value for name, value in part.arrays().items()} if part is not None else {}
        if self.far_runs is not None:
            self.far_runs.save()
        state |= {_GROWTH_PREFIX + name: value for name, value in self.growth.arrays().items()}
        path = self.session.store.save(self._manifest(), self.policy_onnx(), self._params(), state)
        self.session.saved(self.step, path)
        if self.advice is not None and self._latest is not None:
            self.advice.save(training_options(self.settings))
            self._latest.policy = OnnxPolicy.from_bytes(self.policy_onnx(), self._latest.name)
        return path

    def load_model(self, path: str | Path) -> None:
        checkpoint = load_checkpoint(path)
        manifest = checkpoint.manifest
        check_matches(manifest, self.spec, learner=LEARNER)
        check_network(manifest, self.network.description, path)
        if self.state is None:
            self.create_model()
        stored = checkpoint.state()
        self.state = from_named_leaves(self._live(), stored, f"checkpoint {path}")
        factor = self.growth.factor
        self.growth = growth_from(_under(_GROWTH_PREFIX, stored), manifest.step, manifest.update)
        if self.growth.factor != factor:
            self._compile()
        if isinstance(self.game, BatchGame):
            self.game.restore(_under(_GAME_PREFIX, stored))
        for prefix, part in ((_BONUS_PREFIX, self.bonus), (_RARE_PREFIX, self.rare)):
            if part is not None:
                part.restore(_under(prefix, stored))
        if self.seats is not None:
            restore_league(self.seats, _under(_LEAGUE_PREFIX, stored), self.settings.game)
        self.session.latest_metrics = dict(manifest.metrics)

    def relieve(self, name: str) -> str | None:
        settings = self.settings
        pieces = 2 * settings.memory.gradient_pieces
        if name == "smaller_batches" and pieces <= min(MOST_PIECES, settings.minibatch_size):
            self.settings = settings.model_copy(update={"gradient_pieces": pieces})
            self.session.memory.remember(gradient_pieces=pieces)
            self._compile()
            return f"minibatches are learned in {pieces} pieces, with the same steps as before"
        return super().relieve(name)

    def close(self) -> None:
        if self.advice is not None:
            self.advice.close()
        if isinstance(self.game, BatchGame):
            self.game.close()
        if (folder := self.session.run.path / EXPERIENCE).is_dir():
            remove_directory(folder)
        self.session.close()

    def games_restarted(self) -> None:
        live = self._live()
        self.state = live._replace(tally=jax.tree.map(jnp.zeros_like, live.tally))

    def _take_advice(self, update: int, total: int) -> None:
        """Asks about where the games stand now, and learns from what was answered by now; waits for nobody."""
        if not self.settings.advice.use or not isinstance(self.game, BatchGame):
            return
        if self.advice is None:
            self._latest = LatestPolicy(OnnxPolicy.from_bytes(self.policy_onnx(), LatestPolicy.name))
            chosen, folder = self.settings.advice.settings, self.session.run.path
            self.advice = BackgroundAdvice.of(chosen, self._latest, self._manifest(), self.game, folder)
        live, answer = self._live(), answering(network_text(self.network))

        def probabilities(observation: np.ndarray, legal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            chances, values = answer(live.params, observation, legal)
            return np.asarray(chances), np.asarray(values)

        self.advice.look(self.game, probabilities, self._grown().batch_size, update)
        params = self._imitation.learn(live.params, self.advice.demonstrations, self._learning_rate(total))
        self.state = live._replace(params=params)

    def _compile(self) -> None:
        """The update for the settings as they are; XLA compiles when it is first called."""
        settings, self._update = self._grown(), None  # room for the new one's experience
        if isinstance(self.game, BatchGame):
            folder = self.session.run.path / EXPERIENCE if settings.memory.share == "file_system" else None
            self._update = HostUpdate(
                settings,
                self.network,
                self.game,
                seats=self.seats,
                folder=folder,
                teacher=self.teacher,
                bonus=self.bonus,
                rare=self.rare,
            )
        else:
            self._update = fused_update(settings, self.network, self.game)

    def _grown(self) -> TrainSettings:
        """The settings with the batch as large as it has become."""
        return grown(self.settings, self.growth.factor)

    def _grow(self, update: int) -> None:
        """Doubles the batch where gradients have become too noisy for it; not while a teacher is listened to, whose
        answers are learned best in many small updates."""
        batch, teacher = self._grown().batch_size, self.settings.teacher
        if teacher.policy is not None and teacher.coef and update < teacher.updates:
            return
        if not self.growth.due(batch, update, self.settings.ppo.grow_batch):
            return
        scale = self.growth.noise_scale
        self.growth.grow(self.step, update)
        self._compile()
        self._fused_seconds = None
        known = "cannot be told from their mean" if scale is None else f"has a scale of {scale:,.0f} samples"
        sentence = f"the noise of gradients {known}: updates of {2 * batch:,} steps instead of {batch:,}"
        self.session.view.note(f"step {self.step:,}: {sentence}")
        self.session.recorder.event(self.step, sentence)

    def _build_game(self) -> FunctionalGame | BatchGame:
        settings = self.settings
        by_hand = settings.stepping == "host" or has_curriculum(settings) or settings.teacher.policy is not None
        by_hand |= settings.advice.use or any(settings.exploration.model_dump().values())
        by_hand |= settings.curriculum.deep_starts > 0
        pure = None if by_hand else _pure_game(settings.game, json.dumps(training_options(settings), sort_keys=True))
        if pure is not None:
            return pure
        if settings.stepping == "fused":
            raise SettingsError(
                f"Game '{settings.game}' is not written in JAX; it cannot be fused. Use --stepping host."
            )
        return training_game(settings)

    def _learning_rate(self, total: int) -> float:
        if not self.settings.ppo.anneal_lr:
            return self.settings.ppo.lr
        return self.settings.ppo.lr * max(0.0, 1.0 - self.step / total)

    def _phase_seconds(self, elapsed: float) -> dict[str, float]:
        """Seconds of the last log interval by phase."""
        if isinstance(self.game, BatchGame):
            spent = dict(self._update.collector.seconds)
            self._update.collector.seconds = dict.fromkeys(spent, 0.0)
        else:
            if self._fused_seconds is None:
                self._fused_seconds = fused_phase_seconds(self._grown(), self.network, self.game, self._live())
            updates = self.settings.log_interval
            spent = {phase: seconds * updates for phase, seconds in self._fused_seconds.items()}
        return {**spent, "learn": max(0.0, elapsed - sum(spent.values()))}

    def _params(self) -> dict[str, np.ndarray]:
        return {name: np.asarray(value) for name, value in self._live().params.items()}

    def _live(self) -> TrainState:
        if self.state is None:
            raise SettingsError("The trainer has no model yet. Call create_model() or load_model() first.")
        return self.state

    def _manifest(self) -> Manifest:
        return self.manifest_of(LEARNER, self.network.description, int(self._live().update))


def _varieties(game: str) -> tuple[Variety, ...]:
    """What tells ways to play apart; nothing for games that only somebody else knows."""
    found = game_entry(game).varieties if game in available_games() else None
    ways = ways_of(game)
    return (*(found() if found is not None else ()), *([ways] if ways is not None else []))


def _under(prefix: str, stored: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The entries whose names begin so, by the rest of their names."""
    return {name[len(prefix) :]: value for name, value in stored.items() if name.startswith(prefix)}


@lru_cache(maxsize=KEPT_PROGRAMS)
def _pure_game(game: str, options: str) -> FunctionalGame | None:
    """One object per game and options, so that trainers of one process share the programs compiled for it."""
    return functional_game(game, json.loads(options))
