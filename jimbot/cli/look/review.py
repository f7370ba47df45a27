"""`jimbot review`: which move lost the game, and who loses how much where."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jimbot.cli.shared import common, terminal
from jimbot.cli.shared.command import adds
from jimbot.errors import JimbotError, UsageError
from jimbot.plugins import provided

if TYPE_CHECKING:
    from jimbot.evaluation.review import Review
    from jimbot.games.hooks.people import LoggedGame
    from jimbot.policies.players import Player

EXAMPLES = """jimbot review game.json
jimbot review live/balatro-20261117-034512.jsonl --html review.html   (one file to share)
jimbot review game.json --moves 20-40 --seconds 60
jimbot review game.json --know-the-seed   (what this seed would have given)
jimbot review --batch logs --by player --json"""
BY = ("player", "file", "game")


def review(
    file: Annotated[
        Path | None, typer.Argument(help="A game of --record, or a log of games as other programs write them.")
    ] = None,
    run: Annotated[int, "Of a log with several games, which."] = 1,
    reviewer: Annotated[
        str | None, "--with", "Whose chances count: a run or policy that was evaluated; else the one shipped."
    ] = None,
    moves: Annotated[
        str | None, "Try out only these moves, for instance 20-40; the others are looked up.", "A-B"
    ] = None,
    seconds: Annotated[float, "Time for simulations, per game."] = 25.0,
    know_the_seed: Annotated[bool, "Deal nothing anew: what would have been better with this very seed."] = False,
    html: Annotated[
        Path | None, "Write the review as a page of its own: board, curve, moves; needs no network."
    ] = None,
    batch: Annotated[Path | None, "Review every game below this folder.", "FOLDER"] = None,
    by: Annotated[str, "With --batch: a row per player, file or game."] = "player",
    runs_dir: common.RunsDirOption = common.RUNS,
    as_json: common.JsonOption = False,
) -> None:
    """Say what each move of a game cost, and what would have been better.

    The chance to win after every move, with its interval; moves in doubt are tried out against others in deals in which
    everything the player could not know is dealt anew. Ctrl+C keeps what is there. A game that was reviewed before
    is shown at once.
    """
    if (file is None) == (batch is None):
        raise UsageError("Give one file to review, or a folder with --batch.")
    if seconds < 0:
        raise UsageError(f"--seconds is {seconds:g}; expected 0 or more.")
    if by not in BY:
        raise UsageError(f"--by is '{by}'; expected {', '.join(BY)}.")
    from jimbot.evaluation.review.reading import files_of, read_games

    how = _How(reviewer, seconds, _moves(moves), know_the_seed, runs_dir, as_json)
    if batch is not None:
        if html is not None:
            raise UsageError("--html writes one review; leave it out with --batch.")
        _review_all(files_of(batch), batch, by, how, as_json)
        return
    assert file is not None
    if html is not None:
        from jimbot.runs.files import check_target

        check_target(html, "--html")
    found = read_games(file)
    if not 1 <= run <= len(found):
        raise UsageError(f"--run is {run}; '{file}' has {len(found)} games.")
    document = how.reviewed(found[run - 1])
    if html is not None:
        from jimbot.runs.files import write_atomically

        page = provided("jimbot.flags", "review_page")(document, how.scenes(found[run - 1]))
        write_atomically(html, page.encode())
        terminal.note(f"The review is in {terminal.quoted(html)}; open it in a browser.")
    if as_json:
        terminal.print_json(document)
    else:
        from jimbot.evaluation.review.report import review_tables

        terminal.console().print(review_tables(document))


register = adds(review, EXAMPLES)


def _moves(text: str | None) -> range | None:
    if text is None:
        return None
    first, dash, last = text.partition("-")
    if not (first.isdigit() and (not dash or last.isdigit()) and 1 <= int(first) <= int(last or first)):
        raise UsageError(f"--moves is '{text}'; expected a range such as 20-40, or one move.")
    return range(int(first), int(last or first) + 1)


@dataclass(frozen=True)
class _How:
    """How games are reviewed."""

    reviewer: str | None
    seconds: float
    moves: range | None
    know_the_seed: bool
    runs_dir: Path
    quiet: bool

    def player(self, game: str) -> Player:
        from jimbot.games.contract import game_entry
        from jimbot.policies.players import find_player

        common.keep_compiled(game_entry(game))
        return find_player(self.reviewer or game, game if self.reviewer else None, runs_root=self.runs_dir)

    def reviewed(self, game: LoggedGame) -> dict[str, Any]:
        from jimbot.evaluation.review.kept import reviewed

        with terminal.standing(self.quiet) as stand:
            stand("Looking the positions up (the first time on a machine compiles the game)")
            return reviewed(
                game, self.player(game.recorded.game), self.seconds, self.moves, self.know_the_seed, self.runs_dir,
                lambda review: stand(_standing(review, self.seconds)),
            )  # fmt: skip

    def scenes(self, game: LoggedGame) -> list[Any]:
        from jimbot.evaluation.review import GamePositions

        return GamePositions(game.recorded, self.player(game.recorded.game).options).scenes


def _standing(review: Review, seconds: float) -> str:
    tried = sum(one.cost is not None for one in review.verdicts)
    doubtful = sum(bool(one.candidates) for one in review.verdicts)
    return f"{tried} of {doubtful} moves in doubt tried out, {review.seconds:.0f} of {seconds:.0f} s"


def _review_all(files: list[Path], folder: Path, by: str, how: _How, as_json: bool) -> None:
    """Every game that can be read; what cannot is said and left out."""
    from jimbot.evaluation.review.kept import by_group
    from jimbot.evaluation.review.reading import read_games
    from jimbot.evaluation.review.report import batch_table

    documents: list[dict[str, Any]] = []
    with suppress(KeyboardInterrupt):  # what is there is shown
        for number, file in enumerate(files, 1):
            try:
                games = read_games(file)
            except JimbotError as problem:
                terminal.note(f"Left out: {problem}")
                continue
            for game in games:
                document = how.reviewed(game)
                documents.append({**document, "file": str(file.relative_to(folder))})
            terminal.note(f"{number} of {len(files)} files, {len(documents)} games reviewed.")
    if not documents:
        raise UsageError(f"There is no game below '{folder}' that can be reviewed.")
    rows = by_group(documents, by)
    if as_json:
        terminal.print_json({"by": by, "rows": rows, "reviews": documents})
    else:
        terminal.console().print(batch_table(rows, by))
