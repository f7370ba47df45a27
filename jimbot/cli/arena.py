"""`jimbot arena`: a league on disk, with seeds drawn after its players were fixed and a proof of every game."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jimbot.cli.shared import terminal
from jimbot.cli.shared.command import adds_family
from jimbot.cli.shared.common import RUNS, JsonOption, PlanInDetail, RunsDirOption, keep_compiled, showing_progress
from jimbot.errors import JimbotError, UsageError

if TYPE_CHECKING:
    from jimbot.evaluation.arena import Arena

EXAMPLES = """jimbot arena new balatro --cell white --cell gold:stake=gold --games 100
jimbot arena add shipped balatro
jimbot arena add heuristic heuristic
jimbot arena add thinking balatro --plan 12
jimbot arena play   (draws seeds if there are none, plays what is missing; the same command goes on)
jimbot arena table
jimbot arena verify --share 0.1   (replays a tenth of all games)
jimbot arena page --output site"""
FOLDER = Path("arena")
FolderOption = Annotated[Path, "--folder", "Where the arena lies."]


def new(
    game: Annotated[str, "The game."],
    cell: Annotated[list[str] | None, "A set of options that is played: NAME, or NAME:OPTION=VALUE,…", "CELL"] = None,
    games: Annotated[int, "Games of each player per round and cell."] = 100,
    folder: FolderOption = FOLDER,
) -> None:
    """Begin an arena."""
    from jimbot.evaluation.arena import Arena

    arena = Arena.new(folder, game, _cells(cell or ["usual"]), games)
    terminal.say(f"The arena of {arena.game} is in {folder}, with {len(arena.cells)} cells of {games} games.")


def add(
    name: Annotated[str, "What the player is called in the table."],
    player: Annotated[
        str, "A run, checkpoint, file, heuristic player, grpc:// address, or a game for its shipped policy."
    ],
    plan: PlanInDetail = PlanInDetail(),
    folder: FolderOption = FOLDER,
    runs_dir: RunsDirOption = RUNS,
) -> None:
    """Enter a player: what it is is fixed from now on."""
    arena = _opened(folder)
    found = arena.add(name, player, plan.plan, plan.settings, runs_dir)
    late = f" {len(arena.rounds)} rounds were drawn before; its games there are marked." if arena.rounds else ""
    terminal.say(f"{name} is in the arena as {found.hash}.{late}")


def play(
    draw: Annotated[bool, "--new-round", "Draw new seeds first."] = False,
    folder: FolderOption = FOLDER,
    runs_dir: RunsDirOption = RUNS,
) -> None:
    """Play what is missing; Ctrl+C keeps what was played."""
    from jimbot.evaluation.arena import missing_units, play_unit

    arena = _opened(folder)
    arena.require_same_rules()
    keep_compiled(arena.entry)
    if draw or not arena.rounds:
        drawn = arena.draw()
        terminal.note(f"Seeds of round {len(arena.rounds)} were drawn for {len(drawn.players)} players.")
    left = list(missing_units(arena))
    games, done = sum(len(unit.seeds) for unit in left), 0
    with showing_progress("Playing", quiet=False) as progress:
        for unit in left:
            arena.add_results(play_unit(arena, unit, runs_dir))
            done += len(unit.seeds)
            progress(done, games)
    terminal.say(f"{done:,} games were played; nothing is missing now. See: jimbot arena table")


def table(folder: FolderOption = FOLDER, as_json: JsonOption = False) -> None:
    """Show who is how good."""
    from jimbot.evaluation.arena.standings import standings, standings_table

    arena = _opened(folder)
    rows = standings(arena)
    if as_json:
        terminal.print_json({"game": arena.game, "engine": arena.engine, "rows": [row.to_dict() for row in rows]})
    elif not rows:
        terminal.note("No games were played yet: jimbot arena play")
    else:
        terminal.console().print(standings_table(rows, arena.entry.spec.ladder))
        if any(row.known for row in rows):
            terminal.note("* entered after some of its seeds were drawn.")


def verify(
    share: Annotated[float, "Of all games, drawn at random; 1: every one."] = 1.0,
    with_player: Annotated[
        bool, "--with-player", "Ask the player again at every position, too; policies only."
    ] = False,
    folder: FolderOption = FOLDER,
    runs_dir: RunsDirOption = RUNS,
    as_json: JsonOption = False,
) -> None:
    """Replay games and compare how they end. Exit code 1 when any does not."""
    import numpy as np

    from jimbot.evaluation.arena import check_result

    if not 0 < share <= 1:
        raise UsageError(f"--share is {share:g}; expected a number above 0, at most 1.")
    arena = _opened(folder)
    arena.require_same_rules()
    keep_compiled(arena.entry)
    results = list(arena.results())
    picked = np.random.default_rng().permutation(len(results))[: max(1, round(share * len(results)))]
    bad = []
    with showing_progress("Replaying", quiet=as_json) as progress:
        for done, number in enumerate(picked.tolist(), 1):
            checked = check_result(arena, results[number], with_player, runs_dir)
            bad += [] if checked.good else [checked]
            progress(done, len(picked))
    if as_json:
        wrong = [{"player": one.result.player, "seed": one.result.seed, "complaint": one.complaint} for one in bad]
        terminal.print_json({"games": len(results), "checked": len(picked), "wrong": wrong})
    else:
        for one in bad:
            terminal.complain(f"{one.result.player}, seed {one.result.seed}, {one.result.cell}: {one.complaint}.")
        terminal.say(f"{len(picked) - len(bad):,} of {len(picked):,} games replayed end as recorded.")
    if bad:
        raise typer.Exit(JimbotError.exit_code)


def page(
    output: Annotated[Path, "The folder to write."] = Path("site"),
    folder: FolderOption = FOLDER,
) -> None:
    """Write the arena as pages to put anywhere."""
    from jimbot.evaluation.arena.site import write_site

    arena = _opened(folder)
    count = write_site(arena, output)
    terminal.say(f"The pages are in {output}, with {count:,} games; open {output / 'index.html'}.")


def _opened(folder: Path) -> Arena:
    from jimbot.evaluation.arena import Arena

    return Arena(folder)


def _cells(texts: list[str]) -> dict[str, dict[str, Any]]:
    """Of "gold:stake=gold,deck=blue"."""
    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, _, options = text.partition(":")
        if not name.isidentifier() or name in found:
            raise UsageError(f"--cell '{text}' has the name '{name}'; expected a word of its own for every cell.")
        found[name] = terminal.pairs([one for one in options.split(",") if one], "--cell")
    return found


register = adds_family(
    "arena", "Compare players in a league whose every game is a proof.", EXAMPLES, new, add, play, table, verify, page
)
