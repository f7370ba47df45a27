"""`jimbot runs`: what was trained here, and tidying it up."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from jimbot.cli.shared import terminal
from jimbot.cli.shared.command import adds_family
from jimbot.cli.shared.common import RUNS, JsonOption, RunsDirOption, complete_run
from jimbot.foreign_text import visible, visible_line

if TYPE_CHECKING:
    from jimbot.runs.catalogue import RunDetails, RunSummary

EXAMPLES = """jimbot runs
jimbot runs --game balatro --json
jimbot runs show my-run
jimbot runs rename my-run best-so-far
jimbot runs prune my-run --keep-last 1   (the newest checkpoint and the best one stay)
jimbot runs delete old-run --yes"""

RunArgument = Annotated[str, typer.Argument(help="Name of the run.", autocompletion=complete_run)]
GameFilter = Annotated[str | None, "--game", "Only runs of this game."]
TagFilter = Annotated[str | None, "--tag", "Only runs with this tag."]
YesOption = Annotated[bool, "--yes", "-y", "Do not ask."]
SHOWN_SETTINGS = ("num_envs", "num_steps", "total_timesteps", "lr", "gamma", "network", "seed", "init_from")


def runs(
    ctx: typer.Context,
    game: GameFilter = None,
    tag: TagFilter = None,
    runs_dir: RunsDirOption = RUNS,
    as_json: JsonOption = False,
) -> None:
    if ctx.invoked_subcommand is None:
        list_(game, tag, runs_dir, as_json)


def list_(
    game: GameFilter = None, tag: TagFilter = None, runs_dir: RunsDirOption = RUNS, as_json: JsonOption = False
) -> None:
    """List the runs, as `jimbot runs` alone does."""
    from jimbot.runs.catalogue import list_runs

    found = [one for one in list_runs(runs_dir) if game in (None, one.game) and (tag is None or tag in one.tags)]
    if as_json:
        terminal.print_json([one.to_dict() for one in found])
    elif not found:
        terminal.note(f"There are no runs under {runs_dir} yet. The first: jimbot train hackmatrix --minutes 10")
    else:
        terminal.console().print(_table(found))


def show(run: RunArgument, runs_dir: RunsDirOption = RUNS, as_json: JsonOption = False) -> None:
    """Show what is known about a run."""
    from jimbot.runs.catalogue import details

    found = details(runs_dir, run)
    if as_json:
        terminal.print_json({**found.__dict__, "summary": found.summary.to_dict()})
    else:
        terminal.console().print(_page(found, runs_dir))


def rename(
    run: RunArgument,
    new_name: Annotated[str, "Its new name."],
    runs_dir: RunsDirOption = RUNS,
) -> None:
    """Give a run another name."""
    from jimbot.runs.catalogue import rename_run

    rename_run(runs_dir, run, new_name)
    terminal.say(f"Run '{run}' is now '{new_name}'.")


def delete(run: RunArgument, yes: YesOption = False, runs_dir: RunsDirOption = RUNS) -> None:
    """Delete a run with everything in it."""
    from jimbot.runs.catalogue import delete_run, summary

    found = summary(runs_dir, run)
    what = f"run '{run}' ({found.game}, step {found.step:,}, {size(found.size)})"
    if not yes and not typer.confirm(visible(f"Delete {what} for ever?")):
        raise typer.Abort
    delete_run(runs_dir, run)
    terminal.say(f"Deleted {what}.")


def tag(
    run: RunArgument,
    tags: Annotated[list[str] | None, typer.Argument(help="Tags to add.")] = None,
    remove: Annotated[list[str] | None, "A tag to take away."] = None,
    runs_dir: RunsDirOption = RUNS,
) -> None:
    """Add tags to a run, or take them away."""
    from jimbot.runs.catalogue import tag_run

    left = tag_run(runs_dir, run, tuple(tags or ()), tuple(remove or ()))
    terminal.say(f"Tags of '{run}': {', '.join(left) or 'none'}.")


def note(
    run: RunArgument,
    text: Annotated[str, "What to remember; '' takes the note away."],
    runs_dir: RunsDirOption = RUNS,
) -> None:
    """Write down what is to be remembered about a run."""
    from jimbot.runs.catalogue import note_run

    note_run(runs_dir, run, text)
    terminal.say(f"Note of '{run}' {'kept' if text.strip() else 'taken away'}.")


def prune(
    run: RunArgument,
    keep_last: Annotated[int, "Newest checkpoints that stay; the best one always does."] = 1,
    yes: YesOption = False,
    runs_dir: RunsDirOption = RUNS,
) -> None:
    """Delete old checkpoints of a run."""
    from jimbot.runs.catalogue import details, prune_run

    count = len(details(runs_dir, run).checkpoints)
    if not yes and not typer.confirm(f"'{run}' has {count} checkpoints. Keep the {keep_last} newest and the best?"):
        raise typer.Abort
    gone, gained = prune_run(runs_dir, run, keep_last)
    terminal.say(f"Deleted {len(gone)} of {count} checkpoints of '{run}', {size(gained)}.")


WORDS = "List the runs, or show, rename, delete, tag, note or prune one of them."
register = adds_family("runs", WORDS, EXAMPLES, show, rename, delete, tag, note, prune, list_, alone=runs)


# --- pictures ---


def _table(found: list[RunSummary]) -> RenderableType:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), show_edge=False)
    table.add_column("run", style="bold", overflow="fold")
    for name in ("game", "learner"):
        table.add_column(name, overflow="fold")
    for name in ("step", "best", "age", "size"):
        table.add_column(name, justify="left" if name == "best" else "right", overflow="fold")
    for one in found:
        name = visible_line(one.name + "".join(f" #{tag}" for tag in one.tags))
        age_text = Text("live", "green") if one.live is not None else Text(age(time.time() - one.changed))
        best = str(one.best) if one.best is not None else ""
        learner = f"{one.learner} {one.algorithm}"
        table.add_row(name, one.game, learner, short(one.step), best, age_text, size(one.size))
    return table


def _page(found: RunDetails, runs_dir: Path) -> RenderableType:
    one = found.summary
    state = (
        f"live, process {one.live}" if one.live is not None else f"last written {age(time.time() - one.changed)} ago"
    )
    facts: dict[str, Any] = {
        "game": one.game,
        "learner": f"{one.learner} {one.algorithm}",
        "step": f"{one.step:,}",
        "best": one.best or "not evaluated yet",
        "state": state,
        "size": f"{size(one.size)}, {len(found.checkpoints)} checkpoints",
        "tags": ", ".join(one.tags),
        "note": found.note,
        "newest": found.checkpoints[-1] if found.checkpoints else "",
        "best so far": found.best_checkpoint or "",
        "settings": ", ".join(f"{name} {found.config[name]}" for name in SHOWN_SETTINGS if found.config.get(name)),
    }
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        if str(value):
            table.add_row(name, str(value))
    where = terminal.quoted(one.name if runs_dir == RUNS else found.path)
    then = [f"jimbot watch {where}", f"jimbot analyze {where}"]
    events = [Text(line, style="dim") for line in found.events]
    return Group(Text(one.name, style="bold"), table, *events, Text("Next: " + "   ".join(then), style="cyan"))


def age(seconds: float) -> str:
    """How long ago, in one unit.

    >>> age(42), age(7200), age(200_000)
    ('42 s', '2 h', '2 d')
    """
    for unit, word in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{int(seconds // unit)} {word}"
    return f"{max(0, int(seconds))} s"


def size(count: int) -> str:
    """Bytes for people.

    >>> size(900), size(12_345_678)
    ('900 B', '12.3 MB')
    """
    for unit, word in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= unit:
            return f"{count / unit:.3g} {word}"
    return f"{count} B"


def short(step: int) -> str:
    """Steps for a narrow column.

    >>> short(4_554_752), short(32_768), short(12)
    ('4.55 M', '32.8 k', '12')
    """
    for unit, word in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if step >= unit:
            return f"{step / unit:.3g} {word}"
    return str(step)
