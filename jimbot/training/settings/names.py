"""Names of settings: what people type and files keep is flat (`lr`), what code reads is grouped (`settings.ppo.lr`).

Flat, dotted and nested spellings mean the same everywhere:

    lr: 1e-3          ppo.lr: 1e-3          ppo: {lr: 1e-3}

Other libraries' names for the same thing (`learning_rate`) are understood as well (`other_names`).
`paths` derives the flat names from the records; `FLAT` holds the few that are not simply the field's own name. Flat is
what run directories, checkpoints, searches and populations keep, so groups can change without a new format.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

from jimbot.errors import SettingsError, UnknownNameError
from jimbot.training.settings.groups import Group
from jimbot.training.settings.other_names import GONE, RENAMED

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
    "planning.tries": "plan",
    "planning.player": "plan_with",
    "planning.settings": "plan_settings",
    "population.size": "population",
    "population.interval": "population_interval",
    "population.games": "population_games",
    "population.quantile": "population_quantile",
    "memory.limit_gb": "memory_limit_gb",
    "dqn.batch_size": "replay_batch_size",
    "replay.kind": "replay",
    "replay.prioritized": "prioritized_replay",
    "offline.data": "offline_data",
}
"""Path of a setting → its flat name, where that is not the last part of the path."""

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
    for name, value in values.items():
        group, _, field = str(name).partition(".")
        if (field or name) in GONE:
            if value:
                raise SettingsError(f"There is no setting '{name}' any more: {GONE[field or name]}. Leave it out.")
        elif field:
            flat |= _of_group(record, group, {field: value})
        elif _is_group(record, name, value):
            flat |= _of_group(record, name, value)
        else:
            flat[_known(record, name)] = value
    return flat


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
        own = field if field in group.model_fields else RENAMED.get(field, field)
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
