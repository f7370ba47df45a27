"""Which games a command that judges plays, and how: one record, whose fields are flags of each such command."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, Literal, get_type_hints

from jimbot.cli.shared import terminal
from jimbot.cli.shared.options import (
    RUNS,
    BestOption,
    GamesOption,
    JsonOption,
    NumEnvsOption,
    OptionOption,
    RunsDirOption,
    SeedListOption,
    SeedsFileOption,
    SeedsOption,
    StochasticOption,
    showing_progress,
)
from jimbot.cli.shared.signature import as_command

PARAMETER = "playing"


@dataclass(frozen=True)
class Playing:
    """What was asked for."""

    games: GamesOption = None
    seed: SeedListOption = None
    seeds: SeedsOption = "held-out"
    seeds_file: SeedsFileOption = None
    stochastic: StochasticOption = False
    option: OptionOption = None
    num_envs: NumEnvsOption = 256
    best: BestOption = False
    runs_dir: RunsDirOption = RUNS
    as_json: JsonOption = False

    def __post_init__(self) -> None:
        terminal.require_positive(games=self.games, num_envs=self.num_envs)

    @property
    def bank(self) -> str | list[str]:
        return self.seed or self.seeds

    @property
    def options(self) -> dict[str, Any]:
        return terminal.pairs(self.option or [])

    @property
    def which(self) -> Literal["best", "latest"]:
        return "best" if self.best else "latest"

    @contextmanager
    def shown(self, what: str) -> Generator[dict[str, Any]]:
        """A bar while games are played; gives what every function of `jimbot.evaluation` is told about playing."""
        with showing_progress(what, quiet=self.as_json) as progress:
            yield {
                "games": self.games,
                "bank": self.bank,
                "seeds_file": self.seeds_file,
                "deterministic": not self.stochastic,
                "num_envs": self.num_envs,
                "progress": progress,
            }


def with_playing(function: Callable[..., None]) -> Callable[..., None]:
    """The command as Typer sees it: in place of its parameter `playing` a flag for every field of the record."""
    hints, record = get_type_hints(function, include_extras=True), get_type_hints(Playing, include_extras=True)
    flags = {one.name: (record[one.name], one.default) for one in fields(Playing)}
    parameters: dict[str, tuple[Any, Any]] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        parameters |= flags if name == PARAMETER else {name: (hints[name], parameter.default)}

    def call(**values: Any) -> None:
        playing = Playing(**{name: values.pop(name) for name in flags})
        function(**values, playing=playing)

    return as_command(call, function, parameters)
