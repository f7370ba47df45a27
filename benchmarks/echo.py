"""A bare gRPC server: it reads a question and answers with one and the same message. `python -m benchmarks.echo`."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import grpc

from jimbot.proto import decisions_pb2_grpc, events_pb2


class Echo(decisions_pb2_grpc.DecisionServiceServicer):
    answer = events_pb2.LearningDecisionResponse(confidence=1.0, strategy_name="echo")

    async def GetDecision(self, request: events_pb2.LearningDecisionRequest, context: Any) -> Any:  # noqa: N802
        return self.answer


async def main() -> None:
    server = grpc.aio.server()
    decisions_pb2_grpc.add_DecisionServiceServicer_to_server(Echo(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(f"Listening on 127.0.0.1:{port}. It echoes.", file=sys.stderr, flush=True)
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(main())
