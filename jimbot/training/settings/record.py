"""The one configuration of a training run.

`TrainSettings` is a typed record whose field descriptions are the command line's help, and the only thing learners
read. Precedence: field default < defaults of the algorithm < preset of the game and learner < YAML file < `--set` and
flags. Unknown keys are errors that name the nearest known key; RLlib-style names are accepted and mapped
(`rllib_names`), and so is the Python record `TrainerConfig` (`trainer_config`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from jimbot.errors import SettingsError, UnknownNameError
from jimbot.training.settings.rllib_names import from_rllib, nearest_divisor

LARGE_BATCH_GAMES = 256  # above this many games, batch settings are scaled (see `scaled`)
MINIBATCH_SAMPLES = 8192
BASE_GRADIENT_STEPS = 16  # the learning rate is stated for this many gradient steps per update

# What may change between two calls of the same run; everything else fixes what is being learned.
CHANGEABLE = frozenset(
    {
        *("total_timesteps", "minutes", "log_interval", "eval_interval", "eval_games", "stop_on_collapse"),
        *("auto_tune", "autoscale", "memory_limit_gb", "buffer_gb", "gradient_pieces"),
        *("population_games", "population_quantile"),
        *("address", "num_env_runners", "num_gpus", "num_gpus_per_env_runner", "spill_gb"),
        *("save_interval_minutes", "save_interval", "checkpoint_dir", "keep_last", "keep_every"),
        *("run_name", "run_suffix", "resume", "rewind", "no_wandb", "project", "entity", "no_artifact", "share"),
    }
)


class RunSettings(BaseModel):
    """What every run has, whatever learns in it: the game, the network, its directory, saving and logging."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True, validate_default=True)
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
        description="What the learner makes of rewards: symlog and, milder, sqrt keep a huge one from drowning the "
        "rest; normalize divides by the running spread of returns.",
    )
    normalize_obs: bool = Field(
        False, description="Shift and scale the numbers of an observation (never ids) by their running statistics."
    )
    memory_limit_gb: float = Field(
        8.0, gt=0, description="Memory of all processes of the run; see docs/memory.md for what happens near it."
    )
    network: str = Field("auto", description="auto, mlp, board, items, towers, fields or BalatroNet.")
    hidden_dim: int = Field(0, ge=0, description="Width of the hidden layers; 0: 256 for mlp, 128 for board.")
    num_layers: int = Field(2, ge=1, le=16, description="Hidden layers.")
    policy_layers: list[int] = Field([256, 256], description="Layers of the policy alone (towers, fields): 256,256.")
    value_layers: list[int] = Field([256, 256], description="Layers of the value alone (towers, fields): 256,256.")
    features_dim: int = Field(512, ge=1, description="Numbers the encoded observation becomes (fields).")
    memgraph_embedding_dim: int = Field(
        0, ge=0, le=1024, description="BalatroNet: numbers in a learned row for every joker in play; 0: none."
    )

    save_interval_minutes: float = Field(10.0, gt=0, description="Minutes between two checkpoints.")
    save_interval: int | None = Field(None, ge=1, description="Steps between two checkpoints (overrides the minutes).")
    checkpoint_dir: Path | None = Field(None, description="Where checkpoints go; default: inside the run directory.")
    keep_last: int = Field(3, ge=1, description="Newest checkpoints kept.")
    keep_every: int = Field(0, ge=0, description="Also keep one checkpoint every so many steps; 0: none.")
    eval_interval: int | None = Field(None, ge=1, description="Steps between two looks at validation games.")
    eval_games: int = Field(200, ge=0, description="Held-out games played when training ends; 0: none.")
    stop_on_collapse: bool = Field(False, description="End the run when the health watch sees entropy collapse.")

    run_name: str | None = Field(None, description="Name of the run directory; default: from game and learner.")
    run_suffix: str | None = Field(None, description="Appended to the run name.")
    resume: str | None = Field(None, description="Start from this checkpoint (directory, run, or run name).")
    rewind: bool = Field(False, description="On resume, also rewind W&B's history to the checkpoint's step.")
    no_wandb: bool = Field(False, description="Do not log to W&B even if it is installed and set up.")
    project: str | None = Field(None, description="W&B project; giving one turns W&B on.")
    entity: str | None = Field(None, description="W&B entity (team).")
    no_artifact: bool = Field(False, description="Do not upload checkpoints to W&B.")

    @field_validator("policy_layers", "value_layers", mode="before")
    @classmethod
    def _layers(cls, value: Any) -> Any:
        """Lists as text, too: 256,256 (a flag) or [256, 256]."""
        return [part for part in value.strip("[] ").split(",") if part.strip()] if isinstance(value, str) else value


class TrainSettings(RunSettings):
    """Everything that defines a run of reinforcement learning."""

    num_envs: int = Field(256, ge=1, description="Games played at once.")
    num_steps: int = Field(128, ge=1, description="Steps of each game between two updates.")
    total_timesteps: int = Field(10_000_000, ge=1, description="Environment steps at which the run is complete.")
    lr: float = Field(2.5e-4, gt=0, description="Learning rate (Adam).")
    anneal_lr: bool = Field(False, description="Lower the learning rate linearly to 0 at total-timesteps.")
    gae_lambda: float = Field(0.95, ge=0, le=1, description="Lambda of generalised advantage estimation.")
    num_minibatches: int = Field(4, ge=1, description="Minibatches per epoch; must divide num-envs × num-steps.")
    update_epochs: int = Field(4, ge=1, description="Passes over each batch.")
    clip_eps: float = Field(0.2, gt=0, description="PPO clip range of the probability ratio.")
    vf_coef: float = Field(0.5, ge=0, description="Weight of the value loss.")
    ent_coef: float = Field(0.15, ge=0, description="Weight of the entropy bonus.")
    max_grad_norm: float = Field(0.5, gt=0, description="Gradients are clipped to this global norm.")
    target_kl: float = Field(
        0.0, ge=0, description="End an update's passes once approx_kl is above 1.5 times this; 0: never."
    )
    gradient_pieces: int = Field(
        1, ge=1, description="Pieces a minibatch is learned in, one after another: less memory, the same step."
    )
    autoscale: bool = Field(
        True, description=f"Above {LARGE_BATCH_GAMES} games scale minibatches, epochs and learning rate."
    )
    auto_tune: bool = Field(False, description="Choose num-envs, minibatches and epochs by short measured trials.")
    stepping: Literal["auto", "fused", "host"] = Field(
        "auto", description="fused: game and learner in one compiled program (JAX games); host: step from Python."
    )

    init_from: str | None = Field(
        None, description="Start a new run from the parameters of this checkpoint (directory, run, or run name)."
    )
    init_kl: float = Field(0.0, ge=0, description="Weight of a pull towards the policy of init-from; 0: none.")
    init_kl_updates: int = Field(200, ge=1, description="Updates over which that pull decays linearly to 0.")
    value_warmup_updates: int = Field(
        0, ge=0, description="First updates in which only the value head learns and the policy stays as it is."
    )
    freeze_trunk_updates: int = Field(0, ge=0, description="First updates in which only the heads learn.")
    bc_model: str | None = Field(
        None,
        description="Start a new run from a clone: what fits is copied and told, the value head stays fresh; in a "
        "league it also is the opponent `clone`.",
    )

    league: dict[str, float] = Field(
        default_factory=dict,
        description="Games of two: {self, past, clone, exploiter: share of the games}; empty: the game's own opponent.",
    )
    league_members: list[str] = Field(
        default_factory=list, description="League: exploiters (scripted players, runs, checkpoints): heuristic,my-run."
    )
    past_interval: int = Field(20, ge=1, description="League: updates between two past selves that are taken in.")
    share: Literal["memory", "file_system"] = Field(
        "memory", description="Where collected experience lies: in memory, or in mapped files of the run directory."
    )

    use_curriculum: bool = Field(False, description="Balatro: play only so far at first, further when that goes well.")
    difficulty_schedule: dict[int, str] = Field(
        default_factory=dict, description="Balatro: {step: easy, medium or hard}, a curriculum by the clock."
    )
    buffer_size: int = Field(
        100_000, ge=1, description="DQN: steps remembered. PPO: places for decisions per update, sets num-steps."
    )
    buffer_gb: float | None = Field(
        None, gt=0, description="DQN: memory of a compressed replay; default: its part of memory-limit-gb."
    )
    replay: Literal["auto", "plain", "compressed"] = Field(
        "auto", description="DQN: how steps are remembered; auto: compressed with priorities or n-step, else plain."
    )
    prioritized_replay: bool = Field(False, description="DQN: learn more often from what surprises; rare events count.")
    priority_alpha: float = Field(0.6, gt=0, le=1, description="DQN: how much priorities count.")
    priority_beta: float = Field(0.4, ge=0, le=1, description="DQN: how much of their bias is corrected.")
    rare_event_boosts: dict[str, float] = Field(
        default_factory=dict, description="DQN: other factors for rare events, for instance {first_win: 20}."
    )
    n_step: int = Field(1, ge=1, le=100, description="DQN: rewards summed before the target network is asked.")
    double_q: bool = Field(False, description="DQN: the net itself chooses the action its target net judges.")
    duelling: bool = Field(False, description="DQN: the position's value and the actions' leads are learned apart.")
    learning_starts: int = Field(10_000, ge=0, description="DQN: steps of random legal play before learning.")
    replay_batch_size: int = Field(32, ge=1, description="DQN: remembered steps per gradient step.")
    train_freq: int = Field(4, ge=1, description="DQN: one gradient step per so many steps of all games together.")
    target_update_interval: int = Field(10_000, ge=1, description="DQN: steps between two copies to the target net.")
    exploration_fraction: float = Field(0.1, gt=0, le=1, description="DQN: share of the run in which epsilon falls.")
    exploration_final_eps: float = Field(0.05, ge=0, le=1, description="DQN: epsilon from then on.")

    offline_data: Path | None = Field(None, description="BC, MARWIL: a dataset made by `jimbot record`.")
    marwil_beta: float = Field(1.0, ge=0, description="MARWIL: how much better-than-expected play is preferred.")
    address: str | None = Field(None, description="ray: cluster to join (auto, or host:port); default: start one here.")
    num_env_runners: int = Field(2, ge=1, description="ray: processes that play; each has its share of num-envs.")
    num_gpus: float = Field(0, ge=0, description="ray: GPUs for learning.")
    num_gpus_per_env_runner: float = Field(0, ge=0, description="ray: GPUs for each process that plays.")
    spill_gb: float = Field(
        4.0, gt=0, description="ray: disk that shared memory may overflow to, in the run directory."
    )
    population: int = Field(
        0, ge=0, description="Train so many agents in turns; the worst go on from the best with mutated settings."
    )
    population_interval: int | None = Field(
        None, ge=1, description="Population: steps each agent trains between two comparisons; default: 20 in a run."
    )
    population_games: int = Field(100, ge=1, description="Population: validation games that judge each turn.")
    population_quantile: float = Field(
        0.25, gt=0, le=0.5, description="Population: share that is replaced by as many of the best."
    )
    mutations: dict[str, Any] = Field(
        default_factory=dict, description="Population: {hyper-parameter: [low, high]} that mutate; default: a table."
    )

    log_interval: int = Field(10, ge=1, description="Updates between two log rows.")

    @field_validator("league_members", mode="before")
    @classmethod
    def _names(cls, value: Any) -> Any:
        """Names as text, too: heuristic,my-run."""
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("policy_layers", "value_layers")
    @classmethod
    def _positive(cls, value: list[int]) -> list[int]:
        if any(width < 1 for width in value):
            raise ValueError("every layer needs a positive width")
        return value

    @property
    def batch_size(self) -> int:
        return self.num_envs * self.num_steps

    @property
    def minibatch_size(self) -> int:
        return self.batch_size // self.num_minibatches

    @property
    def gradient_steps(self) -> int:
        """Per update."""
        return self.num_minibatches * self.update_epochs


ALIASES = {
    "maskableppo": ("PPO", "sb3"),
    **{name.lower(): (name, "auto") for name in ("PPO", "A2C", "DQN", "APPO", "IMPALA", "BC", "MARWIL")},
}
"""Other spellings of algorithms: (algorithm, what an `auto` learner becomes). PPO is masked on every learner."""


def network_choice(settings: RunSettings) -> dict[str, Any]:
    """What `policies.networks.describe_network` is told about the network."""
    names = ("hidden_dim", "num_layers", "policy_layers", "value_layers", "features_dim", "memgraph_embedding_dim")
    return {"kind": settings.network, **{name: getattr(settings, name) for name in names}}


def load_settings(*layers: Mapping[str, Any]) -> TrainSettings:
    """Settings from layers of plain values, later ones winning; scaled for large batches and checked.

    >>> load_settings({"lr": "1e-3"}).lr
    0.001
    >>> settings = load_settings({"num_envs": 2048})
    >>> settings.num_minibatches, settings.update_epochs, settings.gradient_steps, settings.lr
    (32, 2, 64, 6.25e-05)
    """
    merged: dict[str, Any] = {}
    for layer in layers:
        plain = from_rllib(layer, lambda name: merged.get(name, TrainSettings.model_fields[name].default))
        options = plain.get("game_options")
        if isinstance(options, Mapping):  # option by option: a flag for one leaves those of the preset alone
            plain["game_options"] = {**merged.get("game_options", {}), **options}
        merged.update(plain)
    if (alias := ALIASES.get(str(merged.get("algorithm")).lower())) is not None:
        merged |= {"algorithm": alias[0], "learner": merged.get("learner", "auto")}
        merged["learner"] = alias[1] if merged["learner"] == "auto" else merged["learner"]
    settings = scaled(checked_record(TrainSettings, merged), chosen=frozenset(merged))
    check_batch(settings)
    check_start(settings)
    return settings


Record = TypeVar("Record", bound=BaseModel)


def checked_record(record: type[Record], values: Mapping[str, Any]) -> Record:
    """A settings record from plain values; an unknown name or a value that does not fit is one sentence."""
    for name in values:
        if name not in record.model_fields:
            raise UnknownNameError("setting", name, record.model_fields)
    try:
        return record(**values)
    except ValidationError as problem:
        first = problem.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise SettingsError(
            f"Setting {name} is {first.get('input')}: {first['msg']}. Give a fitting value."
        ) from problem


def scaled(settings: TrainSettings, chosen: frozenset[str] = frozenset()) -> TrainSettings:
    """Batch settings for many games; what the caller chose is left alone, but counts for the learning rate.

    Minibatches stay near 8,192 samples, epochs go down (not below 2), and lr = base × 16 / gradient steps.
    """
    if not settings.autoscale or settings.num_envs <= LARGE_BATCH_GAMES:
        return settings
    update: dict[str, Any] = {}
    if "num_minibatches" not in chosen:
        wanted = max(1, round(settings.batch_size / MINIBATCH_SAMPLES))
        update["num_minibatches"] = nearest_divisor(settings.batch_size, wanted)
    if "update_epochs" not in chosen:
        update["update_epochs"] = max(2, round(settings.update_epochs * LARGE_BATCH_GAMES / settings.num_envs))
    bigger = settings.model_copy(update=update)
    lr = settings.lr * BASE_GRADIENT_STEPS / bigger.gradient_steps
    return bigger.model_copy(update={"lr": lr, "autoscale": False})


def check_batch(settings: TrainSettings) -> None:
    """Raises unless minibatches divide the batch."""
    if settings.batch_size % settings.num_minibatches:
        near = nearest_divisor(settings.batch_size, settings.num_minibatches)
        raise SettingsError(
            f"num_minibatches {settings.num_minibatches} does not divide the batch of {settings.num_envs} games × "
            f"{settings.num_steps} steps = {settings.batch_size} samples. Use for instance {near}."
        )


def check_start(settings: TrainSettings) -> None:
    """Raises where settings speak of a starting policy and there is none."""
    if settings.init_kl and settings.init_from is None and settings.bc_model is None:
        raise SettingsError(
            f"init_kl is {settings.init_kl} but there is no policy to be pulled to. Give one with --init-from or "
            "--bc-model."
        )
    if settings.init_from is not None and settings.bc_model is not None:
        raise SettingsError(
            f"init_from is {settings.init_from} and bc_model is {settings.bc_model}; a run begins with one. Give "
            "init_from to take over everything, or bc_model for what fits with a fresh value head."
        )


def read_yaml(path: Path) -> dict[str, Any]:
    """A settings file as plain values."""
    try:
        values = yaml.safe_load(path.read_text())
    except FileNotFoundError as problem:
        raise SettingsError(f"There is no settings file '{path}'. Check the path.") from problem
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as problem:
        raise SettingsError(f"Settings file '{path}' cannot be read: {' '.join(str(problem).split())}") from problem
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise SettingsError(f"Settings file '{path}' holds a {type(values).__name__}; expected `name: value` lines.")
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
        place[last] = yaml.safe_load(text) if text else None
    return values
