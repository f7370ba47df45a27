"""`jimbot improve`: expert iteration. The flags, the run and its end are those of `jimbot train`."""

from __future__ import annotations

from typing import Any

import typer

from jimbot.cli.learn.train import NOT_FLAGS, OWN_FLAGS, train
from jimbot.cli.shared.flags import with_settings_flags
from jimbot.cli.shared.settings_help import SettingsCommand
from jimbot.training.settings.record import TrainSettings

EPILOG = """Examples:

jimbot improve balatro --minutes 60   (from the policy that comes with JimBot)

jimbot improve hackmatrix --init-from my-run --plan 16 --run sharper

jimbot improve balatro --plan 32 --plan-with heuristic   (the script plays the tries out)

jimbot improve hackmatrix --init-from none   (from nothing)

The same command continues a run that was stopped; --fresh starts over. Beside PPO, by steps or hours: jimbot ui"""
NOTHING = "none"
FIXED = ("learner", "algorithm")


def register(app: typer.Typer) -> None:
    command = with_settings_flags(improve, TrainSettings, OWN_FLAGS, (*NOT_FLAGS, *FIXED))
    app.command(cls=SettingsCommand, epilog=EPILOG)(command)


def improve(game: str, init_from: str | None = None, **flags: Any) -> None:
    """Let a policy plan ahead, learn what its plans found, and plan again.

    It starts from the policy shipped with the game, or from --init-from RUN; none: from nothing.
    """
    from jimbot.runs.shipped import shipped_games

    if init_from is None and game in shipped_games() and not flags.get("resume"):
        init_from = game
    start = None if init_from == NOTHING else init_from
    train(game, init_from=start, learner="improve", algorithm="ExIt", **flags)
