"""Training from Python: the trainer contract, the list of learners, and `create_trainer`.

A learner is added by implementing `RLTrainer` and registering it under a name; everything around it (run directories,
checkpoints, metrics, evaluation, the command line) then works with it. However a run is configured (command line,
YAML, `TrainerConfig`), learners see one record only: `TrainSettings`.
"""

from __future__ import annotations

import importlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jimbot.errors import MissingExtraError, SettingsError, UnknownNameError, UsageError
from jimbot.games.contract import BatchGame, available_games, game_entry
from jimbot.runs.checkpoint import CheckpointStore as CheckpointManager
from jimbot.runs.checkpoint import Manifest
from jimbot.training.init_policy import find_start
from jimbot.training.league.store import check_league
from jimbot.training.settings.only import check_only
from jimbot.training.settings.record import RunSettings, TrainSettings
from jimbot.training.settings.trainer_config import (
    LEARNER_OF_ALGORITHM,
    HyperparameterConfig,
    TrainerConfig,
    get_default_config,
    to_settings,
)

if TYPE_CHECKING:
    from jimbot.training.curriculum.rule import Curriculum
    from jimbot.training.session.log_rows import Measures
    from jimbot.training.session.session import Session, TrainResult

__all__ = [
    "CheckpointManager", "HyperparameterConfig", "RLTrainer", "TrainerConfig", "available_learners", "create_trainer",
    "get_default_config", "learner_class", "learner_name", "register_learner",
]  # fmt: skip

VALIDATION_GAMES = 32  # per look during training (eval_interval)

_log = logging.getLogger("jimbot.training")

Callback = Callable[[int, dict[str, float]], bool | None]
"""Called at every log row with (step, metrics); returning False ends training."""


def plain_callback(callback: Any) -> Callback | None:
    """The callback if it is a function of ours; one sentence if it belongs to a library whose loop this is not."""
    if callback is None or (callable(callback) and not hasattr(callback, "on_training_start")):
        return callback
    raise UsageError(
        f"callback is a {type(callback).__name__}; this learner takes a function (step, metrics). Callbacks of "
        'Stable-Baselines3 are taken by learner sb3: TrainerConfig(learner="sb3").'
    )


class RLTrainer(ABC):
    """Trains one agent for one run."""

    algorithms: tuple[str, ...]
    """What this learner can run."""

    def __init__(self, settings: TrainSettings, session: Session, game: BatchGame | None = None) -> None:
        """`game`: an own batch to train on, instead of one made by the settings."""
        self.settings = settings
        self.session = session
        self.given = game
        self.spec = game.spec if game is not None else game_entry(settings.game).spec
        self.curriculum: Curriculum | None = None
        """What makes the games harder, where the settings ask for it; its level is part of every log row."""
        self._level: int | None = None
        self.games_kept: int | None = None
        """How many of the running games the next checkpoint holds, where not all: the run goes on with fewer."""

    @classmethod  # noqa: B027 - most learners take every setting
    def check(cls, settings: TrainSettings) -> None:
        """Raises one sentence for a setting this learner cannot honour."""

    @property
    @abstractmethod
    def step(self) -> int:
        """Environment steps learned from."""

    @abstractmethod
    def create_model(self) -> None:
        """Builds the policy and everything learning needs, from scratch."""

    def start_from(self, path: str | Path) -> None:
        """Takes over the parameters of another run's checkpoint (`init_from`); everything else stays fresh."""
        raise SettingsError(
            f"This learner cannot start from the checkpoint {path} (init_from); use --learner jax, or leave it out."
        )

    def start_from_clone(self, path: str | Path) -> str:
        """Takes over what fits of a clone (`bc_model`), with a fresh value head; says what was and was not loaded."""
        raise SettingsError(
            f"This learner cannot start from the clone {path} (bc_model); use --learner jax, or leave it out."
        )

    def begin(self, root: str | Path) -> str:
        """A new run's first parameters, where the settings name another policy; says what was taken over."""
        if self.settings.start.bc_model:
            return self.start_from_clone(find_start(self.settings.start.bc_model, root))
        if self.settings.start.init_from:
            start = find_start(self.settings.start.init_from, root)
            self.start_from(start)
            return f"Starting from the parameters of {start}."
        return ""

    @abstractmethod
    def train(self, total_timesteps: int | None = None, callback: Callback | None = None) -> TrainResult | None:
        """Learns until `total_timesteps` (default: the settings') are done or the session says stop; then saves."""

    def _play_own(self, policy: Any, n_episodes: int, deterministic: bool) -> list[float]:
        """Returns of games played in the environment it was given: a foreign one has no other, and no seed banks."""
        game = self.given
        assert game is not None, "a game that is not registered was given"
        returns: list[float] = []
        running = game.reward.astype(float) * 0
        game.reset()
        while len(returns) < n_episodes:
            game.step(policy.act(game.observation, game.legal_mask, deterministic).actions)
            running += game.reward
            for row in (game.terminated | game.truncated).nonzero()[0]:
                returns.append(running[row])
                running[row] = 0
        game.reset()
        self.games_restarted()
        return returns

    def games_restarted(self) -> None:  # noqa: B027 - for learners that remember the last observation
        """Called when the games given to the trainer have been started anew."""

    def manifest_of(self, learner: str, network: Mapping[str, Any], update: int) -> Manifest:
        """What a checkpoint made now says about itself."""
        return Manifest.for_game(
            self.spec,
            game_options=self.settings.game_options,
            learner=learner,
            algorithm=self.settings.algorithm,
            network=dict(network),
            step=self.step,
            update=update,
            config=self.settings.flat(),
            metrics={name: value for name, value in self.session.latest_metrics.items() if value == value},
        )

    @abstractmethod
    def policy_onnx(self) -> bytes:
        """The policy as it is now, in its portable form."""

    def evaluate(
        self, n_episodes: int, deterministic: bool = True, bank: Literal["held-out", "validation"] = "held-out"
    ) -> tuple[float, float]:
        """Mean and standard deviation of the return over games nobody trains on."""
        import numpy as np

        from jimbot.evaluation import play_games
        from jimbot.games.seeds import HELD_OUT, VALIDATION, bank_seeds
        from jimbot.policies.portable import OnnxPolicy

        policy = OnnxPolicy.from_bytes(self.policy_onnx(), name=self.session.run.name)
        if self.settings.game not in available_games():
            returns = self._play_own(policy, n_episodes, deterministic)
            return float(np.mean(returns)), float(np.std(returns))
        games = play_games(
            policy,
            self.settings.game,
            bank_seeds(HELD_OUT if bank == "held-out" else VALIDATION, n_episodes),
            options=self.settings.game_options,
            deterministic=deterministic,
        )
        return float(np.mean(games.returns)), float(np.std(games.returns))

    def after_update(
        self, update: int, measures: Measures, seconds: Callable[[float], dict[str, float]], callback: Callback | None
    ) -> None:
        """What every learner does after an update: show, log, look at validation games, save, each when it is due.

        `seconds` answers how the time since the last log row was spent.
        """
        session, step = self.session, self.step
        _log.debug("%s: update %d is done, step %d", session.run.name, update, step)
        session.updated(step, measures.look)
        self._look_at_level(step)
        if session.evaluation_due(step):
            with session.aside("judge"):
                session.evaluated(step, *self.evaluate(VALIDATION_GAMES, bank="validation"))
        if update % self.settings.log_interval == 0:
            learning = session.learning_seconds
            with session.aside("measure"):
                spent = seconds(learning)
            metrics = session.log(step, measures.take() | self.more_metrics() | self._level_metrics(), spent)
            if callback and callback(step, metrics) is False:
                session.end("the callback asked to stop")
        session.keep_memory(self.relieve, step)
        if session.checkpoint_due(step):
            with session.aside("save"):
                self.save_model()

    def _look_at_level(self, step: int) -> None:
        """A new level of the curriculum is told."""
        if self.curriculum is None or self.curriculum.goal == self._level:
            return
        before, self._level = self._level, self.curriculum.goal
        rose = "" if before is None else f" instead of {before}"
        self.session.recorder.event(step, f"curriculum: games are played up to level {self._level}{rose}")

    def _level_metrics(self) -> dict[str, float]:
        rule = self.curriculum
        return {} if rule is None else {"curriculum/level": rule.goal, "curriculum/success_rate": rule.success_rate}

    def more_metrics(self) -> dict[str, float]:
        """Figures of this learner's own for a log row."""
        return {}

    def relieve(self, name: str) -> str | None:
        """Gives back memory by one of `memory.relief.STEPS`; says what was done, or None if it cannot.

        A learner adds what it can; every one can be restarted, which also is how the number of games changes.
        """
        settings, memory = self.settings, self.session.memory
        if name == "restart":
            memory.restart_wanted = True
            return "a checkpoint is written and the run goes on in a clean process"
        if name == "fewer_games":
            fewer = settings.num_envs // 2
            if fewer < 1 or settings.num_envs % 2 or self.given is not None:
                return None
            memory.remember(num_envs=fewer, num_steps=2 * settings.num_steps)
            self.games_kept, memory.restart_wanted = fewer, True
            return f"{fewer} games instead of {settings.num_envs}, with twice the steps of each between updates"
        return None

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
    "sb3": ("jimbot.training.sb3.trainer", "SB3Trainer", "sb3"),
    "ray": ("jimbot.training.ray.trainer", "RayTrainer", "ray"),
}


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
    check_league(settings, name)
    check_only(settings, name)
    trainer.check(settings)
    return trainer


def learner_name(settings: RunSettings) -> str:
    """`auto` resolved by the algorithm."""
    if settings.learner != "auto":
        if settings.learner not in _LEARNERS:
            raise UnknownNameError("learner", settings.learner, [*_LEARNERS, "auto"])
        return settings.learner
    if settings.algorithm not in LEARNER_OF_ALGORITHM:
        raise UnknownNameError("algorithm", settings.algorithm, [*LEARNER_OF_ALGORITHM, "MaskablePPO"])
    return LEARNER_OF_ALGORITHM[settings.algorithm]


def create_trainer(
    env: Any,
    config: TrainerConfig | TrainSettings | Mapping[str, Any] | None = None,
    root: str | Path = "runs",
    fresh: bool = False,
) -> RLTrainer:
    """A trainer with its own run directory, for use from Python. It continues its run unless `fresh`.

    `env` is a game id, a BatchGame (trained on as it is), or a Gymnasium environment: one of our own is rebuilt
    natively with as many games as the config says; anything wrapped around it, or foreign, is stepped as it is.
    Close the trainer when done: it holds the run directory.
    """
    from jimbot.training.environments.given import understand
    from jimbot.training.session.session import Session
    from jimbot.training.settings.layers import resolve

    if isinstance(config, TrainerConfig):
        values = to_settings(config)
    elif isinstance(config, TrainSettings):
        values = config.flat("python", only_set=True)
    else:
        values = dict(config or {})
    meant = understand(env)
    settings, _, notes = resolve(values, meant.settings)
    session = Session.open(settings, root=Path(root), fresh=fresh, quiet=True)
    settings = settings.model_copy(update=session.memory.changes)
    trainer = learner_class(settings)(settings, session, meant.game)
    for note in notes:
        _log.info(note)
    if meant.notice:
        session.recorder.event(0, meant.notice)
        _log.warning(meant.notice)
    trainer.create_model()
    if start := session.resume_point():
        trainer.load_model(start)
        session.resumed(trainer.step)
    else:
        trainer.begin(root)
    return trainer
