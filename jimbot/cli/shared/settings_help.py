"""The help of commands that have a flag for every setting: names in full at 80 columns, and the game's own defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from itertools import pairwise
from typing import Any

import typer

from jimbot.cli.shared import terminal
from jimbot.cli.shared.command import Command, given
from jimbot.cli.shared.flags import DEFAULT, RUN, default_text

ALL = "--help-all"
COMMON = {
    "minutes": "stop this call after so many minutes",
    "total_timesteps": "steps at which the run is complete",
    "run": "name of the run; otherwise from game and learner",
    "num_envs": "games played at once",
    "num_steps": "steps of each game between two updates",
    "lr": "learning rate",
    "gamma": "discount per step",
    "ent_coef": "weight of the entropy bonus",
    "clip_eps": "PPO's clip range",
    "update_epochs": "passes over each batch",
    "num_minibatches": "minibatches per pass",
    "network": "kind of network",
    "hidden_dim": "width of its layers; 0: what suits the kind",
    "algorithm": "PPO, A2C, DQN, APPO, IMPALA, BC, MARWIL",
    "learner": "jax, sb3, ray, or auto",
    "teacher": "a player to learn from, too; none: nobody",
    "init_from": "start from a checkpoint or run",
    "seed": "fixes every random choice",
    "eval_games": "held-out games at the end",
    "config": "YAML file with settings; --set name=value: any of them",
}
"""The twenty that people change, in words that fit beside them."""


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


class TrainCommand(SettingsCommand):
    """`jimbot train --help` is one screen of what people change; `--help-all` has every flag."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        words = given(ctx)
        if ALL in words:
            super().format_help(ctx, formatter)
        else:
            formatter.write(_one_screen(*_preset_of(words)))


def show_all(ctx: typer.Context, wanted: bool) -> None:
    if wanted:
        terminal.say(ctx.get_help().rstrip("\n"))
        raise typer.Exit


def _one_screen(game: str, values: Mapping[str, Any]) -> str:
    """The settings people change, one line each, with the defaults of the game if one is named."""
    lines = [f"Usage: jimbot train {game or 'GAME'} [FLAGS]   Train an agent, then judge it."]
    defaults = _defaults()
    for name, words in COMMON.items():
        default = values.get(name, defaults.get(name))
        shown = "" if default in (None, [], {}) else f" ({default})"
        lines.append(f"  --{name.replace('_', '-'):<17}{words}{shown}")
    lines += [f"In brackets: defaults{f' of {game}' if game else ''}. Ctrl+C saves; the same command continues."]
    lines += [f"Examples: jimbot train {game or 'GAME'} --minutes 10 --run mine"]
    lines += [f"All flags: {ALL}    Search them: jimbot settings WORD", ""]
    return "\n".join(lines)


def _defaults() -> dict[str, Any]:
    from jimbot.training.settings.names import group_of, paths
    from jimbot.training.settings.record import TrainSettings

    found = {}
    for name, path in paths(TrainSettings).items():
        record = group_of(TrainSettings, path[0]) or TrainSettings
        found[name] = record.model_fields[path[-1]].get_default(call_default_factory=True)
    return found


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
