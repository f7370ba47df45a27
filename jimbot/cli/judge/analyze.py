"""`jimbot analyze`: one page about a policy, to be opened in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jimbot.cli.shared import terminal
from jimbot.cli.shared.options import AgainstOption, GameOption, PolicyArgument, share
from jimbot.cli.shared.playing import Playing, with_playing
from jimbot.cli.shared.start import keep_compiled

EPILOG = """Examples:

jimbot analyze my-run   (writes runs/my-run/report.html)

jimbot analyze runs/my-run/checkpoints/000000032768 --games 1000

jimbot analyze random --game balatro --option deck=blue --output random.html"""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(with_playing(analyze))


def analyze(
    policy: PolicyArgument,
    game: GameOption = None,
    output: Annotated[Path | None, typer.Option(help="The file to write; without it report.html of the run.")] = None,
    examples: Annotated[int, typer.Option(help="Games told in words.", min=0)] = 3,
    against: AgainstOption = None,
    *,
    playing: Playing,
) -> None:
    """Write a report about a policy: one HTML page that needs nothing else.

    How it learned, how far it comes, what it does and takes, where its games end, and some of them in words.
    """
    from jimbot.evaluation import choose_seeds
    from jimbot.evaluation.report import analyze as write
    from jimbot.policies.players import find_player

    claimed = None if against is None else share(against)
    # Wrong seeds are told before anything is loaded.
    choose_seeds(playing.seeds, playing.games, playing.seeds_file)
    choice = find_player(policy, game, playing.options, playing.runs_dir, playing.which)
    keep_compiled(choice.entry)
    with playing.shown(f"Playing {choice.name}") as how:
        report = write(
            policy,
            choice.game,
            output=output,
            examples=examples,
            options=choice.options,
            against=claimed,
            runs_root=playing.runs_dir,
            which=playing.which,
            **how,
        )
    if playing.as_json:
        terminal.print_json({"report": str(report.path), **report.evaluation.to_dict()})
    else:
        terminal.say(f"The report is {report.path}; open it in a browser.")
