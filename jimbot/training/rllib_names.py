"""RLlib-style names in settings files, and what each becomes here; one table, which `--explain-config` prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from jimbot.errors import SettingsError

SAME = "the same thing"
RLLIB_NAMES: dict[str, tuple[str, str]] = {
    # RLlib's name: (ours, why); ours is empty where nothing needs setting
    "env": ("game", SAME),
    "env_config": ("game_options", "options of the game; difficulty_schedule is a curriculum"),
    "num_workers": ("num_envs", "games = workers × games per worker; ours are stepped in one batch, without processes"),
    "num_envs_per_worker": ("num_envs", "games = workers × games per worker"),
    "train_batch_size": ("num_steps", "steps of each game per update = batch ÷ games"),
    "rollout_fragment_length": ("num_steps", "used where train_batch_size is not given"),
    "sgd_minibatch_size": ("num_minibatches", "batch ÷ minibatch, the nearest number that divides the batch"),
    "num_sgd_iter": ("update_epochs", SAME),
    "clip_param": ("clip_eps", SAME),
    "entropy_coeff": ("ent_coef", SAME),
    "vf_loss_coeff": ("vf_coef", "doubled: ours weighs half the squared error, RLlib the whole"),
    "lambda": ("gae_lambda", SAME),
    "grad_clip": ("max_grad_norm", SAME),
    "custom_model": ("network", SAME),
    "model": ("network", "its custom_model"),
    "custom_model_config": ("", "graph embeddings are not part of observations; nothing to size"),
    "batch_mode": ("", "truncate_episodes is what every learner here does"),
    "framework": ("", "the learner decides: sb3 is torch, jax is jax"),
    "num_gpus": ("", "jax and torch use the devices they find"),
    "callbacks": ("", "metrics, checkpoints and evaluation are always on"),
}


class Mapped(NamedTuple):
    """One line of `--explain-config`."""

    given: str
    value: Any
    ours: str
    becomes: Any
    why: str


def from_rllib(layer: Mapping[str, Any], default: Callable[[str], Any]) -> dict[str, Any]:
    """The layer in our names; ours pass through. `default` is what a setting of ours is when nobody gives it."""
    values = {name: value for name, value in layer.items() if name not in RLLIB_NAMES}
    if len(values) == len(layer):
        return values
    for theirs in ("env", "num_sgd_iter", "clip_param", "entropy_coeff", "lambda", "grad_clip", "custom_model"):
        if theirs in layer:
            values[RLLIB_NAMES[theirs][0]] = layer[theirs]
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


def _batch(layer: Mapping[str, Any], values: Mapping[str, Any], default: Callable[[str], Any]) -> dict[str, Any]:
    """Games, steps and minibatches from RLlib's way of giving batch sizes."""
    derived: dict[str, Any] = {}

    def known(name: str) -> int:
        return int(derived.get(name, values.get(name, default(name))))

    workers, per_worker = layer.get("num_workers"), layer.get("num_envs_per_worker")
    if workers is not None or per_worker is not None:
        derived["num_envs"] = max(1, int(workers or 1)) * int(per_worker or 1)
    if (batch := layer.get("train_batch_size")) is not None:
        derived["num_steps"] = max(1, int(batch) // known("num_envs"))
    elif (fragment := layer.get("rollout_fragment_length")) is not None:
        derived["num_steps"] = int(fragment)
    if (minibatch := layer.get("sgd_minibatch_size")) is not None:
        total = known("num_envs") * known("num_steps")
        derived["num_minibatches"] = nearest_divisor(total, max(1, round(total / int(minibatch))))
    return derived


def nearest_divisor(total: int, wanted: int) -> int:
    return min((n for n in range(1, total + 1) if total % n == 0), key=lambda n: (abs(n - wanted), n))


def explain(layer: Mapping[str, Any], settings: Any) -> list[Mapped]:
    """What each name given became in the resolved `settings`."""
    lines = []
    for name, value in layer.items():
        ours, why = RLLIB_NAMES.get(name, (name, SAME))
        lines.append(Mapped(name, value, ours, getattr(settings, ours) if ours else None, why))
        if name == "env_config" and "difficulty_schedule" in (value or {}):
            schedule = value["difficulty_schedule"]
            why = "easy, medium, hard: beat ante 2, 4, 8"
            lines.append(
                Mapped("difficulty_schedule", schedule, "difficulty_schedule", settings.difficulty_schedule, why)
            )
    return lines


def mapping_table(lines: list[Mapped]) -> Any:
    """The lines as a table for the terminal."""
    from rich.table import Table

    table = Table("in the file", "value", "becomes", "value", "why", box=None, header_style="bold")
    for line in lines:
        becomes = "" if line.becomes is None else str(line.becomes)
        table.add_row(line.given, str(line.value), line.ours or "nothing", becomes, line.why)
    return table
