"""The trainer contract and the list of learners.

A learner is added by implementing `RLTrainer` and registering it under a name; everything around it (run directories,
checkpoints, metrics, evaluation, the command line) then works with it.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jimbot.errors import MissingExtraError, SettingsError, UnknownNameError
from jimbot.games.contract import game_entry
from jimbot.runs.checkpoint import find_checkpoint
from jimbot.training.settings import RunSettings, TrainSettings, load_settings

if TYPE_CHECKING:
    from jimbot.training.session import Session

Callback = Callable[[int, dict[str, float]], bool | None]
"""Called at every log row with (step, metrics); returning False ends training."""


class RLTrainer(ABC):
    """Trains one agent for one run."""

    algorithms: tuple[str, ...]
    """What this learner can run."""

    def __init__(self, settings: TrainSettings, session: Session) -> None:
        self.settings = settings
        self.session = session
        self.spec = game_entry(settings.game).spec

    @abstractmethod
    def create_model(self) -> None:
        """Builds the policy and everything learning needs, from scratch."""

    def start_from(self, path: str | Path) -> None:
        """Takes over the parameters of another run's checkpoint (`init_from`); everything else stays fresh."""
        raise SettingsError(
            f"This learner cannot start from the checkpoint {path} (init_from); use --learner jax, or leave it out."
        )

    @abstractmethod
    def train(self, total_timesteps: int | None = None, callback: Callback | None = None) -> None:
        """Learns until `total_timesteps` (default: the settings') are done or the session says stop; then saves."""

    @abstractmethod
    def evaluate(self, n_episodes: int, deterministic: bool = True) -> tuple[float, float]:
        """Mean and standard deviation of the return over held-out games."""

    @abstractmethod
    def save_model(self) -> Path:
        """Writes a checkpoint and returns where."""

    @abstractmethod
    def load_model(self, path: str | Path) -> None:
        """Continues exactly from a checkpoint."""

    @abstractmethod
    def close(self) -> None:
        """Releases the game and whatever else is held."""


_LEARNERS: dict[str, tuple[str, str, str]] = {
    # name: (module, class, extra that installs what it needs)
    "jax": ("jimbot.training.jax_ppo.trainer", "JaxPPOTrainer", "all"),
}
_LEARNER_OF_ALGORITHM = {"PPO": "jax"}  # what `auto` means


def register_learner(name: str, module: str, class_name: str, extra: str = "all") -> None:
    """Adds a learner; its module is imported when first used."""
    _LEARNERS[name] = (module, class_name, extra)


def available_learners() -> list[str]:
    return sorted(_LEARNERS)


def learner_class(settings: TrainSettings) -> type[RLTrainer]:
    """The trainer class for a learner and algorithm; one clear sentence if there is none."""
    name = learner_name(settings)
    module, class_name, extra = _LEARNERS[name]
    try:
        trainer: type[RLTrainer] = getattr(importlib.import_module(module), class_name)
    except ModuleNotFoundError as problem:
        raise MissingExtraError(f"'{problem.name}', which learner '{name}' needs,", extra) from problem
    if settings.algorithm not in trainer.algorithms:
        raise SettingsError(
            f"Learner '{name}' does not know algorithm '{settings.algorithm}'; it has {', '.join(trainer.algorithms)}."
        )
    return trainer


def learner_name(settings: RunSettings) -> str:
    """`auto` resolved by the algorithm."""
    if settings.learner != "auto":
        if settings.learner not in _LEARNERS:
            raise UnknownNameError("learner", settings.learner, [*_LEARNERS, "auto"])
        return settings.learner
    if settings.algorithm not in _LEARNER_OF_ALGORITHM:
        raise UnknownNameError("algorithm", settings.algorithm, _LEARNER_OF_ALGORITHM)
    return _LEARNER_OF_ALGORITHM[settings.algorithm]


def create_trainer(
    game: str, config: TrainSettings | dict[str, Any] | None = None, root: str | Path = "runs"
) -> RLTrainer:
    """A trainer with its own run directory, for use from Python.

    Close it when done: it holds the run directory.
    """
    from jimbot.training.session import Session

    values = config.model_dump(exclude_unset=True) if isinstance(config, TrainSettings) else dict(config or {})
    settings = load_settings(values, {"game": game})
    trainer = learner_class(settings)(settings, Session.open(settings, root=Path(root), quiet=True))
    trainer.create_model()
    if settings.init_from:
        trainer.start_from(find_checkpoint(settings.init_from, runs_root=root))
    return trainer
