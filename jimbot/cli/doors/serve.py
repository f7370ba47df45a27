"""`jimbot serve`: trained policies answer other programs over gRPC."""

from __future__ import annotations

import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from typer.core import TyperGroup

from jimbot.cli.doors.adviser import adviser_settings
from jimbot.cli.shared import common, terminal
from jimbot.cli.shared.command import adds, adds_family
from jimbot.cli.shared.stopping import until_stopped
from jimbot.errors import UnknownNameError
from jimbot.services.settings import Offer, ServerSettings, ServiceSettings

EXAMPLES = """jimbot serve balatro   (the policy that comes with JimBot)
jimbot serve hackmatrix my-run other=runs/old/checkpoints/000000032768
jimbot serve --watch-run my-run --fallback heuristic   (always the run's best policy, while it trains)
jimbot serve balatro --canary my-run --canary-share 0.1 --metrics-port 9101 --log decisions.jsonl
jimbot serve balatro --plan 64 --time-limit-ms 1000   (tries moves out as long as a request has time)
jimbot serve balatro --adviser --time-limit-ms 8000   (asks Claude where the policy is not sure)
jimbot serve balatro --bus nats://127.0.0.1:4222   (several of them share the questions)
jimbot serve vgc --host 0.0.0.0 --token-file tokens.txt --tls-cert cert.pem --tls-key key.pem
jimbot serve balatro --graph mine   (answers name the strategy and what works together)
jimbot serve balatro --graph mine --hints act   (and moves in shops and packs lean to it)
Ask it: jimbot ask question.json. Play it: jimbot watch grpc://127.0.0.1:50051/balatro"""


def serve(
    policy: Annotated[
        list[str] | None, typer.Argument(help="Policies: a game for its shipped one, a run, checkpoint or file; name=…")
    ] = None,
    offer: Offer = Offer(),
    door: ServerSettings = ServerSettings(),
    service: ServiceSettings = ServiceSettings(),
    plan: common.Plan = common.Plan(),
    advice: common.Advice = common.Advice(),
) -> None:
    """Answer other programs: one decision per call, or many per message, within a deadline.

    Ends in order on SIGTERM or Ctrl+C: not ready, no new work, what was taken is finished.
    """
    import asyncio

    from jimbot.services.serving import serve as run

    adviser = adviser_settings(advice.adviser_set) if advice.wanted else None
    offer = replace(
        offer, policies=policy or (), service=service, adviser=adviser, plan=plan.plan, plan_with=plan.plan_with
    )
    asyncio.run(run(offer, door, terminal.note))


register = adds(serve, EXAMPLES)


ASK_EXAMPLES = """jimbot ask question.json
jimbot ask question.json --address 127.0.0.1:50051 --json
jimbot ask - < question.json
A question: {"game": "hackmatrix", "state": {"player": [3, 3], "enemies": []}} or with "observation" and "legal_mask".
The token, where one is asked for, is in JIMBOT_SERVE_TOKEN; for TLS name the root certificate with --root-cert."""


def ask(
    file: Annotated[Path, "The question as JSON; - reads it from standard input."],
    address: Annotated[str, "Where the service listens."] = "127.0.0.1:50051",
    seconds: Annotated[float, "How long to wait for the answer."] = 5.0,
    root_cert: Annotated[Path | None, "Switches TLS on: the root certificate (PEM)."] = None,
    as_json: common.JsonOption = False,
) -> None:
    """Ask a decision service once, and show its answer."""
    import os

    from jimbot.clients import DecisionClient
    from jimbot.clients.remote_policy import TOKEN_VARIABLE
    from jimbot.clients.request_json import plain_answer, read_request
    from jimbot.clients.resilience import RetryPolicy
    from jimbot.errors import UsageError

    terminal.require_positive(seconds=seconds)
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(f"{file} cannot be read: {problem}. Give a question as JSON.") from problem
    request = read_request(text, str(file))
    patience = RetryPolicy(deadline=seconds, cap=seconds)
    token = os.environ.get(TOKEN_VARIABLE) or None
    with DecisionClient(address, token=token, root_cert=root_cert, patience=patience) as client:
        answer = plain_answer(client.decide(request))
    if as_json:
        terminal.print_json(answer)
    else:
        terminal.console().print(_shown(answer))


register_ask = adds(ask, ASK_EXAMPLES)


def _shown(answer: dict[str, Any]) -> Table:
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


MCP_EXAMPLES = """jimbot mcp   (an assistant starts it and talks over standard input and output)
jimbot mcp --policy my-run --runs-dir runs
jimbot mcp --http --port 8931   (at http://127.0.0.1:8931/mcp)"""


def mcp(
    http: Annotated[bool, "Answer over HTTP instead of standard input and output."] = False,
    host: Annotated[str, "With --http: where to listen; others than this machine need a token."] = "127.0.0.1",
    port: Annotated[int, "With --http."] = 8931,
    policy: Annotated[str, "Who gives advice where nobody else is named."] = "",
    live: Annotated[str, "Where the bought game is, for games started with live: true.", "URL"] = "",
    runs_dir: common.RunsDirOption = common.RUNS,
    token_file: common.TokenFileOption = None,
) -> None:
    """Offer games and policies to assistants that speak the Model Context Protocol.

    Start games, see tables, list and make moves, ask policies, look into seeds and things, evaluate policies.
    """
    from jimbot.doors.listening import listener
    from jimbot.services.mcp.server import http_server, serve_stdio
    from jimbot.services.mcp.tools import Tools

    if not http:
        serve_stdio(Tools(runs_dir, policy, live))
        return
    tools = Tools(runs_dir, policy, live)
    server, place = http_server(tools, host, port, token_file), listener(host, port)
    terminal.note(f"Tools at http://{host}:{place.getsockname()[1]}/mcp; Ctrl+C ends.")
    try:
        until_stopped(server.run, sockets=[place])
    finally:
        tools.close()


register_mcp = adds(mcp, MCP_EXAMPLES)


def events(
    port: Annotated[int, "WebSocket and HTTP; 0: any free one."] = 8765,
    address: common.HostOption = "127.0.0.1",
    bus: Annotated[str, "Where events go: embedded, embedded:FILE or nats://HOST:PORT.", "ADDRESS"] = "embedded",
    queue_size: Annotated[int, "Events that may wait for the bus; more are dropped and counted."] = 10_000,
    token_file: common.TokenFileOption = None,
    as_json: common.JsonOption = False,
) -> None:
    """Take events that mods push: {type, timestamp, game_id, data}, one or many per message.

    WebSocket at / and /events, POST /api/v1/events and /api/v1/events/batch; every message is acknowledged. They are
    published as live.event (jimbot bus tail live.event shows them). /health has the counts.
    """
    terminal.require_positive(queue_size=queue_size)
    from jimbot.doors.access import check_exposure
    from jimbot.doors.listening import listener
    from jimbot.services.bus.publisher import BackgroundPublisher, check_bus
    from jimbot.services.events_in import Ingest, event_server

    check_exposure(address, token_file is not None)
    check_bus(bus)
    place = listener(address, port)
    publisher = BackgroundPublisher(bus, queue_size)
    ingest = Ingest(publisher)
    server, port = event_server(ingest, address, port, token_file), place.getsockname()[1]
    terminal.note(f"Events go from ws://{address}:{port}/events to the bus {bus}; Ctrl+C ends it.")
    try:
        until_stopped(server.run, sockets=[place])
    finally:
        publisher.close()
        stats = ingest.stats()
        if as_json:
            terminal.print_json(stats)
        else:
            ended = "{accepted:,} events taken, {published:,} published, {dropped:,} dropped, {refused:,} refused."
            terminal.console().print(ended.format(**stats))


HOST_EXAMPLES = """jimbot host balatro
jimbot host balatro --instances 8 --port 12346   (ports 12346 to 12353)
jimbot host balatro --dialect dev --speed frame --trap hang=50 --trap slow-reroll
jimbot host balatro --files saves   (clients may save, load and take screenshots in that folder)
jimbot host events   (mods push what happens; see jimbot host events --help)
Ctrl+C ends it."""
GAME = "GAME"


class Hosted(TyperGroup):
    """A word that is no command of its own is the game to host."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        if args and args[0] not in self.commands:
            return GAME, self.commands[GAME], args
        return super().resolve_command(ctx, args)


def host(
    game: Annotated[str, "The game, for instance balatro."],
    port: Annotated[int | None, "First port; by default the one the bought game's mod has."] = None,
    address: common.HostOption = "127.0.0.1",
    instances: Annotated[int, "Games at once, each on its own port."] = 1,
    dialect: Annotated[str | None, "Version of the protocol; by default the released one."] = None,
    speed: Annotated[str, "instant, frame (60 answers a second) or real (with animations)."] = "instant",
    leaks: Annotated[bool, "Show what the mod shows too much: the deck's order, face-down cards."] = False,
    trap: Annotated[list[str] | None, "A fault of the mod; repeatable.", "TRAP"] = None,
    files: Annotated[
        list[Path] | None,
        "Where save, load and screenshot may go, instead of a folder of JimBot's own; repeatable.",
        "FOLDER",
    ] = None,
    token_file: common.TokenFileOption = None,
) -> None:
    """Serve a simulator in the protocol that programs drive the bought game with.

    Whatever talks to the mod talks to it unchanged: bots, test suites, recorders.
    """
    terminal.require_positive(instances=instances)
    from jimbot.games.contract import available_games, game_entry, games_with
    from jimbot.services.live_host import FolderFiles, LiveHost

    if game not in available_games() or game_entry(game).live is None:
        raise UnknownNameError("game to host", game, games_with("live"))
    live = game_entry(game).live
    assert live is not None
    kept = FolderFiles(files or ())
    games = [live.host(dialect or live.dialects[0], not leaks, trap or (), kept) for _ in range(instances)]
    served = LiveHost(games, address, live.port if port is None else port, speed, token_file).start()
    places = ", ".join(f"http://{address}:{number}" for number in served.ports)
    terminal.console().print(f"{game} ({dialect or live.dialects[0]}) at {places}; Ctrl+C ends it.", soft_wrap=True)
    terminal.note(f"Files of clients: only inside {', '.join(map(str, kept.folders))}.")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        served.wait()
    except KeyboardInterrupt:
        pass
    finally:
        served.stop()
        terminal.console().print(f"{served.answered:,} calls answered.")


WORDS = "Serve a simulator in the protocol of the bought game, or take events that mods push."
register_host = adds_family("host", WORDS, HOST_EXAMPLES, events, cls=Hosted, first=adds(host, HOST_EXAMPLES, GAME))
