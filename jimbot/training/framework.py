"""Training from Python: the trainer contract and `create_trainer`.

A learner implements three methods of `RLTrainer` and gets a line in the list of learners (`training.learners`); run
directories, metrics, evaluation and the command line then work with it. What else it overrides makes more of it: with a
policy that can be written down its runs are saved, watched and exported, with its state they continue exactly. However
a run is configured (command line, YAML, `TrainerConfig`), learners see one record only: `TrainSettings`.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import logging
from abc import ABC, ABCMeta, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from jimbot.errors import CheckpointError, SettingsError, UsageError
from jimbot.games.contract import BatchGame, game_entry
from jimbot.runs.checkpoint import Checkpoint, Manifest, check_matches, load_checkpoint
from jimbot.runs.checkpoint import CheckpointStore as CheckpointManager
from jimbot.runs.directory import RunDirectory
from jimbot.training.environments import called, own_rules
from jimbot.training.init_policy import check_network, find_start, looked_up
from jimbot.training.learners import (
    available_learners,
    check_algorithm,
    learner_called,
    learner_name,
    load_learner,
    register_learner,
)
from jimbot.training.memory import MOST_PIECES
from jimbot.training.session.log_rows import Measures
from jimbot.training.session.session import Session, run_name
from jimbot.training.settings.layers import check_only
from jimbot.training.settings.record import TrainSettings
from jimbot.training.settings.trainer_config import (
    HyperparameterConfig,
    TrainerConfig,
    get_default_config,
    to_settings,
)

if TYPE_CHECKING:
    import gymnasium
    import numpy as np

    from jimbot.evaluation import Games
    from jimbot.policies.contract import Policy
    from jimbot.training.curriculum import Curriculum
    from jimbot.training.library_callbacks import Callbacks

__all__ = [
    "CheckpointManager", "HyperparameterConfig", "Learned", "RLTrainer", "TrainerConfig", "available_learners",
    "create_trainer", "get_default_config", "learner_class", "learner_name", "open_trainer", "register_learner",
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


class Learned(NamedTuple):
    """What one update came to."""

    losses: dict[str, Any]
    measured: Any
    """`Measured` sums of what was played."""
    steps: int
    """Of the games."""


class _Trainer(ABCMeta):
    """`SB3Trainer(env, config)`, as scripts write it, is a trainer with its run, ready to learn: `create_trainer` with
    the learner named by its class. Inside the house trainers are made from settings and an open session."""

    def __call__(cls, *given: Any, **named: Any) -> Any:
        if isinstance(given[1] if len(given) > 1 else named.get("session"), Session):
            return super().__call__(*given, **named)
        return create_trainer(*given, **named, learner=cls)


class RLTrainer(ABC, metaclass=_Trainer):
    """Trains one agent for one run. `create_model`, `train` and `evaluate` are enough."""

    first_phase = "start"
    """What the first update also does, and what its time is called in the log."""
    algorithms: tuple[str, ...] = ()
    """What it can run, the usual one first, where the list of learners does not say it."""
    config: TrainerConfig | None = None
    """As it was given, if it was; `settings` say the same and more."""
    policy: Policy | None = None
    """What plays, for learners that have it as an object; the others are asked for `policy_onnx`."""

    def __init__(self, settings: TrainSettings, session: Session, game: BatchGame | None = None) -> None:
        """`game`: an own batch to train on, instead of one made by the settings."""
        self.settings = settings
        self.session = session
        self.given = game
        self.spec = game.spec if game is not None else game_entry(settings.game).spec.under(settings.game_options)
        self.curriculum: Curriculum | None = None
        """What makes the games harder, where the settings ask for it; its level is part of every log row."""
        self._level: int | None = None
        self.games_kept: int | None = None
        """How many of the running games the next checkpoint holds, where not all: the run goes on with fewer."""
        self.steps_learned = 0
        """For learners that count steps nowhere else."""
        self.updates = 0
        """Done so far."""
        self.seconds: dict[str, float] = {}
        """Spent since the last log row, by phase."""

    # --- the three methods ---

    @abstractmethod
    def create_model(self) -> None:
        """Builds the policy and everything learning needs, from scratch."""

    def train(self, total_timesteps: int | None = None, callback: Callback | None = None) -> Any:
        """Learns until `total_timesteps` (default: the settings') are done or the session says stop: calls `update`
        again and again, logs, evaluates and saves when it is due, and saves once more at the end."""
        callback, session = plain_callback(callback), self.session
        total, measures = total_timesteps or self.settings.total_timesteps, Measures(self.spec)
        with session.running(self.step, total, self.first_phase):
            while not (reason := session.stop_reason(self.step, total)):
                if (learned := self.update(total)) is None:
                    continue
                session.check_finite(learned.losses, self.updates, self.step)
                measures.add(learned.losses, learned.measured, learned.steps)
                self.after_update(max(1, self.updates), measures, self.phase_seconds, callback)
            if rest := measures.take():
                session.log(self.step, rest | self.more_metrics())
            path = self.save_model()
        self.check_callbacks()
        return session.finished(self.step, reason, path)

    def update(self, total: int) -> Learned | None:
        """Collects and learns once, on the way to `total` steps; None where nothing came of it. For learners that leave
        the loop to `train`."""
        raise UsageError(f"Learner '{learner_name(self.settings)}' has neither update(total) nor a train of its own.")

    def evaluate(
        self, n_episodes: int, deterministic: bool = True, bank: Literal["held-out", "validation"] = "held-out"
    ) -> tuple[float, float]:
        """Mean and standard deviation of the return over games nobody trains on."""
        games = self.judged_games(n_episodes, deterministic, bank)
        return float(games.returns.mean()), float(games.returns.std())

    def judged_games(
        self, n_episodes: int, deterministic: bool = True, bank: Literal["held-out", "validation"] = "held-out"
    ) -> Games:
        """Games of the policy as it is now, on seeds of the bank, by the rules it learns under: those of a wrapped
        environment or a batch of the user are played in it, and its running games begin anew."""
        from jimbot.evaluation import play_games
        from jimbot.games.seeds import HELD_OUT, VALIDATION, bank_seeds

        batch = self.given if own_rules(self.given) else None
        try:
            return play_games(
                self.current_policy(),
                self.settings.game,
                bank_seeds(HELD_OUT if bank == "held-out" else VALIDATION, n_episodes),
                options=self.settings.game_options,
                deterministic=deterministic,
                batch=batch,
            )
        finally:
            if batch is not None:
                batch.reset()
                self.games_restarted()

    # --- what there is to learn from ---

    @cached_property
    def batch(self) -> BatchGame:
        """The games to learn from, stepped by one call: those given, else as many as the settings say."""
        from jimbot.training.environments import training_game

        return self.given if self.given is not None else training_game(self.settings)

    @cached_property
    def env(self) -> gymnasium.Env:
        """One game to learn from as a Gymnasium environment, for algorithms written for one."""
        from jimbot.envs.gymnasium_env import GameEnv
        from jimbot.envs.gymnasium_game import GymnasiumGame
        from jimbot.training.environments import training_options

        if isinstance(self.given, GymnasiumGame):
            return self.given.env
        return GameEnv(self.settings.game, **training_options(self.settings))

    @property
    def step(self) -> int:
        """Environment steps learned from."""
        return self.steps_learned

    # --- saving and going on; with `portable_network` and `restore` all of it works ---

    def portable_network(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]] | None:
        """(description, parameters) of the policy, if it is a network of `policies.networks`."""
        return None

    def described_network(self) -> Mapping[str, Any]:
        """The architecture it learns, if it is one of `policies.networks`."""
        return (self.portable_network() or ({}, {}))[0]

    def learning_state(self) -> dict[str, np.ndarray]:
        """What a continued run needs beside the parameters."""
        import numpy as np

        return {"steps": np.array(self.step)}

    def restore(self, params: Mapping[str, np.ndarray], state: Mapping[str, np.ndarray]) -> None:
        """Takes back what `portable_network` and `learning_state` gave."""
        raise UsageError(
            f"Learner '{learner_name(self.settings)}' cannot continue run '{self.session.run.name}': it has no "
            "restore(params, state). Start over with --fresh, or under another --run-name."
        )

    def policy_onnx(self) -> bytes:
        """The policy as it is now, in its portable form."""
        from jimbot.policies.onnx_form import onnx_from_params
        from jimbot.policies.portable import with_metadata

        found = self.portable_network()
        if found is None:
            raise UsageError(
                f"Learner '{learner_name(self.settings)}' keeps its policy to itself, so that it cannot be saved. "
                "Give it portable_network or policy_onnx."
            )
        sizes = self.spec.observation.size, self.spec.actions.size
        return with_metadata(onnx_from_params(*found, *sizes), self.manifest())

    @property
    def can_save(self) -> bool:
        """Whether its policy can be written down."""
        own = type(self)
        return own.policy_onnx is not RLTrainer.policy_onnx or self.portable_network() is not None

    def save_model(self) -> Path:
        """Writes a checkpoint and returns where."""
        params = (self.portable_network() or ({}, {}))[1]
        path = self.session.store.save(self.manifest(), self.policy_onnx(), params, self.learning_state())
        self.session.saved(self.step, path)
        return path

    def load_model(self, path: str | Path) -> None:
        """Continues exactly from a checkpoint."""
        checkpoint = self.checked_checkpoint(path, self.described_network())
        self.updates = checkpoint.manifest.update
        try:
            self.restore(checkpoint.params(), checkpoint.state())
        except KeyError as problem:
            raise CheckpointError(
                f"The checkpoint {path} lacks {problem}; it is damaged or of another version."
            ) from problem
        self.steps_learned = checkpoint.manifest.step
        self.session.latest_metrics = dict(checkpoint.manifest.metrics)
        self.call_back("on_checkpoint_loaded")

    def close(self) -> None:
        """Releases the games and whatever else is held."""
        for name in ("batch", "env"):
            if name in vars(self):
                vars(self)[name].close()
        self.session.close()

    # --- what is the same for all ---

    def take_up(self) -> None:
        """Goes on from the run's newest checkpoint, or begins with the policy that the settings name."""
        session = self.session
        if start := session.resume_point():
            self._check_environment(start)
            self.load_model(start)
            session.resumed(self.step)
            session.view.note(f"Continuing from {start}.", style="cyan")
        elif taken := self.begin(session.run.root):
            session.view.note(taken, style="cyan")
            session.recorder.event(0, taken)

    def _check_environment(self, start: Path) -> None:
        """A run that learned in the user's own environment does not go on in the bare game."""
        learned_in = load_checkpoint(start).manifest.environment
        if learned_in and not called(self.given):
            raise CheckpointError(
                f"Run '{self.session.run.name}' learned in {learned_in}, an environment that was given from Python. "
                "Continue it there: create_trainer(env, config, resume=True)."
            )

    def current_policy(self) -> Policy:
        """The policy as it is now."""
        if self.policy is not None:
            return self.policy
        from jimbot.policies.portable import OnnxPolicy

        return OnnxPolicy.from_bytes(self.policy_onnx(), name=self.session.run.name)

    def validate(self, n_episodes: int) -> tuple[float, float]:
        """As `evaluate`, on the validation games of the run, if it knows of them."""
        if "bank" in inspect.signature(self.evaluate).parameters:
            return self.evaluate(n_episodes, bank="validation")
        return self.evaluate(n_episodes)

    def checked_checkpoint(self, path: str | Path, network: Mapping[str, Any]) -> Checkpoint:
        """The checkpoint, if it is of this game, learner, algorithm and network."""
        checkpoint = load_checkpoint(path)
        manifest = checkpoint.manifest
        check_matches(manifest, self.spec, learner=learner_name(self.settings), where=path)
        if manifest.algorithm != self.settings.algorithm:
            raise CheckpointError(
                f"Checkpoint {path} was trained by {manifest.algorithm}; this run is {self.settings.algorithm}. "
                "Give the same --algorithm."
            )
        if network:
            check_network(manifest, network, path)
        return checkpoint

    @classmethod
    def check(cls, settings: TrainSettings) -> None:
        """Raises one sentence for a setting this learner cannot honour."""

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

    def put_params(self, params: Mapping[str, np.ndarray]) -> None:
        """Replaces some parameters of a model that was just made."""
        raise SettingsError("This learner cannot begin with rows of the knowledge graph; set graph_embeddings to off.")

    def begin(self, root: str | Path) -> str:
        """A new run's first parameters, where another policy or the knowledge graph gives some; says what was taken."""
        network = self.described_network()
        if not self.settings.start.init_from and (tables := looked_up(network, self.settings.game)):
            self.put_params(tables)
        if self.settings.start.bc_model:
            return self.start_from_clone(find_start(self.settings.start.bc_model, root))
        if self.settings.start.init_from:
            start = find_start(self.settings.start.init_from, root)
            self.start_from(start)
            return f"Starting from the parameters of {start}."
        return ""

    def games_restarted(self) -> None:
        """Called when the games given to the trainer have been started anew."""

    def manifest(self) -> Manifest:
        """What a checkpoint made now says about itself."""
        return Manifest.for_game(
            self.spec,
            game_options=self.settings.game_options,
            learner=learner_name(self.settings),
            algorithm=self.settings.algorithm,
            network=dict(self.described_network()),
            environment=called(self.given),
            step=self.step,
            update=self.updates,
            config=self.settings.flat(),
            metrics={name: float(value) for name, value in self.session.latest_metrics.items() if value == value},
        )

    def after_update(
        self, update: int, measures: Measures, seconds: Callable[[float], dict[str, float]], callback: Callback | None
    ) -> None:
        """What every learner does after an update: show, save, look at validation games, log, each when it is due.
        Saving comes first: whatever happens while games are played, what was learned is kept.

        `seconds` answers how the time since the last log row was spent.
        """
        session, step = self.session, self.step
        _log.debug("%s: update %d is done, step %d", session.run.name, update, step)
        session.updated(step, measures.look)
        self._look_at_level(step)
        with session.rating_later():
            if session.checkpoint_due(step):
                with session.timed_phase("save"):
                    self.save_model()
            if session.evaluation_due(step):
                with session.evaluating():
                    self._judge(step)
            if update % self.settings.log_interval == 0:
                learning = session.learning_seconds
                with session.timed_phase("measure"):
                    spent = seconds(learning)
                metrics = session.log(step, measures.take() | self.more_metrics() | self._level_metrics(), spent)
                if callback and callback(step, metrics) is False:
                    session.end("the callback asked to stop")
                if self.own_callbacks is not None:
                    self.call_back("on_train_result", result=_as_rllib(metrics, update, step))
        session.keep_memory(self.relieve, step)

    def _judge(self, step: int) -> None:
        self.call_back("on_evaluate_start")
        mean, spread = self.validate(VALIDATION_GAMES)
        self.session.evaluated(step, mean, spread)
        found = {"eval/mean_return": mean, "eval/std_return": spread, "env_runners": {"episode_return_mean": mean}}
        self.call_back("on_evaluate_end", evaluation_metrics=found)

    # --- callbacks in RLlib's form ---

    @cached_property
    def own_callbacks(self) -> Callbacks | None:
        """Those of the settings; most runs have none."""
        if not self.settings.callbacks:
            return None
        from jimbot.training.library_callbacks import Callbacks

        return Callbacks(self.settings.callbacks)

    def calls(self) -> Sequence[str]:
        """The methods of callbacks that are called under this learner."""
        from jimbot.training.library_callbacks import CALLED

        return CALLED

    def call_back(self, name: str, **values: Any) -> None:
        """Calls that method of the callbacks; where one fails the run ends."""
        if self.own_callbacks is None:
            return
        self.own_callbacks.tell(name, algorithm=self.as_algorithm(), metrics_logger=None, **values)
        self.end_by_callbacks()

    def as_algorithm(self) -> Any:
        """What callbacks are given as the algorithm."""
        return self

    def end_by_callbacks(self) -> None:
        """Asks for the end where a callback failed."""
        if self.own_callbacks is not None and self.own_callbacks.failure is not None:
            self.session.end("a callback failed")

    def check_callbacks(self) -> None:
        """Raises what a callback failed with."""
        if self.own_callbacks is not None:
            self.own_callbacks.check()

    def begin_callbacks(self) -> str:
        """Called once, with a model that is new; what there is to say about methods that nobody calls."""
        if self.own_callbacks is None:
            return ""
        self.call_back("on_algorithm_init")
        return self.own_callbacks.uncalled(self.calls(), learner_name(self.settings))

    def phase_seconds(self, elapsed: float) -> dict[str, float]:
        """How the `elapsed` seconds of learning since the last log row were spent."""
        spent, self.seconds = self.seconds, dict.fromkeys(self.seconds, 0.0)
        return spent

    def _look_at_level(self, step: int) -> None:
        """Records a new level of the curriculum."""
        if self.curriculum is None or self.curriculum.goal == self._level:
            return
        before, self._level = self._level, self.curriculum.goal
        rose = "" if before is None else f" instead of {before}"
        self.session.recorder.event(step, f"curriculum: games are played up to level {self._level}{rose}")

    def _level_metrics(self) -> dict[str, float]:
        rule = self.curriculum
        return {} if rule is None else {"curriculum/level": rule.goal, "curriculum/success_rate": rule.success_rate}

    def more_metrics(self) -> dict[str, float]:
        """Metrics of this learner's own for a log row."""
        return {}

    def relieve(self, name: str) -> str | None:
        """Gives back memory by one of `memory.STEPS`; says what was done, or None if it cannot.

        A learner adds what it can; every one can be restarted, which also is how the number of games changes.
        """
        settings, memory = self.settings, self.session.memory
        if name == "restart":
            memory.restart_wanted = True
            return "a checkpoint is written and the run goes on in a clean process"
        if name == "smaller_batches":
            pieces = 2 * settings.memory.gradient_accumulation
            if pieces > MOST_PIECES or not self.accumulate(pieces):
                return None
            self.settings = settings.model_copy(update={"gradient_accumulation": pieces})
            memory.remember(gradient_accumulation=pieces)
            return f"minibatches are learned in {pieces} pieces, with the same steps as before"
        if name == "fewer_games":
            fewer = settings.num_envs // 2
            if fewer < 1 or settings.num_envs % 2 or self.given is not None:
                return None
            memory.remember(num_envs=fewer, num_steps=2 * settings.num_steps)
            self.games_kept, memory.restart_wanted = fewer, True
            return f"{fewer} games instead of {settings.num_envs}, with twice the steps of each between updates"
        return None

    def accumulate(self, pieces: int) -> bool:
        """From now on gradients of a minibatch are added up over so many pieces; False where that cannot be."""
        return False


def _as_rllib(metrics: Mapping[str, float], update: int, step: int) -> dict[str, Any]:
    """A log row with what callbacks for RLlib look for in a result."""
    games = {"episode_return_mean": "train/mean_episode_return", "episode_len_mean": "train/mean_episode_length"}
    played = {theirs: metrics[ours] for theirs, ours in games.items() if ours in metrics}
    return {
        **metrics, "training_iteration": update, "num_env_steps_sampled_lifetime": step, "env_runners": played,
    }  # fmt: skip


def learner_class(settings: TrainSettings) -> type[RLTrainer]:
    """The trainer class for a learner and algorithm; one clear sentence if there is none."""
    name = learner_name(settings)
    trainer = load_learner(name)
    check_algorithm(settings)
    if settings.plays_league:
        from jimbot.training.league import check_league

        check_league(settings, name)
    check_only(settings, name)
    trainer.check(settings)
    return trainer


def open_trainer(
    settings: TrainSettings,
    root: Path = Path("runs"),
    fresh: bool = False,
    quiet: bool = False,
    game: BatchGame | None = None,
    config: TrainerConfig | None = None,
    open_session: Callable[..., Session] | None = None,
) -> RLTrainer:
    """The one way into a run: its directory taken, and its trainer ready to learn, continuing what is there.

    Settings that cannot be honoured are refused before anything is written. Close the trainer when done.
    """
    trainer_class = learner_class(settings)
    session = (open_session or Session.open)(settings, root, fresh=fresh, quiet=quiet)
    with ExitStack() as undo:
        undo.callback(session.run.discard)  # a run in which nothing could be learned leaves no directory behind
        undo.callback(session.close)
        settings = settings.model_copy(update=session.memory.changes)
        with session.view.waiting(f"Preparing {settings.game} (the first start on a machine compiles it)…"):
            trainer = trainer_class(settings, session, game)
            undo.callback(trainer.close)
            trainer.config = config
            trainer.create_model()
        if notice := trainer.begin_callbacks():
            session.view.note(notice)
            _log.warning(notice)
        trainer.take_up()
        trainer.check_callbacks()
        undo.pop_all()
    return trainer


def create_trainer(
    env: Any,
    config: TrainerConfig | TrainSettings | Mapping[str, Any] | None = None,
    root: str | Path = "runs",
    fresh: bool = False,
    learner: str | type | None = None,
    resume: bool = False,
) -> RLTrainer:
    """A trainer with its own run directory, for use from Python: a new run, numbered where its name is taken.

    `resume` continues the run of that name; `fresh` takes its name over, and the old one is kept beside it.

    `env` is a game id, a BatchGame (trained on as it is), or a Gymnasium environment: one of our own is rebuilt
    natively with as many games as the config says; anything wrapped around it, or foreign, is stepped as it is.
    `learner` goes before the config's. Close the trainer when done: it holds the run directory.
    """
    from jimbot.training.environments import understand
    from jimbot.training.settings.layers import resolve

    chosen = {} if learner is None else {"learner": learner if isinstance(learner, str) else learner_called(learner)}
    if isinstance(config, TrainerConfig):
        config = dataclasses.replace(config, **chosen)
        values = to_settings(config)
    elif isinstance(config, TrainSettings):
        values = config.flat("python", only_set=True)
    else:
        values = dict(config or {})
    meant = understand(env)
    settings, _, notes = resolve(values, meant.settings, chosen, root=root)
    if not (resume or fresh or settings.saving.resume):
        settings = _as_new_run(settings, Path(root))
    given = config if isinstance(config, TrainerConfig) else None
    trainer = open_trainer(settings, Path(root), fresh, quiet=True, game=meant.game, config=given)
    for note in notes:
        _log.info(note)
    if meant.notice:
        trainer.session.recorder.event(0, meant.notice)
        _log.warning(meant.notice)
    return trainer


def _as_new_run(settings: TrainSettings, root: Path) -> TrainSettings:
    """The settings under a name that no run has: mine, mine-2, mine-3, …"""
    name = run_name(settings)
    numbered = (name if number == 1 else f"{name}-{number}" for number in itertools.count(1))
    free = next(one for one in numbered if RunDirectory(root, one).is_free())
    if free == name:
        return settings
    _log.info("Run '%s' exists, so this one is '%s'; create_trainer(..., resume=True) continues one.", name, free)
    return settings.model_copy(update={"run_name": free, "run_suffix": None})
