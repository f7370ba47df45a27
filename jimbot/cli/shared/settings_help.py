"""The help of commands that have a flag for every setting: names in full at 80 columns, and the game's own defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from itertools import pairwise
from typing import Any

from jimbot.cli.shared.command import Command, given
from jimbot.cli.shared.flags import DEFAULT, RUN, default_text


class SettingsCommand(Command):
    """`jimbot train hackmatrix --help` shows the defaults of HackMatrix's preset."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        game, values = _preset_of(given(ctx))
        shown = copy(self)
        shown.params = [_shown(parameter, game, values) for parameter in self.params]
        Command.format_help(shown, ctx, formatter)

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)
        if option is not None:
            option.rich_help_panel = RUN
        return option


def _preset_of(given: Sequence[str]) -> tuple[str, Mapping[str, Any]]:
    """The game that the command line names and what its preset says, for the learner and algorithm beside it."""
    from jimbot.training.learners import learner_of
    from jimbot.training.presets import guided, preset
    from jimbot.training.settings.layers import TEACHES

    named = dict(pairwise(given))
    algorithm = named.get("--algorithm", "PPO")
    learner = named.get("--learner", learner_of(algorithm) or "jax")
    taught = (learner, algorithm) == (TEACHES, "PPO") and named.get("--teacher") != "none"
    games = (
        (word, preset(word, learner, algorithm) | (guided(word) if taught else {}))
        for word in given
        if not word.startswith("-")
    )
    return next(((game, values) for game, values in games if values), ("", {}))


def _shown(parameter: Any, game: str, values: Mapping[str, Any]) -> Any:
    """A flag as the help has it: its --no-… twin takes room and says nothing new."""
    shown = copy(parameter)
    shown.secondary_opts = []
    value = values.get(parameter.name)
    if value is not None and not parameter.help.endswith(default_text(value)):
        shown.help = parameter.help.partition(DEFAULT)[0] + default_text(value, f" for {game}")
    return shown
