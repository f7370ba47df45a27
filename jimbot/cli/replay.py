"""`jimbot replay`: a recorded game, move by move in words, as data, or as the table at one step."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jimbot.cli import screen, terminal
from jimbot.cli.start import keep_compiled
from jimbot.errors import UsageError

if TYPE_CHECKING:
    from jimbot.games.balatro.transcript import Transcript
    from jimbot.games.recording import Recording

EPILOG = """Examples:

jimbot replay game.json

jimbot replay game.json --step 12   (the table before move 13)

jimbot replay game.json --json   (every move with what it did and the state after it)"""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(replay)


def replay(
    file: Annotated[Path, typer.Argument(help="A game recorded by play or watch (--record), or from Python.")],
    step: Annotated[int | None, typer.Option(help="Show the table after this many moves.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Play a recorded game again.

    Every move is checked against the rules, and the end against the recorded one.
    """
    if not file.exists():
        raise UsageError(f"'{file}' does not exist; expected a transcript.")
    from rich.console import Console

    from jimbot.games.recording import FORMAT, Recording

    document = _read(file)
    if document.get("format") == FORMAT:
        _replay_actions(Recording.from_document(document, f"'{file}'"), step, as_json)
        return
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


def _read(file: Path) -> dict[str, Any]:
    """The file as far as it is JSON; what is wrong with it is said by whoever knows its format."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _replay_actions(recording: Recording, step: int | None, as_json: bool) -> None:
    """A game written down as its actions."""
    from jimbot.games import game_entry

    count = len(recording.actions)
    if step is not None and not 0 <= step <= count:
        raise UsageError(f"--step is {step}; expected 0 to {count}, the number of moves.")
    entry = game_entry(recording.game)
    keep_compiled(entry)
    moves: list[dict[str, Any]] = []
    picture, console = None, terminal.console()
    for number, (game, action) in enumerate(recording.replay()):
        if moves:
            terms = dict(zip(entry.spec.reward_terms, map(float, game.reward_terms[0]), strict=True))
            moves[-1]["reward"] = {name: amount for name, amount in terms.items() if amount}
            moves[-1]["over"] = bool(game.terminated[0] or game.truncated[0])
        if number == step:
            picture = console.render_str("") if moves and moves[-1]["over"] else screen.board(entry, game)
        if action is not None:
            words = game.describe_action(0, action)
            moves.append({"number": number + 1, "action": recording.actions[number], "words": words})
    if as_json:
        shown = moves if step is None else moves[step - 1 : step] if step else []
        terminal.print_json({**asdict(recording), "moves": shown})
    elif step is not None:
        console.print(picture)
        console.print(f"next: {moves[step]['words']}" if step < count else "the end of the recording", markup=False)
    else:
        console.print(f"{recording.game}, seed {recording.seed}, {count} moves", style="bold", soft_wrap=True)
        for move in moves:
            gained = ", ".join(f"{name} {amount:+.2f}" for name, amount in move["reward"].items())
            line = f"{move['number']:4}  {move['words']}{': ' + gained if gained else ''}"
            console.print(line, soft_wrap=True, markup=False)
        over = "over" if moves and moves[-1]["over"] else "not over"
        console.print(f"The game is {over}, with a return of {recording.total_return:+.2f}.", style="bold")


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
    from jimbot.games.balatro.view.describe import describe_move
    from jimbot.games.balatro.view.move_text import read_move
    from jimbot.games.balatro.view.table import picture

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
