"""`jimbot up`: everything that is installed, at once, with one view of how it is."""

from __future__ import annotations

import json
import signal
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.live import Live
from rich.table import Table
from rich.text import Text

from jimbot.cli.shared import terminal
from jimbot.cli.shared.command import adds
from jimbot.cli.shared.common import RUNS, RunsDirOption, ports_of

if TYPE_CHECKING:
    from jimbot.services.stack import Status, Supervisor

EXAMPLES = """jimbot up
jimbot up --watch-run my-run   (serves the run's best policy, while it trains and afterwards)
jimbot up hackmatrix --without host --port ui=8601
jimbot up --once --json   (starts everything, says how it is, ends it: does this installation work?)
Components: bus, serve, ui, graph, events, host. Logs: runs/.up/NAME.log. Ctrl+C ends all of them."""
BEAT = 0.5  # seconds
FOLDER = ".up"
COLOURS = {"well": "green", "starting": "yellow", "not installed": "dim"}


def up(
    policy: Annotated[
        list[str] | None, typer.Argument(help="Policies to serve, as for jimbot serve; default: the shipped one.")
    ] = None,
    watch_run: Annotated[str | None, "Serve a run's best policy, and every better one."] = None,
    bus: Annotated[str | None, "Another bus than this machine's own: nats://HOST:PORT.", "ADDRESS"] = None,
    without: Annotated[list[str] | None, "Leave a component out.", "NAME"] = None,
    port: Annotated[list[str] | None, "Another port; also metrics=PORT for those of serve.", "NAME=PORT"] = None,
    once: Annotated[bool, "End when all are up, with 0 if all are well, else 1."] = False,
    runs_dir: RunsDirOption = RUNS,
    as_json: Annotated[bool, "--json", "A line of JSON whenever something changed."] = False,
) -> None:
    """Start everything that is installed, keep it running, and end it cleanly.

    Decision service, event bus, page, knowledge graph, event ingest, simulator host; what dies is started again.
    """
    from jimbot.services.stack import StackSettings, Supervisor, components

    settings = StackSettings(tuple(policy or ()), watch_run, runs_dir, bus, tuple(without or ()), ports_of(port))
    parts = components(settings)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with Supervisor(parts, runs_dir / FOLDER) as supervisor:
        try:
            _watch(supervisor, once, as_json)
        except KeyboardInterrupt:
            terminal.note("Ending everything…")
        well = supervisor.well
    if once and not well:
        raise typer.Exit(1)


register = adds(up, EXAMPLES)


def _watch(supervisor: Supervisor, once: bool, as_json: bool) -> None:
    """Until Ctrl+C, or, with `once`, until everything is up or given up."""
    picture = None
    if not as_json and not once and sys.stdout.isatty():
        picture = Live(console=terminal.console(), auto_refresh=False)
        picture.start()
    before: dict[str, Any] = {}
    try:
        while True:
            found = supervisor.tick()
            if picture is not None:
                picture.update(table(found), refresh=True)
            elif not once:
                before = _note_changes(found, before, as_json)
            if once and supervisor.settled:
                break
            time.sleep(BEAT)
    finally:
        if picture is not None:
            picture.stop()
    if as_json:
        terminal.print_json([one.to_dict() for one in found])
    else:
        terminal.console().print(table(found))


def _note_changes(found: list[Status], before: dict[str, Any], as_json: bool) -> dict[str, Any]:
    """A line for each component whose state or process is another than it was."""
    now = {one.name: (one.state, one.pid) for one in found}
    for one in found:
        if before.get(one.name) == now[one.name]:
            continue
        if as_json:
            terminal.say(json.dumps(one.to_dict()))
        else:
            terminal.note(f"{one.name}: {one.state} ({one.says or one.where})")
    return now


def table(found: list[Status]) -> Table:
    """How everything is."""
    from jimbot.training.session.dashboard import duration

    shown = Table("", "state", "where", "up", "restarts", "MB", "", expand=True)
    for one in found:
        colour = COLOURS.get(one.state, "red")
        since = duration(one.seconds) if one.pid is not None else ""
        memory = f"{one.megabytes:,.0f}" if one.megabytes else ""
        shown.add_row(
            Text(one.name, "bold"), Text(one.state, colour), one.where, since, str(one.restarts or ""), memory,
            one.says[:200],
        )  # fmt: skip
    return shown


if __name__ == "__main__":  # `python -m jimbot.cli.doors.up COMMAND …`: a child of `jimbot up`, which ends with it
    from jimbot.cli.main import run
    from jimbot.services.stack.supervisor import end_with_parent

    end_with_parent()
    sys.exit(run(sys.argv[1:]))
