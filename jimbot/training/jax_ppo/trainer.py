"""`--learner jax`: the RLTrainer around the compiled programs. It knows a list of extensions, and none by its name."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.errors import SettingsError
from jimbot.games.contract import BatchGame, FunctionalGame
from jimbot.games.functional import from_named_leaves, named_leaves
from jimbot.policies.jax_networks import Params
from jimbot.runs.arrays import put_under, under
from jimbot.runs.files import remove_directory
from jimbot.training.framework import Callback, Learned, RLTrainer
from jimbot.training.init_policy import filled, fitting_params, start_of
from jimbot.training.jax_ppo.collector import HostCollector
from jimbot.training.jax_ppo.extensions import extensions_of
from jimbot.training.jax_ppo.ppo import NOISE, SIGNAL
from jimbot.training.jax_ppo.program import (
    HostUpdate,
    TrainState,
    forget_programs,
    fused_phase_seconds,
    fused_update,
    games_for,
    initial_state,
    network_for,
)
from jimbot.training.session.compile_cache import use_compile_cache
from jimbot.training.session.session import Session, TrainResult
from jimbot.training.settings.record import TrainSettings

_log = logging.getLogger("jimbot.training.jax")
EXPERIENCE = "experience"  # folder of a run with `share: file_system`
PER_ROW = ("tally", "rows")  # parts of TrainState with one entry per row of the game
_GAME_PREFIX = "game/"  # of a host-stepped game's snapshot inside a checkpoint's state


class JaxPPOTrainer(RLTrainer):
    """PPO on one machine; fused with JAX games."""

    algorithms, first_phase = ("PPO",), "compile"

    def __init__(self, settings: TrainSettings, session: Session, game: BatchGame | None = None) -> None:
        super().__init__(settings, session, game)
        use_compile_cache()
        self.network = network_for(settings, self.spec)
        self.extensions = extensions_of(settings, self.spec)
        self.game: FunctionalGame | BatchGame = game if game is not None else games_for(settings, self.extensions)
        self.curriculum = getattr(self.game, "curriculum", None)
        self.spec = self.game.spec  # with as many players as the options make it
        self.state: TrainState | None = None
        self.total = settings.total_timesteps
        for extension in self.extensions:
            extension.open(self)
        self._update: Any
        self.compile()

    @property
    def step(self) -> int:
        self._live()
        return self.steps_learned

    @property
    def collector(self) -> HostCollector | None:
        """What a game stepped from Python was collected with; None for a fused one."""
        return getattr(self._update, "collector", None)

    # --- beginning and learning ---

    def create_model(self) -> None:
        self.state = initial_state(self.settings, self.network, self.game)
        self.steps_learned = self.updates = 0
        if isinstance(self.game, BatchGame):
            self.game.reset()

    def train(self, total_timesteps: int | None = None, callback: Callback | None = None) -> TrainResult:
        if self.state is None:
            self.create_model()
        self.total = total_timesteps or self.settings.total_timesteps
        result = super().train(total_timesteps, callback)
        for extension in self.extensions:
            extension.finished(self)
        return result

    def update(self, total: int) -> Learned:
        _log.debug("%s: collecting and learning update %d", self.session.run.name, self.updates + 1)
        with self.session.device_lock():
            state, losses, measured = self._update(self._live(), self.learning_rate())
            self.state = jax.block_until_ready(state)
        batch = self.sized().batch_size
        self.steps_learned, self.updates = self.steps_learned + batch, self.updates + 1
        self.session.check_finite(losses, self.updates, self.step)
        for extension in self.extensions:
            extension.updated(self, self.updates, losses)
        return Learned({name: value for name, value in losses.items() if name not in (SIGNAL, NOISE)}, measured, batch)

    def learning_rate(self) -> float:
        """Of the next update."""
        if not self.settings.ppo.anneal_lr:
            return self.settings.ppo.lr
        return self.settings.ppo.lr * max(0.0, 1.0 - self.step / self.total)

    def more_metrics(self) -> dict[str, float]:
        health = self.game.health() if isinstance(self.game, BatchGame) else {}
        found = {f"health/{name}": value for name, value in health.items()}
        for extension in self.extensions:
            found |= extension.metrics()
        return found

    # --- starting from another policy ---

    def start_from(self, path: str | Path) -> None:
        start = start_of(path, self.spec, self.network.description)
        self._begin_with(lambda: _on_device(start.params), start.step)

    def start_from_clone(self, path: str | Path) -> str:
        taken = fitting_params(path, self.spec, self.network.description)
        if self.settings.start.init_kl and not taken.whole:
            raise SettingsError(
                f"init_kl is {self.settings.start.init_kl}, but the clone {path} has another network than this run, so "
                "there is nothing to anchor it to. Leave init_kl out, or give the clone's --network, --hidden-dim and "
                "layers."
            )
        fresh = self._params()
        self._begin_with(
            lambda: _on_device({name: filled(value, taken.params.get(name)) for name, value in fresh.items()}), None
        )
        return taken.sentence

    def _begin_with(self, copied: Callable[[], Params], steps: int | None) -> None:
        """Takes over parameters; `copied` makes them anew each time: the compiled update reuses the memory of what it
        is given."""
        live = self._live()
        kept = {e.name: e.begin(live.extensions[e.name], copied, steps) for e in self._stateful()}
        self.state = live._replace(params=copied(), extensions=kept)

    def described_network(self) -> Mapping[str, Any]:
        return self.network.description

    def put_params(self, params: Mapping[str, np.ndarray]) -> None:
        live = self._live()
        self.state = live._replace(params={**live.params, **_on_device(params)})

    # --- checkpoints ---

    def portable_network(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        return self.network.description, self._params()

    def save_model(self) -> Path:
        with self.session.rating_later():
            path = super().save_model()
            for extension in self.extensions:
                extension.saved(self)
        return path

    def learning_state(self) -> dict[str, np.ndarray]:
        live, rows = self._live(), None
        if self.games_kept is not None:
            rows = np.arange(self.games_kept * self.spec.players)
            per_row = {part: jax.tree.map(lambda of_row: of_row[rows], getattr(live, part)) for part in PER_ROW}
            kept = {e.name: e.keep_rows(live.extensions[e.name], rows) for e in self._stateful()}
            live = live._replace(**per_row, extensions=kept)
        state = {_leaf_name(name, self._stateful()): value for name, value in named_leaves(live).items()}
        if isinstance(self.game, BatchGame):
            state |= put_under(_GAME_PREFIX, self.game.snapshot(rows))
        for extension in self.extensions:
            state |= put_under(f"{extension.name}/", extension.arrays(self.games_kept))
        return state

    def restore(self, params: Mapping[str, np.ndarray], state: Mapping[str, np.ndarray]) -> None:
        if self.state is None:
            self.create_model()
        names = {_leaf_name(name, self._stateful()): name for name in named_leaves(self._live())}
        leaves = {names.get(name, name): value for name, value in state.items()}
        self.state = from_named_leaves(self._live(), leaves, "the checkpoint")
        self.updates, before = int(self.state.update), self.sized()
        for extension in self.extensions:
            extension.restore(under(f"{extension.name}/", state), self.updates)
        if self.sized() != before:
            self.compile()
        if isinstance(self.game, BatchGame):
            self.game.restore(under(_GAME_PREFIX, state))

    def _stateful(self) -> list[Any]:
        """Extensions that carry something from update to update."""
        return [extension for extension in self.extensions if extension.name in self._live().extensions]

    # --- the rest ---

    def accumulate(self, pieces: int) -> bool:
        if pieces > self.settings.minibatch_size:
            return False
        self.settings, self._update = self.settings.model_copy(update={"gradient_accumulation": pieces}), None
        forget_programs()  # memory is short: the program of the size before must not stay beside the new one
        self.compile()
        return True

    def close(self) -> None:
        for extension in self.extensions:
            extension.close()
        if isinstance(self.game, BatchGame):
            self.game.close()
        if (folder := self.session.run.path / EXPERIENCE).is_dir():
            remove_directory(folder)
        self.session.close()

    def games_restarted(self) -> None:
        live = self._live()
        self.state = live._replace(tally=jax.tree.map(jnp.zeros_like, live.tally))

    def sized(self) -> TrainSettings:
        """The settings that updates are compiled for: extensions may change the batch."""
        settings = self.settings
        for extension in self.extensions:
            settings = extension.resize(settings)
        return settings

    def compile(self) -> None:
        """The update for the settings as they are; XLA compiles when it is first called."""
        settings, self._update = self.sized(), None  # room for the new one's experience
        self._fused_seconds: dict[str, float] | None = None
        if isinstance(self.game, BatchGame):
            folder = self.session.run.path / EXPERIENCE if settings.memory.share == "file_system" else None
            self._update = HostUpdate(settings, self.network, self.game, self.extensions, folder=folder)
        else:
            self._update = fused_update(settings, self.network, self.game)

    def phase_seconds(self, elapsed: float) -> dict[str, float]:
        """Seconds of the last log interval by phase."""
        if isinstance(self.game, BatchGame):
            spent = dict(self._update.collector.seconds)
            self._update.collector.seconds = dict.fromkeys(spent, 0.0)
        else:
            if self._fused_seconds is None:
                self._fused_seconds = fused_phase_seconds(self.sized(), self.network, self.game, self._live())
            updates = self.settings.log_interval
            spent = {phase: seconds * updates for phase, seconds in self._fused_seconds.items()}
        return {**spent, "learn": max(0.0, elapsed - sum(spent.values()))}

    def _params(self) -> dict[str, np.ndarray]:
        return {name: np.asarray(value) for name, value in self._live().params.items()}

    def _live(self) -> TrainState:
        if self.state is None:
            raise SettingsError("The trainer has no model yet. Call create_model() or load_model() first.")
        return self.state


def _on_device(params: Mapping[str, Any]) -> Params:
    return {name: jnp.array(value, jnp.float32) for name, value in params.items()}


def _leaf_name(name: str, extensions: list[Any]) -> str:
    """The state of an extension lies in a checkpoint under its own name, as if it were a part of `TrainState`."""
    for extension in extensions:
        inside = f".extensions['{extension.name}']"
        if name.startswith(inside):
            return f".{extension.name}{name[len(inside) :]}"
    return name
