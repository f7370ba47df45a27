"""The decision service over gRPC: one process, one event loop, the standard health protocol.

`RayDecisionService` answers calls; `DecisionServer` opens the door, checks who comes in, and closes it in order: not
ready, no new work, what was taken is finished within the grace, then out.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from jimbot.errors import MissingExtraError, SettingsError

try:
    import grpc
    from grpc_health.v1 import health, health_pb2
except ModuleNotFoundError as problem:
    raise MissingExtraError("gRPC", "serve") from problem

from jimbot.doors.access import DECIDE, LOOK, Tokens
from jimbot.proto import decisions_pb2 as wire
from jimbot.proto import decisions_pb2_grpc, events_pb2
from jimbot.services.decision.refusal import Code, RefusedError, refusal_message, stopping
from jimbot.services.decision.service import DecisionService
from jimbot.services.grpc_own import DecisionServicer as DecisionServicer  # users find it here
from jimbot.services.limits import ClientLimits
from jimbot.services.settings import ServerSettings

QUESTION_SECONDS = 5.0
"""For the question of a call to arrive."""


class HealthDoor(health.aio.HealthServicer):
    """Health, answered to so many at once."""

    def __init__(self, at_once: int) -> None:
        super().__init__()
        self._at_once, self._open = at_once, 0

    def add_to(self, server: Any) -> None:
        """Every call is taken as a stream: then it is ours, and counted, before its question has arrived."""
        request = health_pb2.HealthCheckRequest.FromString
        asked = {
            "Check": grpc.stream_unary_rpc_method_handler(self._counted(self.Check), request, _written),
            "Watch": grpc.stream_stream_rpc_method_handler(self._counted(self.Watch), request, _written),
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(health.SERVICE_NAME, asked),))

    def _counted(self, answer: Callable[..., Any]) -> Callable[..., Any]:
        async def answered(questions: Any, context: Any) -> Any:
            if self._open >= self._at_once:
                await context.abort(
                    grpc.StatusCode.RESOURCE_EXHAUSTED, f"{self._at_once} callers look at the health; ask again later."
                )
            with self._slot():
                try:
                    question = await asyncio.wait_for(anext(aiter(questions)), QUESTION_SECONDS)
                except (TimeoutError, StopAsyncIteration):
                    await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "The call brought no question.")
                return await answer(question, context)

        return answered

    @contextmanager
    def _slot(self) -> Generator[None]:
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1


def _written(answer: Any) -> bytes:
    return answer.SerializeToString()


SERVICE = "jimbot.decisions.v1.DecisionService"
RETRY_AFTER = "retry-after-ms"
UNREADABLE = RefusedError(Code.INVALID_ARGUMENT, "These bytes are no message of this call.")
QUIET_SECONDS = 0.2
"""Without a call, after which nobody is on the way any more when the service stops."""
STRAGGLER_SECONDS = 2.0
"""At most, for those who go on asking."""
KEEP_ALIVE = (
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.max_connection_idle_ms", 15 * 60_000),
    ("grpc.max_connection_age_ms", 60 * 60_000),
    ("grpc.max_connection_age_grace_ms", 10 * 60_000),
)
"""Of connections: those that answer no ping, do nothing or are old are let go; clients connect again by themselves."""
TOKEN = "authorization"
_CODES = {code.value[0]: code for code in grpc.StatusCode}
_SCOPES = {"GetDecision": DECIDE, "Decide": DECIDE, "GetPolicies": LOOK}
_log = logging.getLogger("jimbot.services")


class RayDecisionService(decisions_pb2_grpc.DecisionServiceServicer):
    """The calls of `decisions.proto`."""

    def __init__(self, service: DecisionService, limits: ClientLimits | None = None, streams: int = 256) -> None:
        self.service = service
        self._limits = limits or ClientLimits(500)
        self._most_streams, self._streams = streams, 0
        self._stopping: asyncio.Future[None] | None = None
        self._calls: set[asyncio.Task[Any]] = set()
        self._last = 0.0

    async def GetDecision(  # noqa: N802 - the name of the call
        self, request: events_pb2.LearningDecisionRequest, context: Any
    ) -> events_pb2.LearningDecisionResponse:
        if isinstance(request, DecodeError):
            await _abort(context, UNREADABLE)
        call, client = asyncio.current_task(), ""
        assert call is not None
        self._calls.add(call)
        try:
            client = self._limits.open(context.peer())
            trace = _trace(context) if self.service.listeners else ""
            return await self.service.decide_async(request, context.time_remaining(), trace)
        except RefusedError as refusal:
            await _abort(context, refusal)
        except asyncio.CancelledError:
            await self._say_goodbye(context)
        except Exception:  # a bug of ours: written to the log, not to the client; the process lives
            _log.exception("A decision failed in a way nobody foresaw")
            await _abort(context, RefusedError(Code.INTERNAL, "The service failed; its log says how."))
        finally:
            self._calls.discard(call)
            self._last = time.monotonic()
            if client:
                self._limits.close(client)
        raise AssertionError("an aborted call is over")

    async def Decide(self, request_iterator: Any, context: Any) -> Any:  # noqa: N802
        if self._streams >= self._most_streams:
            await _abort(context, _too_many(self._most_streams))
        self._streams += 1
        call = asyncio.current_task()
        assert call is not None
        self._calls.add(call)
        try:
            async for answer in self._stream(request_iterator, context):
                yield answer
        except asyncio.CancelledError:
            await self._say_goodbye(context)
        finally:
            self._calls.discard(call)
            self._last = time.monotonic()
            self._streams -= 1

    async def _stream(self, request_iterator: Any, context: Any) -> Any:
        trace = _trace(context)
        client = context.peer().rpartition(":")[0]
        messages = aiter(request_iterator)
        while (batch := await self._next(messages, context)) is not None:
            if isinstance(batch, DecodeError):
                await _abort(context, UNREADABLE)
            try:
                self._limits.spend(client)
            except RefusedError as refusal:
                yield wire.DecisionBatchAnswer(batch_id=batch.batch_id, refusal=refusal_message(refusal))
            else:
                yield await self.service.decide_rows(batch, trace)

    async def _next(self, messages: Any, context: Any) -> Any:
        """The next message of a stream; None at its end. A stream that is idle when the service stops is told so: it
        must not hold the others up until the grace is over."""
        if self._stopping is None:
            self._stopping = asyncio.get_running_loop().create_future()
        coming = asyncio.ensure_future(anext(messages, None))
        await asyncio.wait((coming, self._stopping), return_when=asyncio.FIRST_COMPLETED)
        if not coming.done():
            coming.cancel()
            await _abort(context, stopping())
        return coming.result()

    def stop_streams(self) -> None:
        """Those that are idle end now, the others after the message they have."""
        if self._stopping is not None and not self._stopping.done():
            self._stopping.set_result(None)

    async def finish(self, seconds: float) -> None:
        """Until what was taken is answered and nobody else is on the way, or the time is over: who is left is told."""
        clock = time.monotonic
        self._last, end, taken = clock(), clock() + seconds, set(self._calls)
        while clock() < end and taken & self._calls:
            await asyncio.sleep(0.02)
        end = min(end, clock() + STRAGGLER_SECONDS)
        while clock() < end and (self._calls or clock() < self._last + QUIET_SECONDS):
            await asyncio.sleep(0.02)
        left = list(self._calls)
        for call in left:
            call.cancel()
        await asyncio.wait(left, timeout=1.0) if left else None

    async def _say_goodbye(self, context: Any) -> None:
        """To a call that was ended: by us, where the grace is over; else its client is gone, and hears nothing."""
        call = asyncio.current_task()
        if not self.service.draining or call is None or context.cancelled():
            raise asyncio.CancelledError
        call.uncancel()
        await _abort(context, stopping())

    async def GetPolicies(self, request: wire.PoliciesRequest, context: Any) -> wire.PoliciesResponse:  # noqa: N802
        if isinstance(request, DecodeError):
            await _abort(context, UNREADABLE)
        return self.service.policies(request.game)


def _add_service(servicer: RayDecisionService, server: Any) -> None:
    """As the generated code does it, except that bytes that are no message reach the call and get a sentence."""
    calls = {
        "GetDecision": (
            grpc.unary_unary_rpc_method_handler,
            events_pb2.LearningDecisionRequest,
            events_pb2.LearningDecisionResponse,
        ),
        "Decide": (grpc.stream_stream_rpc_method_handler, wire.DecisionBatch, wire.DecisionBatchAnswer),
        "GetPolicies": (grpc.unary_unary_rpc_method_handler, wire.PoliciesRequest, wire.PoliciesResponse),
    }
    handlers = {
        name: make(getattr(servicer, name), _reader(message), answer.SerializeToString)
        for name, (make, message, answer) in calls.items()
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))


def _reader(message: Any) -> Callable[[bytes], Any]:
    def read(data: bytes) -> Any:
        try:
            return message.FromString(data)
        except DecodeError as problem:
            return problem

    return read


def _trace(context: Any) -> str:
    """The W3C trace the caller belongs to, if it says so."""
    for key, value in context.invocation_metadata() or ():
        if key == "traceparent":
            return str(value)[:64]
    return ""


async def _abort(context: Any, refusal: RefusedError) -> None:
    if refusal.retry_after_ms:
        context.set_trailing_metadata(((RETRY_AFTER, str(refusal.retry_after_ms)),))
    await context.abort(_CODES[int(refusal.code)], str(refusal))


class _TokenCheck(grpc.aio.ServerInterceptor):
    """Turns away callers without a good token, before a message is read. Health needs none."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        details = handler_call_details
        service, _, method = details.method.lstrip("/").partition("/")
        if service == health.SERVICE_NAME:
            return await continuation(details)
        given = next((value for key, value in details.invocation_metadata or () if key == TOKEN), "")
        token = given.removeprefix("Bearer ") if isinstance(given, str) else ""
        if self._tokens.allows(token, _SCOPES.get(method, LOOK)):
            return await continuation(details)
        return _refusing(any(self._tokens.allows(token, scope) for scope in (DECIDE, LOOK)))


def _refusing(known: bool) -> Any:
    """As a stream, whatever the call is: then it is answered before, and even if never, a message of it arrives."""
    code = grpc.StatusCode.PERMISSION_DENIED if known else grpc.StatusCode.UNAUTHENTICATED
    sentence = "The token is not good for this call." if known else "The token is missing or wrong; send a good one."

    async def refuse(_: Any, context: Any) -> Any:
        await context.abort(code, sentence)
        yield  # makes this a stream

    return grpc.stream_stream_rpc_method_handler(refuse)


def _too_many(streams: int) -> RefusedError:
    return RefusedError(Code.RESOURCE_EXHAUSTED, f"{streams} streams are open; wait for one to end.", 1000)


class DecisionServer:
    """The open door. Start it, let the service add its policies, say `ready`, and `stop` it in order."""

    def __init__(self, service: DecisionService, settings: ServerSettings = ServerSettings()) -> None:
        self.service, self.settings = service, settings
        self.port = 0
        self._health = HealthDoor(settings.watches)
        self._server: Any = None

    @property
    def address(self) -> str:
        return self.settings.listen or f"{self.settings.host}:{self.port}"

    async def start(self) -> None:
        """Listens; everything is NOT_SERVING until `ready`."""
        settings = self.settings
        interceptors = [_TokenCheck(Tokens(settings.token_file))] if settings.token_file is not None else []
        self._server = grpc.aio.server(
            interceptors=interceptors,
            maximum_concurrent_rpcs=settings.calls + settings.streams + settings.watches,
            options=[
                ("grpc.max_receive_message_length", settings.message_bytes),
                ("grpc.so_reuseport", 0),
                ("grpc.max_metadata_size", 16 * 1024),
                ("grpc.max_concurrent_streams", settings.calls_per_connection),
                ("grpc.http.overload_protection", 0),  # it counts calls that are over and breaks honest ones
                *KEEP_ALIVE,
            ],
        )
        limits = ClientLimits(settings.calls_per_client, settings.calls_per_second)
        self._servicer = RayDecisionService(self.service, limits, settings.streams)
        _add_service(self._servicer, self._server)
        self._health.add_to(self._server)
        if settings.reflection:
            _offer_reflection(self._server)
        await self._set_health(health_pb2.HealthCheckResponse.NOT_SERVING, ("", SERVICE))
        self.service.loading = True
        self.port = self._open_socket() if settings.listen else self._open(f"{settings.host}:{settings.port}")
        await self._server.start()

    async def ready(self) -> None:
        """The policies that the service has now are SERVING."""
        self.service.loading = False
        await self._set_health(health_pb2.HealthCheckResponse.SERVING, ("", SERVICE, *self._names()))

    async def stop(self) -> None:
        """Not ready; no new work; what was taken is finished within the grace. Until then the door stays open, so that
        a call that is on the way hears a sentence: gRPC would only cancel what it has not looked at yet."""
        await self._health.enter_graceful_shutdown()
        self.service.drain()
        self._servicer.stop_streams()
        await self._servicer.finish(self.settings.grace_seconds)
        await self._server.stop(min(1.0, self.settings.grace_seconds))
        if self.settings.listen:
            Path(self.settings.socket_file).unlink(missing_ok=True)
        await asyncio.to_thread(self.service.close)

    def _names(self) -> list[str]:
        """What health can be asked about: a game, and each of its policies."""
        names: list[str] = []
        for policy in self.service.policies().policies:
            game, name = policy.identity.game, policy.identity.name
            names += [game, f"{game}/{name}"] if policy.status == "serving" else []
        return names

    async def _set_health(self, status: Any, names: Sequence[str]) -> None:
        for name in names:
            await self._health.set(name, status)

    def _open_socket(self) -> int:
        """A socket file that only its owner may use; one that nobody answers at is in nobody's way."""
        path = Path(self.settings.socket_file)
        if path.is_socket() and not answers(path):
            path.unlink()
        if path.exists():
            what = "another server listens there" if path.is_socket() else "it is a file"
            raise SettingsError(f"Cannot listen on {self.address}: {what}. Choose another path.")
        before = os.umask(0o177)
        try:
            self._open(self.address)
        finally:
            os.umask(before)
        return 0

    def _open(self, address: str) -> int:
        credentials = _credentials(self.settings)
        try:
            if credentials is None:
                return self._server.add_insecure_port(address)
            return self._server.add_secure_port(address, credentials)
        except RuntimeError as problem:
            what = "its folder may be missing, or its path too long" if self.settings.listen else "another program may"
            other = "--listen" if self.settings.listen else "--port"
            raise SettingsError(f"Cannot listen on {address}; {what}. Choose another {other}.") from problem


def answers(path: Path) -> bool:
    """Whether a server listens on a socket file."""
    with socket.socket(socket.AF_UNIX) as caller:
        return caller.connect_ex(str(path)) == 0


def _credentials(settings: ServerSettings) -> Any:
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    try:
        pair = (settings.tls_key.read_bytes(), settings.tls_cert.read_bytes())
        root = settings.client_ca.read_bytes() if settings.client_ca is not None else None
    except OSError as problem:
        raise SettingsError(f"{problem.filename} cannot be read: {problem.strerror}.") from problem
    return grpc.ssl_server_credentials([pair], root, require_client_auth=root is not None)


def _offer_reflection(server: Any) -> None:
    from grpc_reflection.v1alpha import reflection

    reflection.enable_server_reflection((SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
