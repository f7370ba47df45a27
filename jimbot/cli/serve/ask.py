"""`jimbot ask`: one question to a decision service, answered for a person."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jimbot.cli.shared import terminal
from jimbot.cli.shared.options import JsonOption

if TYPE_CHECKING:
    from rich.table import Table

EPILOG = """Examples:

jimbot ask question.json

jimbot ask question.json --address 127.0.0.1:50051 --json

jimbot ask - < question.json

A question: {"game": "hackmatrix", "state": {"player": [3, 3], "enemies": []}} or with "observation" and "legal_mask".

The token, where one is asked for, is in JIMBOT_SERVE_TOKEN; for TLS name the root certificate with --root-cert."""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(ask)


def ask(
    file: Annotated[Path, typer.Argument(help="The question as JSON; - reads it from standard input.")],
    address: Annotated[str, typer.Option(help="Where the service listens.")] = "127.0.0.1:50051",
    seconds: Annotated[float, typer.Option(help="How long to wait for the answer.")] = 5.0,
    root_cert: Annotated[Path | None, typer.Option(help="Switches TLS on: the root certificate (PEM).")] = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a decision service once, and show its answer."""
    import os

    from jimbot.clients import DecisionClient
    from jimbot.clients.remote_policy import TOKEN_VARIABLE
    from jimbot.clients.request_json import plain_answer, read_request
    from jimbot.clients.resilience import Patience
    from jimbot.errors import UsageError

    terminal.require_positive(seconds=seconds)
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(f"{file} cannot be read: {problem}. Give a question as JSON.") from problem
    request = read_request(text, str(file))
    patience = Patience(deadline=seconds, cap=seconds)
    token = os.environ.get(TOKEN_VARIABLE) or None
    with DecisionClient(address, token=token, root_cert=root_cert, patience=patience) as client:
        answer = plain_answer(client.decide(request))
    if as_json:
        terminal.print_json(answer)
    else:
        terminal.console().print(_shown(answer))


def _shown(answer: dict[str, Any]) -> Table:
    from rich.table import Table

    policy, timing = answer["policy"], answer["timing"]
    table = Table(show_header=False, title=_words(answer["selected_action"]), title_justify="left", title_style="bold")
    table.add_row("confidence", f"{answer['confidence']:.1%}")
    table.add_row("expected return", f"{answer['value']:.3f}")
    for other in answer["alternatives"]:
        table.add_row("or", f"{_words(other['action'])}  ({other['probability']:.1%})")
    if answer["fallback"] != "none":
        table.add_row("fallback", answer["fallback_reason"])
    table.add_row("decided by", f"{policy['game']}/{policy['name']}, step {policy['version']}, {policy['hash']}")
    cached = ", remembered" if answer["cached"] else ""
    table.add_row("took", f"{timing['total_ms']:.2f} ms (inference {timing['inference_ms']:.2f} ms{cached})")
    return table


def _words(action: dict[str, Any]) -> str:
    return f"{action['words'] or action['label']} (action {action['number']})"
