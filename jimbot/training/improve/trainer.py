"""`--learner improve`: expert iteration (ExIt), the RLTrainer behind `jimbot improve`.

An iteration plays `num_steps` steps of all games with a plan that draws its moves (Gumbel), then takes the policy
towards what the plan found and the value towards what came of it. Games, network, optimiser and the number of the
iteration are all there is to know: everything random derives from (seed, iteration), so a run that was killed goes on
from its checkpoint exactly as it would have.

Steps count moves of the real games, as PPO's do; the tries are what makes each of them dearer. So both show in one plot
by steps, and by hours.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.errors import SettingsError
from jimbot.games.contract import BatchGame, game_entry
from jimbot.games.functional import from_named_leaves, named_leaves
from jimbot.planning import ITSELF, OwnSearch, Plan, Planner, PlanTable, own_search
from jimbot.policies.contract import Policy
from jimbot.policies.jax_networks import Params
from jimbot.policies.players import Player, find_player
from jimbot.policies.portable import OnnxPolicy
from jimbot.policies.reward_transform import transform_reward
from jimbot.training.framework import Callback, RLTrainer, plain_callback
from jimbot.training.imitation.batches import Batch
from jimbot.training.improve.lessons import Lesson, descending, learn
from jimbot.training.init_policy import start_of
from jimbot.training.jax_ppo.ppo import make_optimiser
from jimbot.training.jax_ppo.program import network_for, network_text
from jimbot.training.session.compile_cache import use_compile_cache
from jimbot.training.session.log_rows import GameTally, Measures
from jimbot.training.session.session import Session, TrainResult
from jimbot.training.settings.record import TrainSettings

LEARNER, ALGORITHM = "improve", "ExIt"
_GAME, _OPTIMISER, _TALLY = "game/", "optimiser/", "tally/"  # parts of a checkpoint's state


class ImproveTrainer(RLTrainer):
    """Plays with a plan, learns its choices, and again."""

    algorithms = (ALGORITHM,)

    @classmethod
    def check(cls, settings: TrainSettings) -> None:
        if game_entry(settings.game).two_sides is not None:
            raise SettingsError(f"Game '{settings.game}' has two players; improve is for games of one.")
        if settings.reward_transform == "normalize" or settings.normalize_obs:
            raise SettingsError("Expert iteration has no normalisation (of rewards or observations); leave it out.")
        PlanTable(game_entry(settings.game), asked={**settings.planning.settings, "rollouts": settings.planning.tries})

    def __init__(self, settings: TrainSettings, session: Session, game: BatchGame | None = None) -> None:
        super().__init__(settings, session, game)
        use_compile_cache()
        self.network = network_for(settings, self.spec)
        self.updates = 0
        self.params: Params = {}
        self.optimiser: Any = None
        self._optimising = make_optimiser(settings.ppo.max_grad_norm)
        self._descend = descending(network_text(self.network), settings.ppo.vf_coef, settings.ppo.max_grad_norm)
        self._seconds = {"play": 0.0, "learn": 0.0}
        self._changed = self._planned = 0
        self._player = self._who_plays_on(session.run.root)

    @property
    def step(self) -> int:
        return self.updates * self.settings.batch_size

    def create_model(self) -> None:
        self.params = {name: jnp.asarray(value) for name, value in self.network.init(self.settings.seed).items()}
        self.optimiser = jax.jit(self._optimising.init)(self.params)
        self.batch.reset()
        self.tally = GameTally(self.spec, self.batch.num_rows)

    def described_network(self) -> Mapping[str, Any]:
        return self.network.description

    def portable_network(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        return self.network.description, {name: np.asarray(value) for name, value in self.params.items()}

    def start_from(self, path: str | Path) -> None:
        self.put_params(start_of(path, self.spec, self.network.description).params)

    def put_params(self, params: Mapping[str, np.ndarray]) -> None:
        self.params = {**self.params, **{name: jnp.array(value, jnp.float32) for name, value in params.items()}}

    def learning_state(self) -> dict[str, np.ndarray]:
        return {
            "updates": np.array(self.updates),
            **{_GAME + name: value for name, value in self.batch.snapshot().items()},
            **{_OPTIMISER + name: value for name, value in named_leaves(self.optimiser).items()},
            _TALLY + "return": self.tally.episode_return.copy(),
            _TALLY + "length": self.tally.episode_length.copy(),
        }

    def restore(self, params: Mapping[str, np.ndarray], state: Mapping[str, np.ndarray]) -> None:
        self.put_params(params)
        self.updates = int(state["updates"])
        self.batch.restore(_under(_GAME, state))
        self.optimiser = from_named_leaves(self.optimiser, _under(_OPTIMISER, state), "checkpoint")
        self.tally.episode_return[:] = state[_TALLY + "return"]
        self.tally.episode_length[:] = state[_TALLY + "length"]

    def train(self, total_timesteps: int | None = None, callback: Callback | None = None) -> TrainResult:
        callback, session = plain_callback(callback), self.session
        total = total_timesteps or self.settings.total_timesteps
        measures = Measures(self.spec)
        with session.running(self.step, total, first_phase="compile"):
            while not (reason := session.stop_reason(self.step, total)):
                lesson = self._play()
                losses = self._learn(lesson, total)
                self.updates += 1
                session.check_finite(losses, self.updates, self.step)
                measures.add(losses, self.tally.take(), self.settings.batch_size)
                self.after_update(self.updates, measures, self._spent, callback)
            if rest := measures.take():
                session.log(self.step, rest | self.more_metrics())
            path = self.save_model()
        return session.finished(self.step, reason, path)

    def more_metrics(self) -> dict[str, float]:
        planned, changed = max(1, self._planned), self._changed
        self._planned = self._changed = 0
        return {"plan/changed_share": changed / planned} | {
            f"health/{name}": value for name, value in self.batch.health().items()
        }

    # --- one iteration ---

    def _play(self) -> Lesson:
        """Steps of all games with a plan of the policy as it is now."""
        began = time.monotonic()
        game, settings = self.batch, self.settings
        policy = OnnxPolicy.from_bytes(self.policy_onnx(), name=self.session.run.name)
        luck = np.random.default_rng([settings.seed, self.updates, 0])
        planner = self._planner(policy, luck)
        lesson = Lesson.empty(settings.num_steps, game.num_rows, self.spec.observation.size, self.spec.actions.size)
        everyone = np.ones(game.num_rows, bool)
        try:
            for turn in range(settings.num_steps):
                own = policy.act(game.observation, game.legal_mask)
                plan = planner.plan(game, everyone, own)
                actions = self._played(plan, policy, game, luck)
                self._note(lesson, turn, game, plan, actions, own.values)
                legal = game.legal_mask[np.arange(game.num_rows), actions]
                game.step(actions)
                self.tally.step(game, actions, legal)
                self._note_outcome(lesson, turn, game, policy)
        finally:
            planner.close()
        lesson.value[-1] = policy.act(game.observation, game.legal_mask).values
        self._planned += planner.report.planned
        self._changed += planner.report.changed
        self._seconds["play"] += time.monotonic() - began
        return lesson

    def _learn(self, lesson: Lesson, total: int) -> dict[str, float]:
        began = time.monotonic()
        ppo, gamma = self.settings.ppo, self.settings.gamma
        variance = float(lesson.returns(gamma, ppo.gae_lambda).var())
        luck = np.random.default_rng([self.settings.seed, self.updates, 1])

        def passes() -> Iterator[Batch]:
            for _ in range(ppo.update_epochs):
                yield from lesson.batches(gamma, ppo.gae_lambda, self.settings.minibatch_size, luck)

        lr = ppo.lr * (max(0.0, 1.0 - self.step / total) if ppo.anneal_lr else 1.0)
        self.params, self.optimiser, losses = learn(self._descend, self.params, self.optimiser, passes(), variance, lr)
        self._seconds["learn"] += time.monotonic() - began
        return {**losses, "train/explained_variance": 1 - losses["train/value_loss"],
                "plan/planned_share": float(lesson.planned.mean())}  # fmt: skip

    def _planner(self, policy: Policy, luck: np.random.Generator) -> Planner | OwnSearch:
        planning = self.settings.planning
        if planning.player is None and not planning.settings:
            alone = Player(policy.name, policy, self.settings.game, dict(self.settings.game_options))
            if (searching := own_search(alone, planning.tries, luck)) is not None:
                return searching
        table = PlanTable(game_entry(self.settings.game), asked={**planning.settings, "rollouts": planning.tries})
        manifest = self._own_manifest()
        exploring = None if self._player is not None else luck
        return Planner(policy, manifest, table, self.updates, player=self._player, exploring=exploring)

    def _who_plays_on(self, root: Path) -> Policy | None:
        named = self.settings.planning.player
        return None if named in (None, ITSELF) else find_player(named, self.settings.game, runs_root=root).policy

    def _played(self, plan: Plan, policy: Policy, game: BatchGame, luck: np.random.Generator) -> np.ndarray:
        """(N,) int64: what the plan says; where there is none a draw of the policy, or the other player's move."""
        if self._player is not None:
            return plan.decision.actions
        drawn = policy.act(game.observation, game.legal_mask, deterministic=False, key=luck).actions
        return np.where(plan.planned, plan.decision.actions, drawn)

    def _note(
        self, lesson: Lesson, turn: int, game: BatchGame, plan: Plan, actions: np.ndarray, values: np.ndarray
    ) -> None:
        lesson.observation[turn], lesson.legal_mask[turn] = game.observation, game.legal_mask
        lesson.improved[turn], lesson.planned[turn] = plan.improved, plan.planned
        lesson.action[turn], lesson.value[turn] = actions, values

    def _note_outcome(self, lesson: Lesson, turn: int, game: BatchGame, policy: Policy) -> None:
        lesson.reward[turn] = transform_reward(self.settings.reward_transform, game.reward)
        lesson.terminated[turn], lesson.truncated[turn] = game.terminated, game.truncated
        if len(cut := np.flatnonzero(game.truncated & ~game.terminated)):
            everything = np.ones((len(cut), self.spec.actions.size), bool)
            lesson.final_value[turn, cut] = policy.act(game.final_observation[cut], everything).values

    def _spent(self, elapsed: float) -> dict[str, float]:
        spent, self._seconds = self._seconds, {"play": 0.0, "learn": 0.0}
        return spent


def _under(prefix: str, stored: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name[len(prefix) :]: value for name, value in stored.items() if name.startswith(prefix)}
