"""`jimbot replay`: a recorded Balatro game, move by move in words, as data, or as the table at one step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jimbot.cli import terminal
from jimbot.errors import UsageError

if TYPE_CHECKING:
    from jimbot.games.balatro.transcript import Transcript

EPILOG = """Examples:

jimbot replay game.json

jimbot replay game.json --step 12   (the table before move 13)

jimbot replay game.json --json   (every move with what it did and the state after it)"""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(replay)


def replay(
    file: Annotated[Path, typer.Argument(help="A transcript, as written by jimbot.games.balatro.transcript.")],
    step: Annotated[int | None, typer.Option(help="Show the table after this many moves.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Play a recorded Balatro game again.

    Every move is checked against the rules, and the end against the recorded one.
    """
    if not file.exists():
        raise UsageError(f"'{file}' does not exist; expected a transcript.")
    from rich.console import Console

    from jimbot.games.balatro.transcript import Transcript

    transcript = Transcript.load(file)
    if step is not None and not 0 <= step <= len(transcript.moves):
        raise UsageError(f"--step is {step}; expected 0 to {len(transcript.moves)}, the number of moves.")
    with Console(stderr=True, quiet=as_json).status("Playing (the first start on a machine compiles the game)…"):
        transcript.play()  # whatever is wrong is told before anything is printed
    if as_json:
        terminal.print_json(_document(transcript, step))
    elif step is not None:
        _show_table(transcript, step)
    else:
        _print_log(transcript)


def _print_log(transcript: Transcript) -> None:
    from jimbot.games.balatro.transcript import header

    game = transcript.play()
    console = terminal.console()
    console.print(header(transcript), style="bold", soft_wrap=True)
    for line in game.steps:
        console.print(str(line), soft_wrap=True, markup=False)
    end = game.transcript().end
    phase = end["phase"].replace("_", " ")
    console.print(f"Ends in ante {end['ante']}, round {end['round']}, with ${end['money']}: {phase}.", style="bold")


def _show_table(transcript: Transcript, step: int) -> None:
    from jimbot.games.balatro.describe import describe_move
    from jimbot.games.balatro.moves import read_move
    from jimbot.games.balatro.render import picture

    console = terminal.console()
    for number, (game, move, last) in enumerate(transcript.replay()):
        if number == step:
            if last is not None:
                console.print(f"after {last}", style="dim", soft_wrap=True, markup=False)
            console.print(picture(game.g))
            if move:
                console.print(f"next: {describe_move(game.g, *read_move(move))}", soft_wrap=True, markup=False)
            return


def _document(transcript: Transcript, only: int | None) -> dict[str, Any]:
    steps = []
    for number, (game, _, last) in enumerate(transcript.replay()):
        if only is None or number == only:
            done = {} if last is None else {"move": last.move, "words": last.words, "effects": list(last.effects)}
            steps.append({"step": number, **done, "state": game.state()})
    return {
        "seed": transcript.seed,
        "deck": transcript.deck,
        "stake": transcript.stake,
        "challenge": transcript.challenge,
        "endless": transcript.endless,
        "game_version": transcript.game_version,
        "end": transcript.end,
        "steps": steps,
    }
