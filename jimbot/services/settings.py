"""What can be set about serving decisions. A field with words beside its type is a flag of `jimbot serve`: the words
are its help, a name in capitals its metavar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from jimbot.adviser.settings import AdviserSettings
from jimbot.doors.access import check_exposure
from jimbot.errors import SettingsError

TELL, ACT = "tell", "act"
"""What hints of the graph do: they are told, or moves lean to them, too."""
FALLBACKS = ("none", "policy", "heuristic", "first")
"""What answers where the served policy cannot: nobody; the policy asked by itself, without batch or extras; the game's
heuristic player; the first legal action. Each also tries those behind it."""


@dataclass(frozen=True)
class ServiceSettings:
    """Limits and habits; times in milliseconds unless their name says seconds."""

    window_ms: Annotated[float, "How long a request may wait for company."] = 0.0
    """To share its inference. 0: it goes at once, together with whatever came while the last batch was computed."""
    batch_size: Annotated[int, "Requests answered by one inference at most."] = 64
    queue_size: Annotated[int, "Requests that may wait per policy."] = 256
    """More are refused at once."""
    time_limit_ms: Annotated[int, "Of requests that name none."] = 1000
    time_limit_cap_ms: int = 10_000
    """Of any request; or `time_limit_ms`, if that is longer."""
    fallback: Annotated[str, "Who answers where the policy cannot: none, policy, heuristic, first."] = "none"
    cache_size: Annotated[int, "Recent decisions kept; 0: none."] = 4096
    """By state and policy."""
    idempotency_seconds: float = 60.0
    """How long an answer is given again to the same request id."""
    idempotency_size: int = 65_536
    """Request ids remembered at most; the oldest go first."""
    alternatives: int = 3
    """Next best actions named where a request does not say how many."""
    rows_per_message: int = 4096
    """Observations one message of a stream may carry."""
    device_patience_ms: float = 20.0
    """How long inference waits for training of the same process to give way before it computes beside it."""

    def __post_init__(self) -> None:
        if self.fallback not in FALLBACKS:
            raise SettingsError(f"fallback is '{self.fallback}'; expected one of {', '.join(FALLBACKS)}.")
        least = {"window_ms": 0, "batch_size": 1, "queue_size": 1, "time_limit_ms": 1, "cache_size": 0,
                 "idempotency_seconds": 0, "idempotency_size": 1, "rows_per_message": 1, "alternatives": 0}  # fmt: skip
        for name, minimum in least.items():
            value = getattr(self, name)
            if not minimum <= value < float("inf"):
                raise SettingsError(f"{name} is {value}; expected {minimum} or more.")

    @property
    def longest_ms(self) -> int:
        return max(self.time_limit_cap_ms, self.time_limit_ms)


@dataclass(frozen=True)
class ServerSettings:
    """Where and to whom the door is open."""

    host: Annotated[str, "Address to listen on; others than this machine need a token or TLS."] = "127.0.0.1"
    port: Annotated[int, "0: any free one."] = 50051
    listen: Annotated[str | None, "unix:PATH: a socket file of your own instead of host and port.", "ADDRESS"] = None
    token_file: Annotated[Path | None, "Good tokens, one per line; read anew when it changes."] = None
    tls_cert: Annotated[Path | None, "The server's certificate (PEM)."] = None
    tls_key: Annotated[Path | None, "Its key (PEM)."] = None
    client_ca: Annotated[Path | None, "Clients must show a certificate signed by this one."] = None
    reflection: Annotated[bool, "Tell tools like grpcurl what can be called."] = False
    grace_seconds: Annotated[float, "--grace", "Seconds for what was taken, when asked to stop."] = 10.0
    message_bytes: int = 4 * 2**20
    calls: int = 1000
    """At once; more are refused before they are read."""
    streams: int = 256
    """Open at once, beside them: a stream may be idle for long."""
    watches: int = 64
    """Callers of health at once, beside them: they show no token."""
    calls_per_client: int = 500
    """At once from one address."""
    calls_per_second: Annotated[float, "That one client may make; 0: as many as it likes."] = 0.0
    """A client is an address."""
    calls_per_connection: int = 128
    """At once; more wait at the client until one is answered. Turning a call away costs both sides about as much as
    answering it, so a flood is best held back where it comes from."""

    def __post_init__(self) -> None:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise SettingsError("--tls-cert and --tls-key belong together; give both or none.")
        if self.client_ca is not None and self.tls_cert is None:
            raise SettingsError("--client-ca needs --tls-cert and --tls-key: without TLS nobody shows a certificate.")
        if self.listen is not None and not self.socket_file:
            raise SettingsError(f"--listen is {self.listen}; expected unix:PATH. A port is --host and --port.")
        if not 0 <= self.port < 65536:
            raise SettingsError(f"The port is {self.port}; expected 0 (any) to 65535.")
        if not 0 <= self.calls_per_second < float("inf"):
            raise SettingsError(f"calls_per_second is {self.calls_per_second}; expected 0 (no limit) or more.")
        given = self.token_file is not None, self.tls_cert is not None
        check_exposure(self.host, *given, tls_flags="--tls-cert and --tls-key")

    @property
    def socket_file(self) -> str:
        """The path of `listen`; empty where it is no Unix socket."""
        kind, _, path = (self.listen or "").partition(":")
        return path if kind == "unix" else ""


@dataclass(frozen=True)
class Offer:
    """Which policies are served, and how."""

    policies: Sequence[str] = ()
    """As everywhere; `name=policy` gives one a name of its own."""
    game: Annotated[str | None, "The game, for random and heuristic players."] = None
    watch_run: Annotated[str | None, "Serve a run's best policy, and every better one it finds."] = None
    watch_latest: Annotated[bool, "With --watch-run: its newest policy, also where an earlier one was better."] = False
    canary: Annotated[str | None, "Try this policy on a share of the games."] = None
    canary_share: Annotated[float, "That share, 0 to 1."] = 0.1
    shadow: Annotated[str | None, "Ask this policy too; its answers are only counted."] = None
    runs_dir: Annotated[Path, "Where runs live."] = Path("runs")
    ray: Annotated[int, "Compute the policies in so many Ray actors each (RAY_ADDRESS: on a cluster); 0: here."] = 0
    metrics_port: Annotated[int | None, "Show Prometheus metrics on this port."] = None
    log: Annotated[Path | None, "Write one JSON line per decision to this file."] = None
    log_bodies: Annotated[float, "Share of the requests written whole."] = 0.0
    traces: Annotated[bool, "Export OpenTelemetry traces (OTEL_EXPORTER_OTLP_ENDPOINT)."] = False
    service: ServiceSettings = field(default_factory=ServiceSettings)
    bus: Annotated[str | None, "Answer questions on this bus too, and tell decisions there: embedded, …", "ADDRESS"] = (
        None
    )
    alert_webhook: Annotated[str | None, "POST alerts as JSON there; default: JIMBOT_ALERT_WEBHOOK.", "URL"] = None
    adviser: AdviserSettings | None = None
    """Who is asked where a policy is not sure."""
    graph: Annotated[
        str | None, "Name the strategy and add hints from this knowledge graph; mine: yours.", "ADDRESS"
    ] = None
    hints: Annotated[
        str, "With --graph: tell, or act: moves in shops and packs lean to what the graph says, too.", "tell|act"
    ] = "tell"
    plan: int | None = None
    """Simulations per decision, where a request carries a game and has time; None: no plans."""
    plan_with: str | None = None
    """Who plays them out; None: the policy."""
