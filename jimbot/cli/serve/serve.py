"""`jimbot serve`: trained policies answer other programs over gRPC."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jimbot.cli.shared import terminal
from jimbot.cli.shared.advising import AdviserOption, AdviserSetOption, adviser_settings
from jimbot.cli.shared.options import RUNS, GameOption, PlanOption, PlanWithOption, RunsDirOption

EPILOG = """Examples:

jimbot serve balatro   (the policy that comes with JimBot)

jimbot serve hackmatrix my-run other=runs/old/checkpoints/000000032768

jimbot serve --watch-run my-run --fallback heuristic   (always the run's best policy, while it trains)

jimbot serve balatro --canary my-run --canary-share 0.1 --metrics-port 9101 --log decisions.jsonl

jimbot serve balatro --plan 64 --time-limit-ms 1000   (tries moves out as long as a request has time)

jimbot serve balatro --adviser --time-limit-ms 8000   (asks Claude where the policy is not sure)

jimbot serve balatro --bus nats://127.0.0.1:4222   (several of them share the questions)

jimbot serve vgc --host 0.0.0.0 --token-file tokens.txt --tls-cert cert.pem --tls-key key.pem

jimbot serve balatro --graph mine   (answers name the strategy and what works together)

Ask it: jimbot ask question.json. Play it: jimbot watch grpc://127.0.0.1:50051/balatro"""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(serve)


def serve(
    policy: Annotated[
        list[str] | None, typer.Argument(help="Policies: a game for its shipped one, a run, checkpoint or file; name=…")
    ] = None,
    game: GameOption = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than this machine need a token or TLS.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0: any free one.")] = 50051,
    token_file: Annotated[
        Path | None, typer.Option(help="Good tokens, one per line; read anew when it changes.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="The server's certificate (PEM).")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key (PEM).")] = None,
    client_ca: Annotated[Path | None, typer.Option(help="Clients must show a certificate signed by this one.")] = None,
    reflection: Annotated[
        bool, typer.Option("--reflection", help="Tell tools like grpcurl what can be called.")
    ] = False,
    watch_run: Annotated[
        str | None, typer.Option(help="Serve a run's best policy, and every better one it finds.")
    ] = None,
    canary: Annotated[str | None, typer.Option(help="Try this policy on a share of the games.")] = None,
    canary_share: Annotated[float, typer.Option(help="That share, 0 to 1.")] = 0.1,
    shadow: Annotated[str | None, typer.Option(help="Ask this policy too; its answers are only counted.")] = None,
    fallback: Annotated[
        str, typer.Option(help="Who answers where the policy cannot: none, policy, heuristic, first.")
    ] = "none",
    plan: PlanOption = None,
    plan_with: PlanWithOption = None,
    adviser: AdviserOption = False,
    adviser_set: AdviserSetOption = None,
    window_ms: Annotated[float, typer.Option(help="How long a request may wait for company.")] = 0.0,
    batch_size: Annotated[int, typer.Option(help="Requests answered by one inference at most.")] = 64,
    queue_size: Annotated[int, typer.Option(help="Requests that may wait per policy.")] = 256,
    calls_per_second: Annotated[float, typer.Option(help="That one client may make; 0: as many as it likes.")] = 0.0,
    time_limit_ms: Annotated[int, typer.Option(help="Of requests that name none.")] = 1000,
    cache_size: Annotated[int, typer.Option(help="Recent decisions kept; 0: none.")] = 4096,
    bus: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Answer questions on this bus too, and tell decisions there: embedded, …"),
    ] = None,
    graph: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Name the strategy and add hints from this knowledge graph; mine: yours."),
    ] = None,
    grace: Annotated[float, typer.Option(help="Seconds for what was taken, when asked to stop.")] = 10.0,
    metrics_port: Annotated[int | None, typer.Option(help="Show Prometheus figures on this port.")] = None,
    alert_webhook: Annotated[
        str | None, typer.Option(metavar="URL", help="POST alerts as JSON there; default: JIMBOT_ALERT_WEBHOOK.")
    ] = None,
    log: Annotated[Path | None, typer.Option(help="Write one JSON line per decision to this file.")] = None,
    log_bodies: Annotated[float, typer.Option(help="Share of the requests written whole.")] = 0.0,
    traces: Annotated[
        bool, typer.Option("--traces", help="Export OpenTelemetry traces (OTEL_EXPORTER_OTLP_ENDPOINT).")
    ] = False,
    runs_dir: RunsDirOption = RUNS,
) -> None:
    """Answer other programs: one decision per call, or many per message, within a deadline.

    Ends in order on SIGTERM or Ctrl+C: not ready, no new work, what was taken is finished.
    """
    import asyncio

    from jimbot.services.decision import ServiceSettings
    from jimbot.services.grpc_server import ServerSettings
    from jimbot.services.serving import Offer
    from jimbot.services.serving import serve as run

    door = ServerSettings(
        host, port, token_file, tls_cert, tls_key, client_ca, reflection, grace, calls_per_second=calls_per_second
    )
    settings = ServiceSettings(
        window_ms=window_ms, batch_size=batch_size, queue_size=queue_size, time_limit_ms=time_limit_ms,
        time_limit_cap_ms=max(10_000, time_limit_ms), fallback=fallback, cache_size=cache_size,
    )  # fmt: skip
    offer = Offer(
        tuple(policy or ()), game, watch_run, canary, canary_share, shadow, runs_dir, metrics_port, log, log_bodies,
        traces, settings, bus, alert_webhook, adviser_settings(adviser_set) if adviser or adviser_set else None,
        graph, plan, plan_with,
    )  # fmt: skip
    asyncio.run(run(offer, door, terminal.note))
