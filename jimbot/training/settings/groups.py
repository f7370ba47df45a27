"""The groups of settings: one small record per subject, whose field descriptions are the command line's help.

The first line of a record's docstring is the title of its panel in `jimbot train --help`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, field_validator

from jimbot.errors import UnreadableError
from jimbot.reading.yaml_values import yaml_value

MOST_WIDE, MOST_LAYERS = 65_536, 16
"""Of a network; anything beyond is a slip of the finger, and says so before memory runs out."""


def _typed(value: Any) -> Any:
    """A mapping as it is typed after a flag: `{play: 0.5}`."""
    if not isinstance(value, str):
        return value
    try:
        return yaml_value(value)
    except UnreadableError as problem:
        raise ValueError(str(problem)) from problem


AS_TYPED = BeforeValidator(_typed)


def callback_name(callback: Any) -> str:
    """How a callback is written down: `module:Class`, of an object its class.

    >>> callback_name("mine:Watch"), callback_name(dict), callback_name({})
    ('mine:Watch', 'builtins:dict', 'builtins:dict')
    """
    made_by = getattr(callback, "func", callback)  # of a functools.partial
    if isinstance(made_by, str):
        return made_by
    named = made_by if hasattr(made_by, "__qualname__") else type(made_by)
    return f"{named.__module__}:{named.__qualname__}"


def _callbacks(value: Any) -> list[Any]:
    """One callback or several, as things or by their names."""
    if value is None or (isinstance(value, str) and value.strip("[] ").lower() in ("", "none")):
        return []
    several = value.strip("[] ").split(",") if isinstance(value, str) else value
    found = [one.strip() if isinstance(one, str) else one for one in _listed(several)]
    for one in found:
        if not _is_callback(one):
            raise ValueError(f"{one!r} is no callback; expected a class, an object with methods on_…, or module:Class")
    return found


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _is_callback(value: Any) -> bool:
    if isinstance(value, str):
        return ":" in value and all(part.isidentifier() for part in value.replace(":", ".").split("."))
    return callable(value) or any(name.startswith("on_") for name in dir(value))


CALLBACKS = BeforeValidator(_callbacks)
AS_NAMES = PlainSerializer(lambda given: [callback_name(one) for one in given], when_used="json")


class Group(BaseModel):
    """Settings that belong together."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True, validate_default=True, allow_inf_nan=False)


class PPOSettings(Group):
    """PPO (other algorithms read what they share with it)"""

    lr: float = Field(2.5e-4, gt=0, description="Learning rate (Adam).")
    anneal_lr: bool = Field(False, description="Lower the learning rate linearly to 0 at total-timesteps.")
    ent_coef: float = Field(0.01, ge=0, description="Weight of the entropy bonus.")
    ent_blocks: Annotated[dict[str, float], AS_TYPED] = Field(
        default_factory=dict,
        description="{block of actions: factor} of the entropy inside it: {play: 0.5}.",
    )
    vf_coef: float = Field(0.5, ge=0, description="Weight of the value loss.")
    gae_lambda: float = Field(0.95, ge=0, le=1, description="Lambda of generalised advantage estimation.")
    clip_eps: float = Field(0.2, gt=0, description="PPO clip range of the probability ratio.")
    num_minibatches: int = Field(4, ge=1, description="Minibatches per epoch; must divide num-envs × num-steps.")
    update_epochs: int = Field(4, ge=1, le=10_000, description="Epochs over each batch.")
    max_grad_norm: float = Field(0.5, gt=0, description="Gradients are clipped to this global norm.")
    target_kl: float = Field(
        0.0, ge=0, description="End an update after an epoch whose mean approx_kl is above 1.5 times this; 0: never."
    )
    forced_every: int = Field(
        1, ge=1, description="Learn from one in so many of the positions with a single legal action; 1: from all."
    )
    extensions: Annotated[dict[str, Any], AS_TYPED] = Field(
        default_factory=dict, description="{name: its settings} of parts that plug-ins add to the learner."
    )


class NetworkSettings(Group):
    """Network"""

    kind: str = Field("auto", description="auto, mlp, board, items, doubles, towers, fields or BalatroNet.")
    hidden_dim: int = Field(
        0,
        ge=0,
        le=MOST_WIDE,
        description="Width of the hidden layers; 0: 256 for mlp and doubles, 128 for board, 192 for items.",
    )
    num_layers: int = Field(2, ge=1, le=MOST_LAYERS, description="Hidden layers (mlp, board, items, doubles).")
    policy_layers: list[int] = Field([256, 256], description="Layers of the policy alone (towers, fields): 256,256.")
    value_layers: list[int] = Field([256, 256], description="Layers of the value alone (towers, fields): 256,256.")
    features_dim: int = Field(512, ge=1, le=MOST_WIDE, description="Numbers the encoded observation becomes (fields).")
    memgraph_embedding_dim: int = Field(
        0,
        ge=0,
        le=1024,
        description="Numbers in a row per joker; 0: none (BalatroNet), or 128 with graph-embeddings.",
    )
    graph_embeddings: Literal["off", "fixed", "trainable"] = Field(
        "off", description="Rows of the knowledge graph for items and BalatroNet: off, fixed or trainable (learned on)."
    )

    @field_validator("policy_layers", "value_layers", mode="before")
    @classmethod
    def _layers(cls, value: Any) -> Any:
        """Lists as text, too: 256,256 (a flag) or [256, 256]."""
        return [part for part in value.strip("[] ").split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("policy_layers", "value_layers")
    @classmethod
    def _positive(cls, value: list[int]) -> list[int]:
        if len(value) > MOST_LAYERS or any(not 1 <= width <= MOST_WIDE for width in value):
            raise ValueError(f"expected at most {MOST_LAYERS} layers, each 1 to {MOST_WIDE:,} wide")
        return value


class StartSettings(Group):
    """Starting from another policy"""

    init_from: str | None = Field(
        None, description="Start a new run from the parameters of this checkpoint (directory, run, or run name)."
    )
    init_kl: float = Field(0.0, ge=0, description="Weight of a KL anchor to the policy of init-from; 0: none.")
    init_kl_updates: int = Field(200, ge=1, description="Updates over which that weight decays linearly to 0.")
    value_warmup_updates: int = Field(
        0, ge=0, description="First updates in which only the value head learns and the policy stays as it is."
    )
    freeze_trunk_updates: int = Field(0, ge=0, description="First updates in which only the heads learn.")
    bc_model: str | None = Field(
        None,
        description="Start a new run from a clone: what fits is copied and listed, the value head stays fresh; in a "
        "league it also is the opponent `clone`.",
    )


class TeacherSettings(Group):
    """A teacher that is asked while learning"""

    policy: str | None = Field(
        None,
        description="Player whose answers to the run's own positions are learned, too: a heuristic, run or checkpoint; "
        "none: nobody.",
    )
    coef: float = Field(1.0, ge=0, description="Weight of its answers in the first update.")
    updates: int = Field(200, ge=1, description="Updates over which that weight decays linearly to 0.")
    share: float = Field(0.25, gt=0, le=1, description="Share of the positions it is asked about.")
    play: float = Field(0.0, ge=0, le=1, description="Share of the games it plays itself in the first update.")
    play_updates: int = Field(50, ge=1, description="Updates over which the learner takes over those games.")
    shaping: float = Field(
        0.0,
        ge=0,
        description="Weight of what it thinks positions are worth: steps to better ones are paid for at once "
        "(a potential, which changes nothing about what is best). Games stepped from Python.",
    )

    @field_validator("policy")
    @classmethod
    def _nobody(cls, value: str | None) -> str | None:
        return None if value in ("", "none") else value


class AdviceSettings(Group):
    """An adviser that is asked while learning"""

    use: bool = Field(
        False,
        description="Ask about positions the policy is not sure of, in the background: Claude (ANTHROPIC_API_KEY), "
        "else the planner. Answers become weighted demonstrations.",
    )
    settings: Annotated[dict[str, Any], AS_TYPED] = Field(
        default_factory=dict, description="{setting of the adviser: value}; see jimbot adviser settings."
    )
    coef: float = Field(0.5, ge=0, description="Learning rate of a step towards its answers, as a share of lr.")


class PlanningSettings(Group):
    """Looking ahead while learning (ExIt: jimbot improve)"""

    simulations: int = Field(24, ge=2, le=100_000, description="Simulations per planned decision.")
    player: str | None = Field(
        None, description="Who plays the simulations out, and whose moves are improved; without one the policy itself."
    )
    settings: Annotated[dict[str, Any], AS_TYPED] = Field(
        default_factory=dict, description="{setting of a plan: value} in place of the game's own: {depth: 30}."
    )


class ExplorationSettings(Group):
    """Exploration"""

    kind: Literal["flat", "hierarchical"] = Field(
        "flat", description="hierarchical: levels of decisions (hand, shop, blind) take turns at exploring."
    )
    count_bonus: float = Field(
        0.0,
        ge=0,
        description="Reward for what the game counts as rare, over the root of how often it was; 0: none.",
    )
    strategy_bonus: float = Field(
        0.0, ge=0, description="The same for coming to a strategy of the knowledge graph; 0: none."
    )


class SavingSettings(Group):
    """Checkpoints"""

    run_name: str | None = Field(None, description="Name of the run directory; default: from game and learner.")
    run_suffix: str | None = Field(None, description="Appended to the run name.")
    resume: str | None = Field(
        None, description="Continue the run that this checkpoint lies in from there, with the settings it has."
    )
    save_interval_minutes: float = Field(10.0, gt=0, description="Minutes between two checkpoints.")
    save_interval: int | None = Field(None, ge=1, description="Steps between two checkpoints (overrides the minutes).")
    checkpoint_dir: Path | None = Field(None, description="Where checkpoints go; default: inside the run directory.")
    keep_last: int = Field(3, ge=1, description="Newest checkpoints kept.")
    keep_every: int = Field(0, ge=0, description="Also keep one checkpoint every so many steps; 0: none.")
    keep_games: int = Field(
        1000, ge=0, le=100_000, description="Newest games that came far, kept with what they held; 0: none."
    )


class JudgingSettings(Group):
    """Evaluation"""

    eval_interval: int | None = Field(None, ge=1, description="Steps between two evaluations on validation games.")
    eval_games: int = Field(200, ge=0, le=10_000_000, description="Held-out games played when training ends; 0: none.")
    stop_on_collapse: bool = Field(False, description="End the run when the health watch sees entropy collapse.")


class TrackingSettings(Group):
    """Weights & Biases, and the event bus"""

    no_wandb: bool = Field(False, description="Do not log to W&B even if it is installed and set up.")
    project: str | None = Field(None, description="W&B project; giving one turns W&B on.")
    entity: str | None = Field(None, description="W&B entity (team).")
    no_artifact: bool = Field(False, description="Do not upload checkpoints to W&B.")
    rewind: bool = Field(False, description="On resume, also rewind W&B's history to the checkpoint's step.")
    bus: str | None = Field(None, description="Publish progress and checkpoints: embedded[:FILE] or nats://HOST:PORT.")
    full: bool = Field(False, description="Off a terminal: lines with all metrics, not the eight first ones.")


class OperatorSettings(Group):
    """Operators: databases, Prometheus, alerts"""

    questdb: str | None = Field(None, description="Send metrics and events to QuestDB at http://HOST:9000.")
    metrics_port: int | None = Field(None, ge=0, le=65_535, description="Show Prometheus metrics on this port.")
    metrics_host: str = Field("127.0.0.1", description="Address that port is opened on.")
    metrics_token_file: str | None = Field(
        None, description="Good tokens for that port, one per line; other machines need one."
    )
    alert_webhook: str | None = Field(
        None, description="POST alerts as JSON to this address; default: JIMBOT_ALERT_WEBHOOK, which no file keeps."
    )


class MemorySettings(Group):
    """Memory"""

    limit_gb: float = Field(
        8.0, gt=0, description="Memory of all processes of the run; near it: docs/operations/memory.md."
    )
    gradient_accumulation: int = Field(
        1,
        ge=1,
        le=10_000,
        description="Parts over which the gradients of a minibatch are accumulated: less memory, the same step.",
    )
    share: Literal["memory", "file_system"] = Field(
        "memory", description="Where collected experience lies: in memory, or in mapped files of the run directory."
    )


class LeagueSettings(Group):
    """League (games of two players)"""

    shares: dict[str, float] = Field(
        default_factory=dict,
        description="Games of two: {self, past, clone, exploiter: share of the games}; empty: the game's own opponent.",
    )
    members: list[str] = Field(
        default_factory=list, description="Exploiters (heuristic players, runs, checkpoints): heuristic,my-run."
    )
    past_interval: int = Field(20, ge=1, description="Updates between two past selves that are taken in.")

    @field_validator("members", mode="before")
    @classmethod
    def _names(cls, value: Any) -> Any:
        """Names as text, too: heuristic,my-run."""
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


class CurriculumSettings(Group):
    """Curriculum"""

    use: bool = Field(False, description="Play only so far at first (an ante, a stage), further when that goes well.")
    difficulty_schedule: dict[int, str] = Field(
        default_factory=dict, description="{step: easy, medium or hard}: a curriculum by the clock."
    )


class PopulationSettings(Group):
    """Population"""

    size: int = Field(
        0,
        ge=0,
        le=10_000,
        description="Train so many agents in turns; the worst go on from the best, mutated.",
    )
    interval: int | None = Field(
        None, ge=1, description="Steps each agent trains between two comparisons; default: 20 in a run."
    )
    games: int = Field(100, ge=1, description="Validation games that evaluate each turn.")
    quantile: float = Field(0.25, gt=0, le=0.5, description="Share that is replaced by as many of the best.")
    mutations: dict[str, Any] = Field(
        default_factory=dict, description="Population: {hyper-parameter: [low, high]} that mutate; default: a table."
    )


class DQNSettings(Group):
    """DQN"""

    learning_starts: int = Field(10_000, ge=0, description="Steps of random legal play before learning.")
    batch_size: int = Field(32, ge=1, description="Remembered steps per gradient step.")
    train_freq: int = Field(4, ge=1, description="One gradient step per so many steps of all games together.")
    target_update_interval: int = Field(10_000, ge=1, description="Steps between two copies to the target net.")
    exploration_fraction: float = Field(0.1, gt=0, le=1, description="Share of the run in which epsilon falls.")
    exploration_final_eps: float = Field(0.05, ge=0, le=1, description="Epsilon from then on.")
    n_step: int = Field(1, ge=1, le=100, description="Rewards summed before the target network is asked.")
    double_q: bool = Field(False, description="The net itself chooses the action its target net evaluates.")
    duelling: bool = Field(False, description="The position's value and the actions' leads are learned apart.")


class ReplaySettings(Group):
    """Replay (DQN)"""

    buffer_size: int = Field(
        100_000, ge=1, description="Steps remembered; with PPO places for decisions per update, which sets num-steps."
    )
    buffer_gb: float | None = Field(
        None, gt=0, description="Memory of a compressed replay; default: its part of memory-limit-gb."
    )
    kind: Literal["auto", "plain", "compressed"] = Field(
        "auto", description="How steps are remembered; auto: compressed with priorities or n-step, else plain."
    )
    prioritized: bool = Field(False, description="Learn more often from what surprises; rare events count.")
    priority_alpha: float = Field(0.6, gt=0, le=1, description="How much priorities count.")
    priority_beta: float = Field(
        0.4, ge=0, le=1, description="How much of their bias is corrected at first; all of it at the end."
    )
    rare_event_boosts: dict[str, float] = Field(
        default_factory=dict, description="Other factors for rare events, for instance {first_win: 20}."
    )


class OfflineSettings(Group):
    """Learning from what others played (BC, MARWIL, DQN)"""

    data: Path | None = Field(None, description="A dataset made by `jimbot record`.")
    from_bus: str | None = Field(
        None,
        description="Learn from games as they are published on this bus (DQN): embedded[:FILE] or nats://HOST:PORT.",
    )
    marwil_beta: float = Field(1.0, ge=0, description="MARWIL: how much better-than-expected play is preferred.")


class RaySettings(Group):
    """Ray"""

    address: str | None = Field(None, description="Cluster to join (auto, or host:port); default: start one here.")
    num_env_runners: int = Field(2, ge=1, le=10_000, description="Processes that play; each has its share of num-envs.")
    num_gpus: float = Field(0, ge=0, description="GPUs for learning.")
    num_gpus_per_env_runner: float = Field(0, ge=0, description="GPUs for each process that plays.")
    spill_gb: float = Field(4.0, gt=0, description="Disk that shared memory may overflow to, in the run directory.")
