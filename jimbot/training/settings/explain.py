"""`--explain-config`: what each line of a settings file became, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from rich.table import Table

from jimbot.training.settings.names import flat_values
from jimbot.training.settings.other_names import BATCH, DERIVED
from jimbot.training.settings.record import TrainSettings
from jimbot.training.settings.rllib_names import RLLIB_NAMES, left_out

OMITTED = "left out: the default"
RUNNERS = "ray: processes that play"
PARTS = {
    "model": {"custom_model_config": ("memgraph_embedding_dim", RLLIB_NAMES["custom_model_config"].why)},
    "env_config": {"difficulty_schedule": ("difficulty_schedule", "easy, medium, hard: beat ante 2, 4, 8")},
}
"""Entries of a name that become settings of their own, and why."""


class Mapped(NamedTuple):
    """One line of it."""

    given: str
    value: Any
    ours: str  # empty: nothing needs setting
    becomes: Any
    why: str
    today: str = ""  # what RLlib calls it by now


def explain(layer: Mapping[str, Any], settings: TrainSettings) -> list[Mapped]:
    """What each name in the file became in the resolved `settings`, then what it leaves out."""
    lines = [line for name, value in layer.items() for line in _lines(name, value, settings)]
    for name, value in left_out(layer).items():
        lines += [line._replace(why=OMITTED) for line in _lines(name, value, settings)]
    return lines


def _lines(name: str, value: Any, settings: TrainSettings) -> list[Mapped]:
    """What one name became; some become several settings."""
    if name == "batch_size" or name in DERIVED:
        ours, why = (DERIVED[name][0], "in our measure") if name in DERIVED else _batch(settings)
        return [Mapped(name, value, ours, settings[ours], why)]
    if name not in RLLIB_NAMES:
        own = flat_values(TrainSettings, {name: value})
        return [Mapped(name, given, ours, settings[ours], "") for ours, given in own.items()]
    ours, today, why = RLLIB_NAMES[name]
    lines = [Mapped(name, value, ours, settings[ours] if ours else None, why, today)]
    inside = value if isinstance(value, Mapping) else {}
    if name == "num_workers":
        lines.append(Mapped(name, value, "num_env_runners", settings["num_env_runners"], RUNNERS, today))
    for part, (ours, why) in PARTS.get(name, {}).items():
        if part in inside:
            lines.append(Mapped(part, inside[part], ours, settings[ours], why))
    return lines


def _batch(settings: TrainSettings) -> tuple[str, str]:
    """What `batch_size` is called here, and why."""
    ours = BATCH.get(settings.algorithm)
    return (ours, "the same thing") if ours else ("num_minibatches", "batch ÷ minibatch, made to divide")


def mapping_table(lines: list[Mapped]) -> Table:
    """The lines for a terminal, readable at 80 columns."""
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("in the file", "becomes", "why"):
        table.add_column(title, overflow="fold")
    for line in lines:
        table.add_row(_pair(line.given, line.value), _pair(line.ours, line.becomes), line.why)
    return table


def _pair(name: str, value: Any) -> str:
    """A setting and its value; of a mapping only the name, since its entries have lines of their own."""
    return (name if isinstance(value, Mapping) else f"{name}: {value}") if name else "nothing"
