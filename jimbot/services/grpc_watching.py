"""The standard health protocol of gRPC, for anybody who asks; within limits of its own.

Health needs no token, and watching it never ends: a thousand watchers must not take the place of those who ask for
decisions. So what health takes is counted by itself, and a call that brings no question is not waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from jimbot.errors import MissingExtraError

try:
    import grpc
    from grpc_health.v1 import health, health_pb2
except ModuleNotFoundError as problem:
    raise MissingExtraError("gRPC", "serve") from problem

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
            with self._place():
                try:
                    question = await asyncio.wait_for(anext(aiter(questions)), QUESTION_SECONDS)
                except (TimeoutError, StopAsyncIteration):
                    await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "The call brought no question.")
                return await answer(question, context)

        return answered

    @contextmanager
    def _place(self) -> Generator[None]:
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1


def _written(answer: Any) -> bytes:
    return answer.SerializeToString()
