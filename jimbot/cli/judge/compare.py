"""`jimbot compare`: which of several policies is better, on the very same games."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jimbot.cli.shared import terminal
from jimbot.cli.shared.playing import Playing, with_playing

if TYPE_CHECKING:
    from jimbot.evaluation import Comparison, CrossPlay

EPILOG = """Examples:

jimbot compare my-run other-run --games 1000

jimbot compare my-run heuristic random

jimbot compare runs/a/checkpoints/000000032768 runs/a/checkpoints/000000065536 --json

jimbot compare hackmatrix my-run --metric stage   (against the policy that comes with JimBot)

jimbot compare my-run random --games 1000 --metric blinds_cleared --stake gold

jimbot compare my-run other-run --picture table.png   (two players: everybody meets everybody)"""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(with_playing(compare))


def compare(
    policies: Annotated[
        list[str], typer.Argument(help="Two or more runs, checkpoints, .npz, .onnx, scripted players or games.")
    ],
    game: Annotated[str | None, typer.Option(help="The game, if none of the policies says it.")] = None,
    metric: Annotated[str, typer.Option(help="return, length, win_rate or a statistic of the game.")] = "return",
    scripted: Annotated[
        bool, typer.Option(help="In games of two players: the game's scripted players take part.")
    ] = True,
    picture: Annotated[
        Path | None, typer.Option(help="In games of two players: write the table as a picture (.png, .svg, .pdf).")
    ] = None,
    *,
    playing: Playing,
) -> None:
    """Compare policies on the very same games.

    Shows the difference of each pair, seed by seed, with an interval that says whether it is luck. In games of two
    players everybody meets everybody: who beats whom, and ratings with intervals.
    """
    from jimbot.errors import UsageError
    from jimbot.evaluation import common_game, cross_play
    from jimbot.evaluation import compare as judge
    from jimbot.evaluation.duel_picture import check_picture
    from jimbot.games import game_entry
    from jimbot.training.session.compile_cache import use_compile_cache

    files: dict[str, Any] = {"runs_root": playing.runs_dir, "which": playing.which}
    game = game or common_game(policies, **files)
    if game_entry(game).two_sides is not None:
        if picture is not None:
            check_picture(picture)
        with playing.shown(f"Playing {len(policies)} policies") as how:
            crossed = cross_play(policies, game, scripted=scripted, options=playing.options, **files, **how)
        if picture is not None:
            terminal.note(f"The picture is in {crossed.save_picture(picture)}.")
        _show(crossed, playing.as_json)
        return
    if picture is not None:
        raise UsageError(f"Game '{game}' is for one player; --picture shows who beats whom. Leave it out.")
    use_compile_cache()
    with playing.shown(f"Playing {len(policies)} policies") as how:
        comparison = judge(policies, game, metric=metric, options=playing.options or None, **files, **how)
    _show(comparison, playing.as_json)


def _show(compared: Comparison | CrossPlay, as_json: bool) -> None:
    if as_json:
        terminal.print_json(compared.to_dict())
    else:
        terminal.console().print(compared)
