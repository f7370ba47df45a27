"""The optional parts of the learner: one protocol, and the list of those a run is made of.

A part is a class with a name. It says by the settings whether it is wanted, and overrides only what it does: methods of
the first group become part of the compiled update (they see arrays that are traced and may read settings, nothing
else), those of the second work while a game is stepped from Python, those of the third between updates. The trainer
knows the list, never a name in it.

Parts of JimBot's own are listed in `extensions/__init__.py`. Those of others are found under a name: an entry point of
the group `jimbot.extensions`, `register_extension`, or `EXTENSION` of a module given with `--plugin`. Such a part is
wanted where a setting of its name is on (`adviser`), or it is named in the setting `extensions`
(`--set extensions.my_term=0.1`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jimbot import plugins
from jimbot.games.spec import GameSpec
from jimbot.policies.jax_networks import Params
from jimbot.training.jax_ppo.records import Array, Outputs, Rollout, Samples, Update
from jimbot.training.settings.record import DEFAULTS, TrainSettings

if TYPE_CHECKING:
    from jimbot.training.jax_ppo.collector import HostCollector
    from jimbot.training.jax_ppo.trainer import JaxPPOTrainer

GROUP = "jimbot.extensions"  # of entry points


class Extension:
    """Does nothing: what a part overrides is what it adds."""

    name: str = ""
    """Of what it adds to rollouts, to the training state and to checkpoints."""
    needs_host: bool = False
    """Whether games must be stepped from Python."""

    def __init__(self, settings: TrainSettings, spec: GameSpec) -> None:
        """Light, and without files: a compiled program makes its own from the settings alone. See `open`."""
        self.settings, self.spec = settings, spec

    @classmethod
    def wanted(cls, settings: TrainSettings) -> bool:
        return asked_for(cls.name, settings)

    # --- in the compiled update ---

    def initial_state(self, params: Params, rows: int) -> Any:
        """Arrays it carries from update to update; None: it has none."""
        return None

    def observe(self, observation: Array) -> Any:
        """What it keeps of a step's observations (N, D), under its name in `Rollout.extras`; None: nothing."""
        return None

    def transform(self, update: Update, rollout: Rollout) -> tuple[Any, Rollout]:
        """(its state, the rollout) before anything is computed from it."""
        return update.state.get(self.name), rollout

    def prepare(self, update: Update, rollout: Rollout, batch: Samples) -> Samples:
        """The flat batch with what its term needs: `extras` (B, …) and `weights` (B,)."""
        return batch

    def loss(self, update: Update, outputs: Outputs, batch: Samples) -> tuple[Any, dict[str, Array]]:
        """(its term of the loss, metrics); without metrics there is no term."""
        return 0.0, {}

    def restrict(self, update: Update, params: Params, moved: Params) -> Params:
        """The parameters after a gradient step, where not all may move."""
        return moved

    def after_learning(self, update: Update, rollout: Rollout, params: Params) -> tuple[Any, Params]:
        """(its state, the parameters) after the update."""
        return update.state.get(self.name), params

    # --- while a game is stepped from Python ---

    def before_acting(self, collector: HostCollector, turn: int, rows: np.ndarray) -> None:
        """Before the policy is asked for the actions of `rows`."""

    def override(self, collector: HostCollector, turn: int, rows: np.ndarray) -> None:
        """Replaces what the policy chose in some of `rows` (`collector.action[turn]`)."""

    def after_step(self, collector: HostCollector, turn: int, rows: np.ndarray) -> None:
        """After `rows` were stepped."""

    def collected(self, collector: HostCollector, rollout: Rollout, key: Array, update: int) -> Rollout:
        """The rollout (NumPy, raw observations) with what this part makes of it. `key` is the run's."""
        return rollout

    # --- between updates ---

    def open(self, trainer: JaxPPOTrainer) -> None:
        """Files, policies, checks: whatever it takes to work. The trainer has its game, and no state yet."""

    def begin(self, state: Any, copied: Callable[[], Params], steps: int | None) -> Any:
        """Its state when a run begins with another policy, whose parameters `copied` makes anew each time; `steps` lie
        behind it (None: a clone)."""
        return state

    def resize(self, settings: TrainSettings) -> TrainSettings:
        """The settings that updates are compiled for."""
        return settings

    def updated(self, trainer: JaxPPOTrainer, update: int, losses: Mapping[str, Array]) -> None:
        """After an update."""

    def metrics(self) -> dict[str, float]:
        """For a log row."""
        return {}

    def keep_rows(self, state: Any, rows: np.ndarray) -> Any:
        """Its state of some rows of the game only: a run goes on with fewer games."""
        return state

    def arrays(self, games: int | None) -> dict[str, np.ndarray]:
        """What a checkpoint keeps beside its state; `games`: of the first so many games only."""
        return {}

    def restore(self, arrays: Mapping[str, np.ndarray], update: int) -> None:
        """Takes back what `arrays` gave, after so many updates; a checkpoint without this part has nothing."""

    def saved(self, trainer: JaxPPOTrainer) -> None:
        """After a checkpoint was written."""

    def finished(self, trainer: JaxPPOTrainer) -> None:
        """After the last checkpoint of a call."""

    def close(self) -> None:
        """Releases what `open` took."""


_REGISTERED: dict[str, str | type[Extension]] = {}


def register_extension(name: str, where: str | type[Extension]) -> None:
    """Adds a part under a name: its class, or where to find it (`module:class`)."""
    _REGISTERED[name] = where


def asked_for(name: str, settings: TrainSettings) -> bool:
    """Whether a part is switched on by its name."""
    return name in settings.ppo.extensions or (name in DEFAULTS and bool(settings[name]))


def other_extensions() -> dict[str, str | type[Extension]]:
    """Those of other people and of other rooms, by name."""
    found: dict[str, str | type[Extension]] = {**plugins.entry_points(GROUP), **_REGISTERED}
    for module in plugins.plugin_modules():
        part = getattr(module, "EXTENSION", None)
        if isinstance(part, type) and issubclass(part, Extension):
            found[part.name] = part
    return found
