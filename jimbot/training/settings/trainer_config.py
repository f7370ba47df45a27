"""`TrainerConfig`: the configuration as Python code writes it, and its translation into `TrainSettings`.

The record has the names people know from Stable-Baselines3. Fields may be assigned at any time; everything is coerced
and checked when the record is used. Learners never see it: `to_settings` turns it into the one configuration that all
of them read, by the tables below.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from jimbot.errors import SettingsError, UnknownNameError
from jimbot.training.learners import AUTO, check_known, learner_of, spelled
from jimbot.training.settings.batch import nearest_divisor
from jimbot.training.settings.names import RENAMED

Positive = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]


class _Named:
    """A record that refuses fields it does not have, naming the nearest one."""

    def __setattr__(self, name: str, value: Any) -> None:
        known = [entry.name for entry in dataclasses.fields(self)]  # ty: ignore[invalid-argument-type]
        if name not in known:
            raise UnknownNameError(f"field of {type(self).__name__}", name, known, _elsewhere(type(self), name))
        object.__setattr__(self, name, value)


def _elsewhere(record: type, name: str) -> str:
    """Where a name belongs that another record has."""
    place = "" if record is HyperparameterConfig else "hyperparams."
    general = GENERAL.get(name, name)
    if general in {entry.name for entry in dataclasses.fields(HyperparameterConfig)}:
        return f"It is {place}{general}."
    if any(name in specific for specific in SPECIFIC.values()):
        return f"It is an entry of {place}algorithm_specific."
    return ""


@dataclass
class HyperparameterConfig(_Named):
    """How to learn."""

    learning_rate: Annotated[float, Field(gt=0)] = 3e-4
    gamma: Annotated[float, Field(gt=0, le=1)] = 0.99
    gae_lambda: Share = 0.95
    entropy_coefficient: Annotated[float, Field(ge=0)] = 0.01
    value_function_coefficient: Annotated[float, Field(ge=0)] = 0.5
    max_grad_norm: Annotated[float, Field(gt=0)] = 0.5
    policy_net_arch: list[Positive] = field(default_factory=lambda: [256, 256])
    value_net_arch: list[Positive] = field(default_factory=lambda: [256, 256])
    features_dim: Positive = 512
    algorithm_specific: dict[str, Any] = field(default_factory=dict)
    """What only this algorithm has, under SB3's names (`SPECIFIC`); general names of SB3 (`GENERAL`) count, too."""


@dataclass
class TrainerConfig(_Named):
    """What to train, how long, and where it goes."""

    algorithm: str = "PPO"
    total_timesteps: Positive = 1_000_000
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 42
    n_envs: Positive = 8
    use_feature_extractor: bool = True
    feature_extractor_type: str = "balatro"
    normalize_obs: bool = True
    normalize_reward: bool = True
    use_curriculum: bool = False
    save_dir: str = "models"
    checkpoint_freq: Positive = 10_000
    eval_freq: Positive = 5_000
    use_wandb: bool = False
    wandb_project: str = "balatro-rl"
    hyperparams: HyperparameterConfig = field(default_factory=HyperparameterConfig)
    learner: str = "auto"
    run_name: str | None = None
    """Name of the run; None: from game, learner and algorithm."""

    __pydantic_config__ = ConfigDict(extra="forbid")


class Specific(NamedTuple):
    """One key of `algorithm_specific`."""

    setting: str
    default: Any  # None: the learner's own
    kind: type


# What each algorithm has of its own: SB3's name → our setting and the default.
SPECIFIC: dict[str, dict[str, Specific]] = {
    "PPO": {
        "n_steps": Specific("num_steps", 2048, int),
        "batch_size": Specific("num_minibatches", 64, int),  # samples → how many minibatches (see `_minibatches`)
        "n_epochs": Specific("update_epochs", 10, int),
        "clip_range": Specific("clip_eps", 0.2, float),
    },
    "A2C": {"n_steps": Specific("num_steps", 5, int)},
    "DQN": {
        "buffer_size": Specific("buffer_size", 100_000, int),
        "learning_starts": Specific("learning_starts", 10_000, int),
        "batch_size": Specific("replay_batch_size", 32, int),
        "train_freq": Specific("train_freq", 4, int),
        "target_update_interval": Specific("target_update_interval", 10_000, int),
        "exploration_fraction": Specific("exploration_fraction", 0.1, float),
        "exploration_final_eps": Specific("exploration_final_eps", 0.05, float),
        "n_step": Specific("n_step", None, int),
        "double_q": Specific("double_q", None, bool),
        "duelling": Specific("duelling", None, bool),
        "prioritized_replay": Specific("prioritized_replay", None, bool),
        "priority_alpha": Specific("priority_alpha", None, float),
        "priority_beta": Specific("priority_beta", None, float),
    },
}

SPECIFIC |= {
    "APPO": {"n_steps": Specific("num_steps", 50, int), "clip_range": Specific("clip_eps", 0.4, float)},
    "IMPALA": {"n_steps": Specific("num_steps", 50, int)},
    "BC": {"batch_size": Specific("num_steps", 2048, int)},
    "MARWIL": {"batch_size": Specific("num_steps", 2048, int), "beta": Specific("marwil_beta", 1.0, float)},
}

# How the general hyperparameters of an algorithm differ from HyperparameterConfig's defaults.
HYPERPARAMETERS: dict[str, dict[str, Any]] = {
    "PPO": {},
    "A2C": {"learning_rate": 7e-4, "gae_lambda": 1.0},
    "DQN": {"learning_rate": 1e-4, "max_grad_norm": 10.0},
    "APPO": {"learning_rate": 5e-4, "max_grad_norm": 40.0},
    "IMPALA": {"learning_rate": 5e-4, "max_grad_norm": 40.0},
    "BC": {"learning_rate": 1e-3},
    "MARWIL": {"learning_rate": 1e-3},
}

# Settings an algorithm fixes: A2C takes one step on the whole batch, DQN's updates are too small to log each.
FIXED: dict[str, dict[str, Any]] = {
    "PPO": {"log_interval": 1},
    "A2C": {"num_minibatches": 1, "update_epochs": 1, "log_interval": 100},
    "DQN": {"num_steps": 1, "num_minibatches": 1, "update_epochs": 1, "log_interval": 500},
    "APPO": {"num_minibatches": 1, "update_epochs": 1, "log_interval": 1},
    "IMPALA": {"num_minibatches": 1, "update_epochs": 1, "log_interval": 1},
    "BC": {"num_envs": 1, "num_minibatches": 1, "update_epochs": 1, "log_interval": 10},
    "MARWIL": {"num_envs": 1, "num_minibatches": 1, "update_epochs": 1, "log_interval": 10},
}

# Where learner ray differs from the settings' own defaults: its games are spread over processes, and every update costs
# messages between them.
RAY: dict[str, dict[str, Any]] = {
    "PPO": {"num_envs": 64, "num_steps": 64, "num_minibatches": 4, "log_interval": 1},
    "DQN": {
        **{**FIXED["DQN"], "num_envs": 16, "num_steps": 16, "lr": 1e-4, "max_grad_norm": 10.0, "log_interval": 10},
        **dict.fromkeys(("prioritized_replay", "double_q", "duelling"), True),
    },
    "APPO": {**FIXED["APPO"], "num_envs": 32, "num_steps": 50, "lr": 5e-4, "max_grad_norm": 40.0},
    "IMPALA": {**FIXED["IMPALA"], "num_envs": 32, "num_steps": 50, "lr": 5e-4, "max_grad_norm": 40.0},
    "BC": {**FIXED["BC"], "num_steps": 2048, "lr": 1e-3},
    "MARWIL": {**FIXED["MARWIL"], "num_steps": 2048, "lr": 1e-3},
}

# Fields whose values stay what they are, under the names of settings (`names.RENAMED`).
PLAIN = (
    *("learner", "total_timesteps", "seed", "n_envs", "normalize_obs", "use_curriculum"),
    *("save_dir", "checkpoint_freq", "eval_freq"),
)
PLAIN_HYPERPARAMETERS = (
    *("learning_rate", "gamma", "gae_lambda", "entropy_coefficient", "max_grad_norm"),
    *("policy_net_arch", "value_net_arch", "features_dim"),
)
# feature_extractor_type → network; without a feature extractor the layers see the plain observation.
EXTRACTORS = {
    "balatro": "fields",
    "items": "items",
    "fields": "fields",
    "none": "towers",
    "board": "board",
    "balatronet": "BalatroNet",
}

# What a learner makes of normalisation if it keeps no running statistics.
NORMALIZED_REWARD = {"ray": "symlog"}
NORMALIZED_OBS = {"ray": False}

# Settings of a config that say what, where and how long, not how to learn.
NOT_LEARNING = (
    *("learner", "algorithm", "total_timesteps", "seed", "batch"),
    *("checkpoint_dir", "save_interval", "eval_interval", "no_wandb"),
)


def get_default_config(name: str) -> TrainerConfig:
    """A config with the usual hyperparameters of an algorithm.

    >>> config = get_default_config("A2C")
    >>> config.hyperparams.learning_rate, config.hyperparams.algorithm_specific
    (0.0007, {'n_steps': 5})
    """
    algorithm, learner = spelled(name)
    check_known(algorithm)
    specific = {key: entry.default for key, entry in specific_of(algorithm).items() if entry.default is not None}
    hyperparams = HyperparameterConfig(**HYPERPARAMETERS.get(algorithm, {}), algorithm_specific=specific)
    return TrainerConfig(algorithm=algorithm, learner=learner, hyperparams=hyperparams)


def specific_of(algorithm: str) -> Mapping[str, Specific]:
    """What an algorithm has of its own; one of other people is understood in PPO's words, without its defaults."""
    if algorithm in SPECIFIC:
        return SPECIFIC[algorithm]
    return {name: entry._replace(default=None) for name, entry in SPECIFIC["PPO"].items() if name != "batch_size"}


def checked(config: TrainerConfig) -> TrainerConfig:
    """The config with every value of its right type (`"1e-3"` → 0.001), or one sentence about the first that is not."""
    try:
        return TypeAdapter(TrainerConfig).validate_python(dataclasses.asdict(config))
    except ValidationError as problem:
        first = problem.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise SettingsError(
            f"TrainerConfig.{name} is {first.get('input')!r}: {first['msg']}. Give a fitting value."
        ) from problem


def to_settings(config: TrainerConfig) -> dict[str, Any]:
    """The config as plain values of `TrainSettings`."""
    config = checked(config)
    algorithm, learner = spelled(config.algorithm)
    check_known(algorithm)
    learner = learner if config.learner == AUTO else config.learner
    actual = (learner_of(algorithm) or "") if learner == AUTO else learner
    hyper = _with_general(config.hyperparams)
    values: dict[str, Any] = {RENAMED.get(name, name): getattr(config, name) for name in PLAIN}
    values |= {RENAMED.get(name, name): getattr(hyper, name) for name in PLAIN_HYPERPARAMETERS}
    values |= {"algorithm": algorithm, "learner": learner, "batch": "fixed", **FIXED.get(algorithm, {})}
    values |= {"anneal_lr": False, "target_kl": 0.0}  # what is given is what is used, from the first step to the last
    # SB3 weighs the whole squared error of the value, TrainSettings half of it.
    values["vf_coef"] = 2 * hyper.value_function_coefficient
    values["reward_transform"] = NORMALIZED_REWARD.get(actual, "normalize") if config.normalize_reward else "none"
    values["normalize_obs"] = NORMALIZED_OBS.get(actual, config.normalize_obs)
    values["network"] = _network(config)
    values |= {"run_name": config.run_name} if config.run_name else {}
    values |= {"project": config.wandb_project} if config.use_wandb else {"no_wandb": True}
    values |= _specific(algorithm, hyper.algorithm_specific)
    if algorithm == "PPO":
        values["num_minibatches"] = _minibatches(values)
    return values


IMPROVE = {"num_envs": 64, "num_steps": 32, "num_minibatches": 4, "update_epochs": 2, "log_interval": 1}
"""Expert iteration: every step costs many simulations, so batches are small, and each is a row of the log."""


def algorithm_defaults(algorithm: str, learner: str) -> dict[str, Any]:
    """The settings that `jimbot train` starts from when an algorithm runs on a learner other than jax.

    Only what concerns learning: where files go and how long to train is the command's own affair.
    """
    if learner == "improve":
        return dict(IMPROVE)
    if learner == "jax" or algorithm not in SPECIFIC:
        return {}  # the fields' own defaults are tuned for it, or nobody knows better
    if learner == "ray":
        return dict(RAY.get(algorithm, {}))
    kept = to_settings(dataclasses.replace(get_default_config(algorithm), learner=learner))
    return {name: value for name, value in kept.items() if name not in NOT_LEARNING}


def _network(config: TrainerConfig) -> str:
    if not config.use_feature_extractor:
        return "towers"
    kind = config.feature_extractor_type.lower()
    if kind not in EXTRACTORS:
        raise UnknownNameError("feature_extractor_type", config.feature_extractor_type, EXTRACTORS)
    return EXTRACTORS[kind]


GENERAL = {
    "learning_rate": "learning_rate",
    "gamma": "gamma",
    "gae_lambda": "gae_lambda",
    "ent_coef": "entropy_coefficient",
    "vf_coef": "value_function_coefficient",
    "max_grad_norm": "max_grad_norm",
}
"""SB3's names of general hyperparameters, which `algorithm_specific` may hold as well: whole tables of an algorithm's
values are passed around."""


def _with_general(hyper: HyperparameterConfig) -> HyperparameterConfig:
    """What `algorithm_specific` says about general hyperparameters, put where it belongs."""
    given = hyper.algorithm_specific
    general = {ours: _number(name, given[name], float) for name, ours in GENERAL.items() if name in given}
    specific = {name: value for name, value in given.items() if name not in GENERAL}
    return dataclasses.replace(hyper, **general, algorithm_specific=specific)


def _specific(algorithm: str, given: Mapping[str, Any]) -> dict[str, Any]:
    known = specific_of(algorithm)
    for name in given:
        if name not in known:
            raise UnknownNameError(f"entry of algorithm_specific for {algorithm}", name, [*known, *GENERAL])
    values = {name: given.get(name, entry.default) for name, entry in known.items()}
    return {
        known[name].setting: _number(name, value, known[name].kind)
        for name, value in values.items()
        if value is not None
    }


def _number(name: str, value: Any, kind: Callable[[Any], Any]) -> Any:
    try:
        return kind(float(value))
    except (TypeError, ValueError) as problem:
        raise SettingsError(f"algorithm_specific.{name} is {value!r}; expected a number.") from problem


def _minibatches(values: Mapping[str, Any]) -> int:
    """How many minibatches of about the wanted size; `num_minibatches` holds the wanted samples so far."""
    samples = values["num_envs"] * values["num_steps"]
    return nearest_divisor(samples, max(1, round(samples / max(1, values["num_minibatches"]))))
