"""A real server on a free port, and a real Chromium that looks at it."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright
from playwright.sync_api import Page as Tab

from jimbot.processes import free_port
from jimbot.viewer.http.server import Page, page_server

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
]  # fmt: skip
HOW = "The tests of the page need Chromium; install it with: apt-get install -y chromium (or set JIMBOT_CHROMIUM)."


class Served:
    """A page that is being served, on a port that stays the same when it is stopped and started again."""

    def __init__(self, roots: Sequence[Path], tokens: Any = None) -> None:
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self._roots, self._tokens = roots, tokens
        self.start()

    def start(self) -> None:
        self.page = Page(self._roots)
        self._server = page_server(self.page, "127.0.0.1", self.port, self._tokens)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        until = time.monotonic() + 30
        while not self._server.started:
            assert time.monotonic() < until, "the server did not start"
            time.sleep(0.01)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(20)
        assert not self._thread.is_alive()


@contextmanager
def serving(*roots: Path, tokens: Any = None) -> Generator[Served]:
    served = Served(roots, tokens)
    try:
        yield served
    finally:
        served.stop()


def chromium() -> str:
    found = os.environ.get("JIMBOT_CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None and os.environ.get("CI"):
        pytest.fail(HOW)
    return found or pytest.skip(HOW)


@pytest.fixture(scope="session")
def browser() -> Generator[Browser]:
    program = chromium()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield started
        started.close()


OpenTab = Callable[..., Tab]


@pytest.fixture
def open_tab(browser: Browser) -> Generator[OpenTab]:
    """Opens an address; at the end of the test nothing may have been complained about in any console."""
    complaints: list[str] = []
    contexts = []

    def opened(address: str, width: int = 1280, scheme: str = "light", quiet: Sequence[str] = ()) -> Tab:
        context = browser.new_context(viewport={"width": width, "height": 860}, color_scheme=scheme)
        contexts.append(context)
        tab = context.new_page()
        tab.set_default_timeout(15_000)

        def heard(message: Any) -> None:
            # A server that ends before its browser is no fault of the page; a wrong address still is one.
            if message.type in ("error", "warning") and not any(
                words in message.text for words in (*quiet, "net::ERR_")
            ):
                complaints.append(message.text)

        tab.on("console", heard)
        tab.on("pageerror", lambda problem: complaints.append(str(problem)))
        tab.on("dialog", lambda dialog: complaints.append(f"a dialog: {dialog.message}"))
        tab.goto(address)
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert not complaints
