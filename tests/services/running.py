"""A real server on a loopback port, in a thread of the test's own process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from jimbot.services.decision import DecisionService
from jimbot.services.grpc_server import DecisionServer, ServerSettings


class Running:
    """A server and the loop it runs in."""

    def __init__(self, service: DecisionService, **settings: Any) -> None:
        self.server = DecisionServer(service, ServerSettings(**{"port": 0, **settings}))
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self.do(self.server.start())

    def do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    @property
    def address(self) -> str:
        return self.server.address

    def stop(self) -> None:
        self.do(self.server.stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)


@contextmanager
def running(service: DecisionService, **settings: Any) -> Generator[Running]:
    opened = Running(service, **settings)
    opened.do(opened.server.ready())
    try:
        yield opened
    finally:
        opened.stop()
