"""The tools behind the protocol: registered with the SDK, errors as sentences, runs and reports as resources."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from pydantic import ValidationError

import jimbot
from jimbot.doors.access import Bearers, Tokens
from jimbot.doors.guard import Door, Limits
from jimbot.doors.listening import guarded_server
from jimbot.errors import JimbotError, MissingExtraError, UnknownNameError
from jimbot.services.mcp.tools import Tools

try:
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ResourceError, ToolError
    from mcp.server.mcpserver.tools import Tool
    from mcp.server.transport_security import TransportSecuritySettings
    from mcp.types import ToolAnnotations
except ModuleNotFoundError as problem:
    raise MissingExtraError("The package of the Model Context Protocol", "mcp") from problem

INSTRUCTIONS = (
    "JimBot's games and policies. list_games says what there is; start_game gives a handle; then see_table, "
    "list_legal_moves, ask_policy and act, until the table is over. explain, preview_seed and search_seeds look things "
    "up without playing; evaluate_policy measures a policy; review_game says which move lost a game. Runs and their "
    "reports are resources: jimbot://runs."
)
LARGEST_BODY = 2**20
LOOKING = ("list_games", "list_tables", "see_table", "list_legal_moves", "ask_policy", "evaluate_policy", "review_game",
           "explain", "preview_seed", "search_seeds")  # fmt: skip
ACTING = ("start_game", "act", "close_game")
ARGUMENTS = {"option": "options"}
"""Flags of the command line that have another name here."""


def build_server(tools: Tools) -> MCPServer:
    """A server with all tools and resources, ready to run."""
    server: MCPServer = MCPServer(
        "jimbot",
        title="JimBot",
        instructions=INSTRUCTIONS,
        version=jimbot.__version__,
        log_level="WARNING",
        tools=[_tool(tools, name) for name in LOOKING + ACTING],
    )

    def resource(uri: str, title: str, kind: str, read: Callable[..., str]) -> None:
        server.resource(uri, name=title, mime_type=kind)(_telling(read, ResourceError))

    def runs() -> str:
        """The runs on this machine: game, learner, steps, best metric."""
        return tools.runs().model_dump_json(indent=1)

    def run(name: str) -> str:
        """Everything known about a run: settings, checkpoints, evaluation, newest metrics."""
        return json.dumps(tools.run(name), indent=1, default=str)

    def report(name: str) -> str:
        """The page that jimbot analyze wrote about a run."""
        return tools.report(name)

    def games() -> str:
        """The games, their options, and how their seeds are searched."""
        return tools.list_games().model_dump_json(indent=1)

    resource("jimbot://games", "games", "application/json", games)
    resource("jimbot://runs", "runs", "application/json", runs)
    resource("jimbot://runs/{name}", "run", "application/json", run)
    resource("jimbot://runs/{name}/report", "report", "text/html", report)
    return server


class StrictTool(Tool):
    """A tool that refuses an argument it does not have, and says in one sentence what is wrong with another."""

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
        known = self.fn_metadata.arg_model.model_fields
        for name in arguments:
            if name not in known:
                raise ToolError(str(UnknownNameError(f"argument of {self.name}", name, known)))
        try:
            return await super().run(arguments, context, convert_result)
        except ToolError as problem:
            if not isinstance(problem.__cause__, ValidationError):
                raise
            first = problem.__cause__.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise ToolError(f"The argument {where} of {self.name} cannot be used: {first['msg']}.") from problem


def _tool(tools: Tools, name: str) -> StrictTool:
    about = ToolAnnotations(read_only_hint=name in LOOKING, destructive_hint=False, open_world_hint=False)
    tool = StrictTool.from_function(_telling(getattr(tools, name), ToolError), name=name, annotations=about)
    assert isinstance(tool, StrictTool)
    tool.parameters["additionalProperties"] = False
    return tool


def serve_stdio(tools: Tools) -> None:
    """Answers on standard input and output, until input ends."""
    try:
        build_server(tools).run("stdio")
    finally:
        tools.close()


def http_server(
    tools: Tools, host: str, port: int, token_file: Path | None = None, limits: Limits = Limits()
) -> uvicorn.Server:
    """A server that answers at /mcp, ready to `run`."""
    access = Bearers(Tokens(token_file)) if token_file is not None else None
    door = Door(access, methods=("GET", "POST", "DELETE"), largest_body=LARGEST_BODY, limits=limits)
    ours = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # the guard has looked at names already
    app = build_server(tools).streamable_http_app(transport_security=ours, max_request_body_size=LARGEST_BODY)
    return guarded_server(app, door, host, port)


def _telling(function: Callable[..., Any], kind: type[Exception]) -> Callable[..., Any]:
    """The same function, whose errors of ours reach the assistant as the sentences they are."""

    @functools.wraps(function)
    def called(*args: Any, **named: Any) -> Any:
        try:
            return function(*args, **named)
        except JimbotError as problem:
            raise kind(_as_arguments(str(problem))) from problem

    return called


def _as_arguments(sentence: str) -> str:
    """A sentence about flags in the words of tools; a whole command stays one.

    >>> _as_arguments("--plan is 0; expected a number above 0."), _as_arguments("Type: jimbot mcp --live URL.")
    ('plan is 0; expected a number above 0.', 'Type: jimbot mcp --live URL.')
    """
    if "jimbot " in sentence:
        return sentence
    return re.sub(r"--([a-z][a-z-]*)", lambda flag: ARGUMENTS.get(flag[1], flag[1].replace("-", "_")), sentence)
