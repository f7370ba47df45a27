"""`jimbot record GAME --replays …`: what people did in public replays, as a dataset for `jimbot clone`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jimbot.cli.shared import terminal
from jimbot.cli.shared.options import showing_progress
from jimbot.errors import UsageError


def record_replays(
    game: str,
    replays: Path,
    output: Path | None,
    options: Mapping[str, Any],
    masks: bool,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Reads the replays and tells what they hold."""
    from jimbot.games.contract import game_entry, games_with
    from jimbot.training.imitation.public_games import write_replays

    entry = game_entry(game)
    if entry.public_replays is None:
        known = " and ".join(games_with("public_replays"))
        raise UsageError(f"Game '{game}' has no public replays; --replays is for {known}.")
    path = output or Path(f"{game}-replays.npz")
    if path.exists() and not overwrite:
        raise UsageError(f"{path} exists already. Give another --output, or --overwrite to replace it.")
    chosen = entry.spec.parse_options(dict(options))
    with (
        entry.public_replays(replays, chosen) as found,
        showing_progress("Reading replays", quiet=as_json) as progress,
    ):
        made = write_replays(
            entry.spec,
            found.games,
            path,
            options=options,
            masks=masks,
            progress=lambda done: progress(done, found.count),
        )
    info = made.info
    if as_json:
        terminal.print_json({
            "dataset": str(path), "bytes": path.stat().st_size, "sure": made.sure, "unexplained": made.unexplained,
            "skipped": dict(made.skipped), **info.model_dump(exclude={"chunks"}),
        })  # fmt: skip
        return
    console = terminal.console()
    for reason, count in made.skipped.items():
        terminal.note(f"{count} left out: {reason}")
    console.print(
        f"{path}: {info.games:,} battles, {info.rows:,} decisions in {path.stat().st_size / 1e6:.1f} MB, "
        f"{made.sure / info.rows:.0%} known for sure, the others as sets of orders; {made.unexplained:,} that no "
        "legal order explains were left out. Next:"
    )
    terminal.print_next([(f"jimbot clone {terminal.quoted(path)}", "a policy that does the same")])
