"""The one configuration of a training run.

`TrainSettings` is a typed record whose field descriptions are the command line's help, and the only thing learners
read. Its groups are in `groups`, how a setting may be spelled is in `names`, what fills what nobody gave is in
`layers`. RLlib-style names are accepted and mapped (`names`), and so is the Python record `TrainerConfig`
(`trainer_config`).
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import getitem
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from jimbot.errors import SettingsError, UnreadableError
from jimbot.reading.plain import file_text
from jimbot.reading.yaml_values import yaml_value
from jimbot.training.learners import AUTO, spelled
from jimbot.training.settings import groups
from jimbot.training.settings.batch import FITTED, LARGE_BATCH_GAMES, check_choice, fit_batch
from jimbot.training.settings.names import flat_name, flat_values, from_rllib, grouped, paths

# What may change between two calls of the same run; everything else fixes what is being learned.
CHANGEABLE = frozenset(
    {
        *("total_timesteps", "minutes", "log_interval", "eval_interval", "eval_games", "stop_on_collapse"),
        *("batch", "memory_limit_gb", "buffer_gb", "gradient_accumulation"),
        *("population_games", "population_quantile", "adviser_settings", "adviser_coef"),
        *("address", "num_env_runners", "num_gpus", "num_gpus_per_env_runner", "spill_gb"),
        *("save_interval_minutes", "save_interval", "checkpoint_dir", "keep_last", "keep_every"),
        *("run_name", "run_suffix", "resume", "rewind", "no_wandb", "project", "entity", "no_artifact", "share"),
        *(
            "callbacks",
            "full",
            "bus",
            "from_bus",
            "questdb",
            "metrics_port",
            "metrics_host",
            "metrics_token_file",
            "alert_webhook",
        ),
    }
)


class RunSettings(BaseModel):
    """What every run has, whatever learns in it: the game, the network, its directory, saving and logging."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True, validate_default=True, allow_inf_nan=False)
    changeable: ClassVar[frozenset[str]] = CHANGEABLE

    game: str = Field("hackmatrix", description="Game to learn.")
    game_options: dict[str, Any] = Field(default_factory=dict, description="Options of the game.")
    algorithm: str = Field("PPO", description="Algorithm.")
    learner: str = Field("auto", description="auto, or a learner by name.")
    seed: int = Field(42, ge=0, lt=2**63, description="Fixes every random choice of the run.")
    minutes: float | None = Field(None, gt=0, description="Stop this call after so many minutes of training.")
    gamma: float = Field(0.99, gt=0, le=1, description="Discount per step.")
    reward_transform: Literal["none", "symlog", "sqrt", "normalize"] = Field(
        "symlog",
        description="none, symlog, sqrt (milder) or normalize: what the learner makes of rewards, so that a huge one "
        "does not drown the rest.",
    )
    normalize_obs: bool = Field(
        False, description="Shift and scale the numbers of an observation (never ids) by their running statistics."
    )

    network: groups.NetworkSettings = Field(default_factory=groups.NetworkSettings)
    saving: groups.SavingSettings = Field(default_factory=groups.SavingSettings)
    judging: groups.JudgingSettings = Field(default_factory=groups.JudgingSettings)
    tracking: groups.TrackingSettings = Field(default_factory=groups.TrackingSettings)
    operators: groups.OperatorSettings = Field(default_factory=groups.OperatorSettings)
    memory: groups.MemorySettings = Field(default_factory=groups.MemorySettings)

    @model_validator(mode="before")
    @classmethod
    def _by_any_name(cls, values: Any) -> Any:
        return grouped(cls, values) if isinstance(values, Mapping) else values

    def __getitem__(self, name: str) -> Any:
        """A setting by its flat or dotted name: `settings["lr"]`, `settings["ppo.lr"]`."""
        path = paths(type(self)).get(name) or tuple(name.split("."))
        return reduce(getattr, path, self)

    if not TYPE_CHECKING:  # our own code reads groups, and the type checker keeps it so

        def __getattr__(self, name: str) -> Any:
            """Flat names can be read as attributes, too (`settings.lr`): learners of other people do."""
            return self[name] if name in paths(type(self)) else super().__getattr__(name)

    def flat(self, mode: Literal["json", "python"] = "json", only_set: bool = False) -> dict[str, Any]:
        """Every setting (or those that were set) under its flat name, as files and checkpoints keep them."""
        values, places = self.model_dump(mode=mode), paths(type(self))
        return {name: reduce(getitem, path, values) for name, path in places.items() if not only_set or self._set(path)}

    def _set(self, path: tuple[str, ...]) -> bool:
        return path[-1] in reduce(getattr, path[:-1], self).model_fields_set

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other values, given by any name; they are taken as they are, without a check."""
        changes = grouped(type(self), update or {})
        for name, inside in changes.items():
            if isinstance(group := getattr(self, name), groups.Group):
                changes[name] = group.model_copy(update=inside)
        return super().model_copy(update=changes, deep=deep)


OPPONENT, SELF = "opponent", "self"
"""The option by which a game of two players says who plays the other side; `self` makes both sides rows."""


class TrainSettings(RunSettings):
    """Everything that defines a run of reinforcement learning."""

    total_timesteps: int = Field(
        10_000_000, ge=1, lt=2**53, description="Environment steps at which the run is complete."
    )
    num_envs: int = Field(256, ge=1, le=2**20, description="Games played at once.")
    num_steps: int = Field(128, ge=1, le=2**20, description="Steps of each game between two updates.")
    log_interval: int = Field(10, ge=1, description="Updates between two log rows.")
    callbacks: Annotated[list[Any], groups.CALLBACKS, groups.AS_NAMES] = Field(
        default_factory=list,
        description="module:Class (several with commas), from Python also the class: methods of RLlib's names "
        "(on_train_result, …) that are called. Files keep the name alone, so each call names them anew.",
    )
    batch: Annotated[str, AfterValidator(check_choice)] = Field(
        FITTED,
        description=f"fixed: as given; fitted: above {LARGE_BATCH_GAMES} games derive minibatches and epochs (and the "
        "rate) nobody gave; measured: num-envs, too, by short trials (--auto-tune); growing:16: fitted, then doubled "
        "as gradients get noisy, up to so many times.",
    )
    stepping: Literal["auto", "fused", "host"] = Field(
        "auto", description="fused: game and learner in one compiled program (JAX games); host: step from Python."
    )

    ppo: groups.PPOSettings = Field(default_factory=groups.PPOSettings)
    start: groups.StartSettings = Field(default_factory=groups.StartSettings)
    teacher: groups.TeacherSettings = Field(default_factory=groups.TeacherSettings)
    exploration: groups.ExplorationSettings = Field(default_factory=groups.ExplorationSettings)
    advice: groups.AdviceSettings = Field(default_factory=groups.AdviceSettings)
    planning: groups.PlanningSettings = Field(default_factory=groups.PlanningSettings)
    curriculum: groups.CurriculumSettings = Field(default_factory=groups.CurriculumSettings)
    league: groups.LeagueSettings = Field(default_factory=groups.LeagueSettings)
    population: groups.PopulationSettings = Field(default_factory=groups.PopulationSettings)
    dqn: groups.DQNSettings = Field(default_factory=groups.DQNSettings)
    replay: groups.ReplaySettings = Field(default_factory=groups.ReplaySettings)
    offline: groups.OfflineSettings = Field(default_factory=groups.OfflineSettings)
    ray: groups.RaySettings = Field(default_factory=groups.RaySettings)

    @property
    def plays_league(self) -> bool:
        """Whether opponents come from a league: not where the game's own `opponent` was chosen."""
        return bool(self.league.shares) and self.game_options.get(OPPONENT, SELF) == SELF

    @property
    def batch_size(self) -> int:
        return self.num_envs * self.num_steps

    @property
    def minibatch_size(self) -> int:
        return self.batch_size // self.ppo.num_minibatches

    @property
    def gradient_steps(self) -> int:
        """Per update."""
        return self.ppo.num_minibatches * self.ppo.update_epochs


def network_choice(settings: RunSettings) -> dict[str, Any]:
    """What `policies.networks.describe_network` takes about the network."""
    return settings.network.model_dump()


def load_settings(*layers: Mapping[str, Any]) -> TrainSettings:
    """Settings exactly from these layers of plain values, later ones winning, as a stored configuration is read; see
    `layers` for what lies below when a run is started.

    >>> load_settings({"lr": "1e-3"}).ppo.lr
    0.001
    >>> settings = load_settings({"num_envs": 2048})
    >>> settings.ppo.num_minibatches, settings.ppo.update_epochs, settings.gradient_steps, settings.ppo.lr
    (32, 2, 64, 6.25e-05)
    """
    values = merged(*layers)
    return fit_batch(checked_settings(values), chosen=values, below={}).settings


def merged(*layers: Mapping[str, Any], below: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """The layers as one, under flat names. `below` is what lies under them: batch sizes in RLlib's way of giving them
    are shared out to games that may be named there."""
    first = _merged(layers, dict(below), {})
    return _merged(layers, dict(below), first)


def _merged(layers: Sequence[Mapping[str, Any]], below: dict[str, Any], outcome: dict[str, Any]) -> dict[str, Any]:
    """`outcome` is what all of them come to, where that is known: a batch size is shared out to the games that are
    played, whichever layer says how many."""
    values: dict[str, Any] = {}
    known = ChainMap(outcome, values, below, DEFAULTS)
    for layer in layers:
        plain = flat_values(TrainSettings, from_rllib(layer, known.__getitem__))
        options = plain.get("game_options")
        if isinstance(options, Mapping):  # option by option: a flag for one leaves those of the preset alone
            plain["game_options"] = {**values.get("game_options", {}), **options}
        values.update(plain)
    return values


def checked_settings(values: Mapping[str, Any]) -> TrainSettings:
    """The record of flat values; other spellings of algorithms are understood."""
    values = dict(values)
    if "algorithm" in values:
        algorithm, learner = spelled(str(values["algorithm"]))
        values["algorithm"] = algorithm
        if values.get("learner", AUTO) == AUTO:
            values["learner"] = learner
    settings = checked_record(TrainSettings, values)
    check_start(settings)
    return settings


LARGEST_SETTINGS = 2**20  # bytes of a settings file
DEFAULTS = TrainSettings().flat("python")
Record = TypeVar("Record", bound=RunSettings)


def checked_record(record: type[Record], values: Mapping[str, Any]) -> Record:
    """A settings record from plain values; an unknown name or a value that does not fit is one sentence."""
    try:
        return record(**values)
    except ValidationError as problem:
        first = problem.errors()[0]
        name = flat_name(record, tuple(map(str, first["loc"])))
        raise SettingsError(
            f"Setting {name} is {first.get('input')}: {first['msg']}. Give a fitting value."
        ) from problem


def check_start(settings: TrainSettings) -> None:
    """Raises where settings speak of a starting policy and there is none."""
    start = settings.start
    if start.init_kl and start.init_from is None and start.bc_model is None:
        raise SettingsError(
            f"init_kl is {start.init_kl} but there is no policy to anchor it to. Give one with --init-from or "
            "--bc-model."
        )
    if start.init_from is not None and start.bc_model is not None:
        raise SettingsError(
            f"init_from is {start.init_from} and bc_model is {start.bc_model}; a run begins with one. "
            "Give init_from to take over everything, or bc_model for what fits with a fresh value head."
        )


def read_yaml(path: Path) -> dict[str, Any]:
    """A settings file as plain values."""
    if not path.exists():
        raise SettingsError(f"There is no settings file '{path}'. Check the path.")
    try:
        values = yaml_value(file_text(path, LARGEST_SETTINGS))
    except UnreadableError as problem:
        raise SettingsError(f"Settings file '{path}' cannot be read: {problem}.") from problem
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise SettingsError(f"Settings file '{path}' holds a {type(values).__name__}; expected `name: value` lines.")
    for name in values:
        if not isinstance(name, str):
            raise SettingsError(f"Settings file '{path}' has the name {name!r}; expected `name: value` lines.")
    return values


def parse_assignments(assignments: list[str]) -> dict[str, Any]:
    """`a.b=c` texts as nested values, read as YAML.

    >>> parse_assignments(["lr=1e-3", "game_options.profile=reference"])
    {'lr': '1e-3', 'game_options': {'profile': 'reference'}}
    """
    values: dict[str, Any] = {}
    for assignment in assignments:
        path, separator, text = assignment.partition("=")
        if not separator or not path:
            raise SettingsError(f"--set got '{assignment}'; expected name=value, for instance --set lr=1e-3.")
        *parents, last = path.strip().replace("-", "_").split(".")
        place = values
        for parent in parents:
            place = place.setdefault(parent, {})
            if not isinstance(place, dict):
                raise SettingsError(f"--set gives {parent} a value and {path} one inside it; leave out one of the two.")
        if isinstance(place.get(last), dict):
            raise SettingsError(f"--set gives {path} a value and names inside it others; leave out one of the two.")
        place[last] = _assigned(path, text)
    return values


def _assigned(path: str, text: str) -> Any:
    try:
        return yaml_value(text)
    except UnreadableError as problem:
        raise SettingsError(f"The value of --set {path} cannot be read: {problem}.") from problem
