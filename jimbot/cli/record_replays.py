"""`jimbot record vgc --replays …`: what people did in public replays, as a dataset for `jimbot clone`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from jimbot.cli import terminal
from jimbot.cli.options import showing_progress
from jimbot.errors import UsageError

GAME = "vgc"


def record_replays(
    game: str, replays: Path, output: Path | None, options: Mapping[str, Any], overwrite: bool, as_json: bool
) -> None:
    """Reads the replays and tells what they hold."""
    if game != GAME:
        raise UsageError(f"Game '{game}' has no public replays; --replays is for {GAME}.")
    path = output or Path(f"{GAME}-replays.npz")
    if path.exists() and not overwrite:
        raise UsageError(f"{path} exists already. Give another --output, or --overwrite to replace it.")
    from jimbot.games import game_entry
    from jimbot.games.vgc.options import Options
    from jimbot.games.vgc.reader import Reader
    from jimbot.games.vgc.replays import read_replays, replay_files
    from jimbot.training.imitation.replays import write_replays

    files = replay_files(replays)
    spec = game_entry(GAME).spec
    chosen = spec.parse_options(dict(options))
    assert isinstance(chosen, Options)
    with closing(Reader(chosen)) as reader, showing_progress("Reading replays", quiet=as_json) as progress:
        made = write_replays(
            spec, read_replays(reader, files), path, options=options, progress=lambda done: progress(done, len(files))
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
    console.print(f"  [cyan]jimbot clone {path}[/]")
