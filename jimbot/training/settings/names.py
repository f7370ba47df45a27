"""Names of settings: what people type and files keep is flat (`lr`), what code reads is grouped (`settings.ppo.lr`).

Flat, dotted and nested spellings mean the same everywhere:

    lr: 1e-3          ppo.lr: 1e-3          ppo: {lr: 1e-3}

Other libraries' names for the same thing (`learning_rate`) are understood as well: those of Stable-Baselines3, CleanRL,
the training framework and the VGC trainer wherever settings are given; RLlib's are one table that `--explain-config`
prints. A layer that says `env` is a file in RLlib's format: what it leaves out takes the format's documented defaults.

`paths` derives the flat names from the records; `FLAT` holds the few that are not simply the field's own name. Flat is
what run directories, checkpoints, searches and populations keep, so groups can change without a new format.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from pydantic import BaseModel

from jimbot.errors import SettingsError, UnknownNameError
from jimbot.training.settings.batch import choice_of, nearest_divisor
from jimbot.training.settings.groups import Group

_log = logging.getLogger("jimbot.training")

RENAMED = {
    # Stable-Baselines3
    "learning_rate": "lr",
    "n_steps": "num_steps",
    "n_epochs": "update_epochs",
    "clip_range": "clip_eps",
    "n_envs": "num_envs",
    "timesteps": "total_timesteps",
    "save_freq": "save_interval",
    "n_eval_episodes": "eval_games",
    # CleanRL
    "clip_coef": "clip_eps",
    "exp_name": "run_name",
    "env_id": "game",
    "wandb_project_name": "project",
    "wandb_entity": "entity",
    "end_e": "exploration_final_eps",
    "target_network_frequency": "target_update_interval",
    "train_frequency": "train_freq",
    # RLlib's newer word, and the training framework's records
    "grad_clip": "max_grad_norm",
    "entropy_coefficient": "ent_coef",
    "policy_net_arch": "policy_layers",
    "value_net_arch": "value_layers",
    "save_dir": "checkpoint_dir",
    "checkpoint_freq": "save_interval",
    "eval_freq": "eval_interval",
    "wandb_project": "project",
    "gradient_pieces": "gradient_accumulation",  # ours, before
    # the VGC trainer
    "ppo_epochs": "update_epochs",
}
"""Name elsewhere → ours, where the value is the same."""

BATCH = {"DQN": "replay_batch_size", "BC": "num_steps", "MARWIL": "num_steps"}
"""What `batch_size` means, by algorithm: of all others the samples of one minibatch."""

Known = Callable[[str], Any]
DERIVED: dict[str, tuple[str, Callable[[Any, Known], Any]]] = {
    "value_function_coefficient": ("vf_coef", lambda value, _: 2 * float(value)),
}
"""Name elsewhere → ours and its value: a weight of the whole squared error."""

CLIPPED_VALUE = "clipping the step of the value gave no gain"
GONE = {
    "rival_coef": "predicting the opponent gave nothing",
    "rare_weight": "weighing rare steps more lost half a blind",
    "deep_starts": "beginning games deep gave no gain",
    **dict.fromkeys(("clip_value", "clip_range_vf", "clip_vloss"), CLIPPED_VALUE),
}
"""Settings that were, and what measuring them said; they are accepted and change nothing."""
OFF = ("", "none", "false", "0", "0.0", "{}")

UNKNOWN_HERE = {
    **dict.fromkeys(("policy_kwargs", "net_arch"), "network, hidden_dim and num_layers, or policy_layers"),
    **dict.fromkeys(("norm_adv", "normalize_advantage"), "nothing: advantages are always normalised"),
    **dict.fromkeys(
        ("tau", "gradient_steps", "start_e"), "target_update_interval, train_freq and exploration_fraction"
    ),
    **dict.fromkeys(("verbose", "torch_deterministic", "capture_video", "n_stack"), "nothing; leave it out"),
    **dict.fromkeys(("device", "cuda"), "nothing: the learner takes the device it finds"),
    "tensorboard_log": "nothing: every run has its TensorBoard files (tensorboard --logdir runs)",
    **dict.fromkeys(("track", "use_wandb"), "project, which turns W&B on"),
    **dict.fromkeys(("use_sde", "sde_sample_freq", "rms_prop_eps", "use_rms_prop"), "nothing; leave it out"),
}
"""Names that have no counterpart, and what to give instead."""


FLAT = {
    "network.kind": "network",
    "league.shares": "league",
    "league.members": "league_members",
    "curriculum.use": "use_curriculum",
    "teacher.policy": "teacher",
    "teacher.coef": "teacher_coef",
    "teacher.updates": "teacher_updates",
    "teacher.share": "teacher_share",
    "teacher.play": "teacher_play",
    "teacher.play_updates": "teacher_play_updates",
    "teacher.shaping": "teacher_shaping",
    "advice.use": "adviser",
    "advice.settings": "adviser_settings",
    "advice.coef": "adviser_coef",
    "planning.simulations": "plan",
    "planning.player": "plan_with",
    "planning.settings": "plan_settings",
    "population.size": "population",
    "population.interval": "population_interval",
    "population.games": "population_games",
    "population.quantile": "population_quantile",
    "memory.limit_gb": "memory_limit_gb",
    "dqn.batch_size": "replay_batch_size",
    "exploration.kind": "exploration",
    "replay.kind": "replay",
    "replay.prioritized": "prioritized_replay",
    "offline.data": "offline_data",
}
"""Path of a setting → its flat name, where that is not the last part of the path."""

BATCH_BEFORE = ("autoscale", "auto_tune", "grow_batch")
"""Three settings that became one (`batch`)."""

OLD_FIELDS = {"tries": "simulations"}
"""Fields of groups by names they had."""

Path = tuple[str, ...]


@cache
def paths(record: type[BaseModel]) -> dict[str, Path]:
    """Flat name → where the setting is in the record."""
    found: dict[str, Path] = {}
    for name in record.model_fields:
        group = group_of(record, name)
        inside = [(name,)] if group is None else [(name, field) for field in group.model_fields]
        found |= {FLAT.get(".".join(path), path[-1]): path for path in inside}
    return found


def group_of(record: type[BaseModel], name: str) -> type[Group] | None:
    """The group that a field of the record holds, if it holds one."""
    kind = record.model_fields[name].annotation if name in record.model_fields else None
    return kind if isinstance(kind, type) and issubclass(kind, Group) else None


def flat_values(record: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values under their flat names, whichever way they are written; an unknown name names the nearest known one.

    >>> from jimbot.training.settings.record import TrainSettings
    >>> flat_values(TrainSettings, {"ppo": {"lr": 1e-3}, "network.kind": "mlp", "seed": 7, "population": 4})
    {'lr': 0.001, 'network': 'mlp', 'seed': 7, 'population': 4}
    """
    flat: dict[str, Any] = {}
    before: dict[str, Any] = {}
    for name, value in values.items():
        group, _, field = str(name).partition(".")
        if (field or name) in BATCH_BEFORE and "batch" in paths(record):
            before[field or name] = value
        elif (field or name) in GONE:
            if str(value).lower() not in OFF:
                warn_gone(field or name)
        elif field:
            flat |= _of_group(record, group, {field: value})
        elif _is_group(record, name, value):
            flat |= _of_group(record, name, value)
        else:
            flat[_known(record, name)] = value
    if (choice := choice_of(before)) is not None:
        flat.setdefault("batch", choice)
    return flat


@cache
def warn_gone(name: str) -> None:
    """Once in a process."""
    _log.warning("%s is ignored: %s, so it is no more (docs/learners/training-log.md).", name, GONE[name])


def grouped(record: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as the record's constructor takes them.

    >>> from jimbot.training.settings.record import TrainSettings
    >>> grouped(TrainSettings, {"lr": 1e-3, "ent_coef": 0, "seed": 7})
    {'ppo': {'lr': 0.001, 'ent_coef': 0}, 'seed': 7}
    """
    nested: dict[str, Any] = {}
    for name, value in flat_values(record, values).items():
        *group, field = paths(record)[name]
        place = nested.setdefault(group[0], {}) if group else nested
        place[field] = value
    return nested


def flat_name(record: type[BaseModel], path: Path) -> str:
    """The flat name of what lies at a path, or inside it: an entry of a mapping has its key appended."""
    length = 2 if group_of(record, path[0]) else 1
    names = {where: name for name, where in paths(record).items()}
    return ".".join((names.get(path[:length], ".".join(path[:length])), *path[length:]))


def _is_group(record: type[BaseModel], name: str, value: Any) -> bool:
    """Whether `name: value` is a whole group. `league: {self: 1}` is the setting of that name, `league: {members: …}`
    the group."""
    if isinstance(value, BaseModel):
        return group_of(record, name) is not None
    group = group_of(record, name)
    if group is None or not isinstance(value, Mapping):
        return False
    return name not in paths(record) or any(field in group.model_fields for field in value)


def _of_group(record: type[BaseModel], name: str, value: Any) -> dict[str, Any]:
    group = group_of(record, name)
    if group is None:
        groups = [field for field in record.model_fields if group_of(record, field)]
        raise UnknownNameError("group of settings", name, groups)
    fields = value.model_dump(exclude_unset=True) if isinstance(value, BaseModel) else value
    found = {}
    for field, inside in fields.items():
        own = field if field in group.model_fields else (RENAMED | OLD_FIELDS).get(field, field)
        if own not in group.model_fields:
            raise UnknownNameError("setting", f"{name}.{field}", [f"{name}.{known}" for known in group.model_fields])
        found[flat_name(record, (name, own))] = inside
    return found


def _known(record: type[BaseModel], name: Any) -> str:
    name = name if name in paths(record) else RENAMED.get(name, name)
    if name in paths(record):
        return name
    group = group_of(record, name)
    if group is not None:
        raise SettingsError(
            f"'{name}' is a group of settings ({', '.join(group.model_fields)}); give it as `{name}: {{name: value}}`, "
            f"or one of them as {name}.{next(iter(group.model_fields))}."
        )
    known = [*paths(record), *map(".".join, paths(record).values()), *RENAMED]
    raise UnknownNameError("setting", str(name), known)


SAME = "the same thing"


class Name(NamedTuple):
    """What a name of RLlib's means."""

    ours: str  # empty where nothing needs setting
    today: str  # what RLlib itself calls it by now
    why: str = SAME


GAMES = "workers × games of each"
RLLIB_NAMES: dict[str, Name] = {
    "env": Name("game", "env", "the id of the game"),
    "env_config": Name("game_options", "env_config", "options of the game; difficulty_schedule is a curriculum"),
    "num_workers": Name("num_envs", "num_env_runners", GAMES),
    "num_envs_per_worker": Name("num_envs", "num_envs_per_env_runner", GAMES),
    "num_envs_per_env_runner": Name("num_envs", "num_envs_per_env_runner", GAMES),
    "train_batch_size": Name("num_steps", "train_batch_size_per_learner", "batch ÷ games"),
    "train_batch_size_per_learner": Name("num_steps", "train_batch_size_per_learner", "batch ÷ games"),
    "rollout_fragment_length": Name("num_steps", "rollout_fragment_length", "used where there is no train_batch_size"),
    "sgd_minibatch_size": Name("num_minibatches", "minibatch_size", "batch ÷ minibatch, made to divide"),
    "minibatch_size": Name("num_minibatches", "minibatch_size", "batch ÷ minibatch, made to divide"),
    "num_sgd_iter": Name("update_epochs", "num_epochs"),
    "num_epochs": Name("update_epochs", "num_epochs"),
    "clip_param": Name("clip_eps", "clip_param"),
    "entropy_coeff": Name("ent_coef", "entropy_coeff"),
    "vf_loss_coeff": Name("vf_coef", "vf_loss_coeff", "doubled: ours weighs half the squared error, RLlib the whole"),
    "lambda": Name("gae_lambda", "lambda_"),
    "lambda_": Name("gae_lambda", "lambda_"),
    "grad_clip": Name("max_grad_norm", "grad_clip"),
    "num_gpus_per_worker": Name("num_gpus_per_env_runner", "num_gpus_per_env_runner"),
    "num_gpus_per_learner": Name("num_gpus", "num_gpus_per_learner"),
    "custom_model": Name("network", "rl_module_spec"),
    "model": Name("network", "rl_module_spec", "its custom_model"),
    "custom_model_config": Name(
        "memgraph_embedding_dim", "model_config", "numbers in a row per joker, from the knowledge graph"
    ),
    "batch_mode": Name("", "batch_mode", "truncate_episodes is what every learner here does"),
    "framework": Name("", "framework", "the learner decides"),
    "callbacks": Name("callbacks", "callbacks_class"),
}
PLAIN = tuple(
    name for name, meaning in RLLIB_NAMES.items()
    if meaning.why == SAME and name != "model"
)  # fmt: skip

# The format's documented defaults: (value, names that say the same otherwise). Its rates are constant, its passes full.
DEFAULTS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "num_workers": (2, ("num_env_runners", "num_envs")),
    "num_envs_per_worker": (4, ("num_envs_per_env_runner", "num_envs")),
    "train_batch_size": (4000, ("train_batch_size_per_learner", "rollout_fragment_length", "num_steps")),
    "sgd_minibatch_size": (128, ("minibatch_size", "num_minibatches")),
    "num_sgd_iter": (30, ("num_epochs", "update_epochs")),
    "lr": (5e-5, ()),
    "anneal_lr": (False, ()),
    "gamma": (0.99, ()),
    "lambda": (0.95, ("lambda_", "gae_lambda")),
    "clip_param": (0.2, ("clip_eps",)),
    "entropy_coeff": (0.01, ("ent_coef",)),
    "target_kl": (0.0, ()),
}


def names_elsewhere() -> set[str]:
    """What Stable-Baselines3, CleanRL, RLlib and the documents call settings where we have another name, or none.

    >>> {"learning_rate", "entropy_coeff"} <= names_elsewhere(), "lr" in names_elsewhere()
    (True, False)
    """
    return {*RENAMED, *DERIVED, *GONE, *BATCH_BEFORE, *UNKNOWN_HERE, *RLLIB_NAMES, *REMOVED, "batch_size"}


# Names RLlib once had: what to give instead.
REMOVED = {
    **dict.fromkeys(("num_rollout_workers", "remote_worker_envs"), "num_env_runners (processes) and num_envs (games)"),
    **dict.fromkeys(("sample_batch_size", "sample_timeout_s", "min_train_timesteps_per_iteration"), "num_steps"),
    **dict.fromkeys(("timesteps_per_iteration", "min_iter_time_s", "timesteps_total"), "log_interval"),
    **dict.fromkeys(("num_cpus_per_worker", "num_cpus_for_driver"), "num_env_runners; each takes one CPU"),
    **dict.fromkeys(("horizon", "soft_horizon", "no_done_at_end"), "an option of the game: games end by their rules"),
    **dict.fromkeys(("observation_filter", "normalize_actions", "clip_actions"), "normalize_obs, on learner sb3"),
    "clip_rewards": "reward_transform: symlog",
    "vf_clip_param": "reward_transform: symlog, which keeps values small",
    **dict.fromkeys(("kl_coeff", "kl_target"), "clip_eps; the health watch tells when approx_kl is high"),
    **dict.fromkeys(("vf_share_layers", "fcnet_hiddens"), "network, hidden_dim and num_layers"),
    **dict.fromkeys(("use_gae", "use_critic", "simple_optimizer", "shuffle_sequences"), "nothing: it is always so"),
    **dict.fromkeys(("multi_gpu", "num_multi_gpu_tower_stacks", "num_data_loader_buffers"), "num_gpus"),
    **dict.fromkeys(("evaluation_interval", "evaluation_duration"), "eval_interval and eval_games"),
    **dict.fromkeys(("evaluation_num_episodes", "evaluation_num_workers", "evaluation_config"), "eval_games"),
    **dict.fromkeys(("lr_schedule", "entropy_coeff_schedule"), "anneal_lr, or a fixed number"),
    "prioritized_replay_alpha": "priority_alpha",
    "prioritized_replay_beta": "priority_beta",
    **dict.fromkeys(("exploration_config", "explore"), "exploration_fraction and exploration_final_eps, or ent_coef"),
    **dict.fromkeys(("dueling", "replay_buffer_config"), "duelling, buffer_size, priority_alpha and priority_beta"),
    **dict.fromkeys(("create_env_on_driver", "monitor", "log_level", "multiagent"), "nothing; leave it out"),
    **dict.fromkeys(("input", "input_", "output"), "offline_data, a file of `jimbot record`"),
}


def from_rllib(layer: Mapping[str, Any], default: Callable[[str], Any]) -> dict[str, Any]:
    """The layer in our names; ours pass through. `default` is what a setting of ours is when nobody gives it."""
    for name in layer:
        if name in REMOVED:
            raise SettingsError(f"'{name}' is a name RLlib gave up or that means nothing here. Use {REMOVED[name]}.")
        if name in UNKNOWN_HERE:
            raise SettingsError(f"'{name}' of other libraries is no setting here. Use {UNKNOWN_HERE[name]}.")
    layer = _renamed({**left_out(layer), **layer}, default)
    values = {name: value for name, value in layer.items() if name not in RLLIB_NAMES}
    if len(values) == len(layer):
        return values
    if "env" in layer:
        values["game"] = game_of(layer["env"])
    for theirs in PLAIN:
        if theirs in layer:
            values[RLLIB_NAMES[theirs].ours] = layer[theirs]
    if layer.get("batch_mode", "truncate_episodes") != "truncate_episodes":
        raise SettingsError(
            f"batch_mode is {layer['batch_mode']}; JimBot's learners cut episodes at the end of a batch and carry on "
            "in the next. Use truncate_episodes."
        )
    if layer.get("framework", "torch") not in ("torch", "jax"):
        raise SettingsError(f"framework is {layer['framework']}; JimBot learns with torch (sb3, ray) or jax.")
    model = layer.get("model") or {}
    if not isinstance(model, Mapping):
        raise SettingsError(f"model is {model}; expected a mapping with custom_model. Give for instance network: mlp.")
    if "custom_model" in model:
        values["network"] = model["custom_model"]
    values |= _model_config({**(model.get("custom_model_config") or {}), **(layer.get("custom_model_config") or {})})
    if "env_config" in layer:
        options = dict(layer["env_config"] or {})
        if "difficulty_schedule" in options:
            values["difficulty_schedule"] = options.pop("difficulty_schedule")
        values["game_options"] = options
    try:
        if "vf_loss_coeff" in layer:
            values["vf_coef"] = 2 * float(layer["vf_loss_coeff"])
        return values | _batch(layer, values, default)
    except (TypeError, ValueError) as problem:
        raise SettingsError(f"A number of the RLlib-style settings cannot be read: {problem}.") from problem


def _renamed(layer: Mapping[str, Any], default: Callable[[str], Any]) -> dict[str, Any]:
    """The layer with the names of other libraries than RLlib in ours; two names for one setting are refused."""
    algorithm = str(layer.get("algorithm", default("algorithm"))).upper()
    values: dict[str, Any] = {}
    meant: dict[str, str] = {}  # setting → the name it was given by
    for name, value in layer.items():
        ours = BATCH.get(algorithm, "minibatch_size") if name == "batch_size" else RENAMED.get(name, name)
        if ours in meant and values[ours] != value:
            raise SettingsError(f"{meant[ours]} and {name} are one setting ({ours}); give it once.")
        meant[ours] = name
        values[ours] = value
    try:
        for name, (ours, meaning) in DERIVED.items():
            if name in values:
                values[ours] = meaning(values.pop(name), lambda ours: values.get(ours, default(ours)))
    except (TypeError, ValueError) as problem:
        raise SettingsError(f"{name} is {layer[name]!r}; expected a number.") from problem
    return values


def left_out(layer: Mapping[str, Any]) -> dict[str, Any]:
    """The documented defaults of what a file in RLlib's format does not say."""
    if "env" not in layer or str(layer.get("algorithm", "PPO")).upper() != "PPO":
        return {}
    said = {part for name, value in layer.items() for part in (str(name).split(".")[-1], *_inside(value))}
    return {name: value for name, (value, others) in DEFAULTS.items() if not said & {name, *others}}


def _inside(value: Any) -> list[str]:
    return [str(name) for name in value] if isinstance(value, Mapping) else []


def game_of(env: Any) -> Any:
    """The game a name of an environment means.

    >>> game_of("BalatroEnv"), game_of("probe"), game_of("HackMatrixEnv")
    ('balatro', 'probe', 'hackmatrix')
    """
    from jimbot.games.contract import available_games  # NumPy, which the command line's help can do without

    short = str(env).removesuffix("Env").lower()
    return short if env not in available_games() and short in available_games() else env


def _batch(layer: Mapping[str, Any], values: Mapping[str, Any], default: Callable[[str], Any]) -> dict[str, Any]:
    """Games, steps and minibatches from RLlib's way of giving batch sizes."""
    derived: dict[str, Any] = {}

    def known(name: str) -> int:
        return int(derived.get(name, values.get(name, default(name))))

    workers = layer.get("num_workers")
    per_worker = layer.get("num_envs_per_worker", layer.get("num_envs_per_env_runner"))
    if workers is not None:
        derived["num_env_runners"] = max(1, int(workers))
    if workers is not None or per_worker is not None:
        derived["num_envs"] = known("num_env_runners") * int(per_worker or 1)
    if (batch := layer.get("train_batch_size", layer.get("train_batch_size_per_learner"))) is not None:
        derived["num_steps"] = max(1, int(batch) // known("num_envs"))
    elif (fragment := layer.get("rollout_fragment_length")) is not None:
        derived["num_steps"] = int(fragment)
    if (minibatch := layer.get("sgd_minibatch_size", layer.get("minibatch_size"))) is not None:
        total = known("num_envs") * known("num_steps")
        derived["num_minibatches"] = nearest_divisor(total, max(1, round(total / int(minibatch))))
    return derived


def _model_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of custom_model_config. Rows are named after the graph there, so they begin as its rows."""
    for name in config:
        if name != "memgraph_embedding_dim":
            raise SettingsError(f"custom_model_config has '{name}'; JimBot knows memgraph_embedding_dim. Leave it out.")
    return {**config, "graph_embeddings": "trainable"} if config.get("memgraph_embedding_dim") else dict(config)
