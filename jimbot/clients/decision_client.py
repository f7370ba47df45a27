"""`DecisionClient` asks a decision service and does not give up at the first trouble, nor ask for ever.

    with DecisionClient("127.0.0.1:50051") as client:
        answer = client.decide(request)

Every call has a deadline. Requests carry an id, and the service answers the same id with the same decision, so an
attempt that was lost can be repeated without harm; what cannot help (a wrong request, a wrong token) is not. Answers
to the same state by the same policy are kept for a moment. `AsyncDecisionClient` is the same for event loops.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Self

from jimbot.clients.resilience import AdaptiveTimeout, Attempts, CircuitBreaker, RetryBudget, RetryPolicy
from jimbot.errors import JimbotError, MissingExtraError
from jimbot.proto import decisions_pb2 as wire
from jimbot.proto.events_pb2 import LearningDecisionRequest, LearningDecisionResponse

DEFAULT_ADDRESS = "127.0.0.1:50051"
RETRY_AFTER = "retry-after-ms"
MOST_BYTES = 64 * 2**20  # of an answer
_WORTH_RETRYING = ("UNAVAILABLE", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED", "ABORTED", "CANCELLED")
_ITS_FAULT = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "INTERNAL", "UNKNOWN")  # what opens the circuit


class DecisionError(JimbotError):
    """A decision service gave no decision. `code` is the name of its status."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class _Client:
    """What both clients share: all but the waiting."""

    def __init__(
        self,
        address: str = DEFAULT_ADDRESS,
        *,
        token: str | None = None,
        root_cert: Path | None = None,
        client_cert: tuple[Path, Path] | None = None,
        patience: RetryPolicy = RetryPolicy(),
        cache_seconds: float = 0.0,
        cache_size: int = 1024,
    ) -> None:
        """`root_cert` switches TLS on; `client_cert` is (certificate, key) where the service asks for one. Answers to
        the same state are kept for `cache_seconds`."""
        self.address = address
        self.patience = patience
        self.breaker = CircuitBreaker(patience.failures, patience.rest)
        self.timeout = AdaptiveTimeout(patience.floor, patience.cap)
        self.retries = self.cache_hits = 0
        self._open_calls = 0
        self._budget = RetryBudget(patience.budget, max(10.0, patience.budget))
        self._metadata: tuple[tuple[str, str], ...] = ((("authorization", f"Bearer {token}"),)) if token else ()
        self._tls = (root_cert, client_cert)
        self._cache_seconds, self._cache_size = cache_seconds, cache_size
        self._cache: OrderedDict[bytes, tuple[float, LearningDecisionResponse]] = OrderedDict()
        self._lock = threading.Lock()

    def _headers(self) -> tuple[tuple[str, str], ...]:
        """The token, and the trace of a program that traces itself."""
        if "opentelemetry.trace" not in sys.modules:
            return self._metadata
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        trace: dict[str, str] = {}
        TraceContextTextMapPropagator().inject(trace)
        return (*self._metadata, *trace.items())

    def _options(self) -> list[tuple[str, Any]]:
        return [("grpc.max_receive_message_length", MOST_BYTES), ("grpc.initial_reconnect_backoff_ms", 100),
                ("grpc.max_reconnect_backoff_ms", 1000), ("grpc.enable_retries", 0)]  # fmt: skip

    def _channel(self, module: Any) -> Any:
        root, pair = self._tls
        if root is None:
            return module.insecure_channel(self.address, self._options())
        key, cert = (pair[1].read_bytes(), pair[0].read_bytes()) if pair else (None, None)
        credentials = _grpc().ssl_channel_credentials(root.read_bytes(), key, cert)
        return module.secure_channel(self.address, credentials, self._options())

    def _prepared(self, request: LearningDecisionRequest) -> LearningDecisionRequest:
        if not request.request_id:
            request.request_id = uuid.uuid4().hex
        if not request.time_limit_ms:
            request.time_limit_ms = max(1, round(self.patience.deadline * 1000))
        return request

    def _cached(self, request: LearningDecisionRequest) -> tuple[bytes, LearningDecisionResponse | None]:
        if not self._cache_seconds or request.choosing.sample:
            return b"", None
        key = LearningDecisionRequest(
            game=request.game,
            game_version=request.game_version,
            game_state=request.game_state,
            policy=request.policy,
            available_actions=request.available_actions,
            available_labels=request.available_labels,
            choosing=request.choosing,
        ).SerializeToString(deterministic=True)
        with self._lock:
            found = self._cache.get(key)
            if found is None or time.monotonic() - found[0] > self._cache_seconds:
                return key, None
            self.cache_hits += 1
            answer = LearningDecisionResponse()
            answer.CopyFrom(found[1])
        answer.request_id, answer.cached = request.request_id, True
        return key, answer

    def _keep(self, key: bytes, answer: LearningDecisionResponse) -> None:
        if not key or answer.fallback:
            return
        with self._lock:
            if any(kept.policy.hash != answer.policy.hash for _, kept in list(self._cache.values())[-1:]):
                self._cache.clear()  # the policy was exchanged; what the old one said is history
            self._cache[key] = (time.monotonic(), answer)
            while len(self._cache) > self._cache_size:
                self._cache.popitem(last=False)

    def _require_circuit(self) -> None:
        if not self.breaker.may_call():
            raise DecisionError(
                "UNAVAILABLE",
                f"The decision service at {self.address} failed {self.patience.failures} times in a row; it is asked "
                f"again after {self.patience.rest:g} s.",
            )

    @contextmanager
    def _one_of(self) -> Generator[None]:
        """One of the calls that may be open at once."""
        with self._lock:
            if self._open_calls >= self.patience.at_once:
                raise DecisionError(
                    "RESOURCE_EXHAUSTED",
                    f"{self._open_calls} calls to {self.address} are open; wait for some, or ask in batches (stream).",
                )
            self._open_calls += 1
        try:
            yield
        finally:
            with self._lock:
                self._open_calls -= 1

    def _answered(self, began: float) -> None:
        self.timeout.note(time.monotonic() - began)
        self.breaker.succeeded()

    def _after_failure(self, problem: Any, attempts: Attempts) -> float:
        """Seconds until the next attempt, or the error of the last one."""
        code = problem.code().name
        if code in _ITS_FAULT:
            self.breaker.failed()
        else:
            self.breaker.succeeded()
        hint = next((value for key, value in problem.trailing_metadata() or () if key == RETRY_AFTER), "0")
        pause = attempts.retry_in(int(hint) / 1000 if hint.isdigit() else 0.0) if code in _WORTH_RETRYING else None
        if pause is None or (code == "DEADLINE_EXCEEDED" and attempts.remaining <= 0):
            raise DecisionError(code, _sentence(self.address, code, problem.details(), attempts.made)) from problem
        self.retries += 1
        return pause


class DecisionClient(_Client):
    """For programs that wait."""

    def __init__(self, address: str = DEFAULT_ADDRESS, **settings: Any) -> None:
        super().__init__(address, **settings)
        self._grpc = _grpc()
        self._open = self._channel(self._grpc)
        self._stub = _stub(self._open)

    def decide(self, request: LearningDecisionRequest) -> LearningDecisionResponse:
        """One decision, within the client's deadline."""
        key, answer = self._cached(self._prepared(request))
        if answer is None:
            with self._one_of():
                answer = self._call(self._stub.GetDecision, request)
            self._keep(key, answer)
        return answer

    def policies(self, game: str = "") -> wire.PoliciesResponse:
        """What is served."""
        return self._call(self._stub.GetPolicies, wire.PoliciesRequest(game=game))

    def stream(self) -> DecisionStream:
        """An open stream for many rows at once."""
        return DecisionStream(self)

    def close(self) -> None:
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _call(self, method: Any, request: Any) -> Any:
        attempts = Attempts(self.patience, self._budget, self.timeout)
        while True:
            self._require_circuit()
            began = time.monotonic()
            try:
                answer = method(request, timeout=attempts.next_timeout(), metadata=self._headers())
            except self._grpc.RpcError as problem:
                time.sleep(self._after_failure(problem, attempts))
            else:
                self._answered(began)
                return answer


class DecisionStream:
    """Messages of many rows, answered one after another over one open call; reopened when it breaks."""

    def __init__(self, client: DecisionClient) -> None:
        self._client = client
        self._call: Any = None
        self._outgoing: SimpleQueue[Any] = SimpleQueue()
        self._answers: SimpleQueue[Any] = SimpleQueue()

    def ask(self, batch: wire.DecisionBatch) -> wire.DecisionBatchAnswer:
        """The answer to one message. The message has an id, so it may be sent again over a new stream."""
        client = self._client
        if not batch.batch_id:
            batch.batch_id = uuid.uuid4().hex
        attempts = Attempts(client.patience, client._budget, client.timeout)
        while True:
            client._require_circuit()
            began = time.monotonic()
            try:
                answer = self._sent(batch, attempts.next_timeout())
            except client._grpc.RpcError as problem:
                self.close()
                time.sleep(client._after_failure(problem, attempts))
                continue
            client._answered(began)
            if not answer.HasField("refusal"):
                return answer
            code, hint = answer.refusal.code_name, answer.refusal.retry_after_ms / 1000
            pause = attempts.retry_in(hint) if code in _WORTH_RETRYING else None
            if pause is None:
                raise DecisionError(code, answer.refusal.message)
            client.retries += 1
            time.sleep(pause)

    def close(self) -> None:
        if self._call is not None:
            self._outgoing.put(None)
            self._call.cancel()
            self._call = None

    def _sent(self, batch: wire.DecisionBatch, seconds: float) -> wire.DecisionBatchAnswer:
        """One answer, or the error with which the call ended; a call that says nothing in time is ended."""
        if self._call is None:
            self._outgoing, self._answers = SimpleQueue(), SimpleQueue()
            self._call = self._client._stub.Decide(iter(self._outgoing.get, None), metadata=self._client._headers())
            reading = threading.Thread(target=_read, args=(self._call, self._answers), daemon=True)
            reading.start()
        self._outgoing.put(batch)
        try:
            answer = self._answers.get(timeout=seconds)
        except Empty:
            self._call.cancel()
            answer = self._answers.get()
        if isinstance(answer, Exception):
            self._call = None
            raise answer
        return answer


def _read(call: Any, answers: SimpleQueue[Any]) -> None:
    """Hands on what a stream says, and how it ended."""
    try:
        for answer in call:
            answers.put(answer)
    except Exception as problem:  # an RpcError, for the caller
        answers.put(problem)
    else:
        answers.put(DecisionError("UNAVAILABLE", "The service closed the stream; ask again."))


class AsyncDecisionClient(_Client):
    """For event loops."""

    def __init__(self, address: str = DEFAULT_ADDRESS, **settings: Any) -> None:
        super().__init__(address, **settings)
        self._grpc = _grpc()
        self._open: Any = None
        self._stub: Any = None

    async def decide(self, request: LearningDecisionRequest) -> LearningDecisionResponse:
        """One decision, within the client's deadline."""
        key, answer = self._cached(self._prepared(request))
        if answer is None:
            with self._one_of():
                answer = await self._call("GetDecision", request)
            self._keep(key, answer)
        return answer

    async def policies(self, game: str = "") -> wire.PoliciesResponse:
        """What is served."""
        return await self._call("GetPolicies", wire.PoliciesRequest(game=game))

    def stream(self) -> Any:
        """The open call itself: `await call.write(batch)`, `await call.read()`."""
        return self._connected().Decide(metadata=self._headers())

    async def close(self) -> None:
        if self._open is not None:
            await self._open.close()
            self._open = self._stub = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _connected(self) -> Any:
        if self._stub is None:  # made inside the loop that uses it
            self._open = self._channel(self._grpc.aio)
            self._stub = _stub(self._open)
        return self._stub

    async def _call(self, method: str, request: Any) -> Any:
        attempts = Attempts(self.patience, self._budget, self.timeout)
        while True:
            self._require_circuit()
            began = time.monotonic()
            call = getattr(self._connected(), method)
            try:
                answer = await call(request, timeout=attempts.next_timeout(), metadata=self._headers())
            except self._grpc.aio.AioRpcError as problem:
                await asyncio.sleep(self._after_failure(problem, attempts))
            else:
                self._answered(began)
                return answer


def _grpc() -> Any:
    try:
        import grpc
        import grpc.aio
    except ModuleNotFoundError as problem:
        raise MissingExtraError("gRPC", "serve") from problem
    return grpc


def _stub(channel: Any) -> Any:
    from jimbot.proto.decisions_pb2_grpc import DecisionServiceStub

    return DecisionServiceStub(channel)


def _sentence(address: str, code: str, details: str | None, attempts: int) -> str:
    if code == "UNAVAILABLE":
        return f"No decision service answers at {address} ({attempts} attempts). Start one: jimbot serve"
    if code == "DEADLINE_EXCEEDED":
        return f"The decision service at {address} did not answer in time ({attempts} attempts)."
    return f"The decision service at {address} refused: {details or code}"
