"""Asking Claude, with manners: inside a deadline, inside the budget, and never twice where once was too much.

Every attempt reserves its worst case before a byte is sent and is settled after: with the usage the service reports,
with nothing where the service said it failed (it charges nothing then), and in full where nobody knows. The SDK's own
retries are off, because they would spend what was not reserved.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

from jimbot.adviser.ledger import Denied, Ledger, LedgerError, Limits, Reservation
from jimbot.adviser.metrics import AdviceMetrics
from jimbot.adviser.prices import Cost, Usage, model_for
from jimbot.adviser.question import Question
from jimbot.adviser.reply import TOOL, Advice, NoAdviceError, read_reply, tool
from jimbot.adviser.settings import AdviserSettings
from jimbot.background import Backoff
from jimbot.clients.resilience import CircuitBreaker
from jimbot.errors import MissingExtraError
from jimbot.games.contract import game_entry

ADVISER = "adviser_v1"
"""Prompts are files with a version in their name. A released file is never changed: a new wording is a new version, and
answers that are remembered belong to the version they were given to."""
KEY, ADDRESS = "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"
OVERHEAD = 1000  # tokens the service adds by itself: roles, and how tools are called
LONGEST_PROMPT = 90_000  # bytes; beyond 100,000 tokens some models cost more
LONGEST_PAGE = 40_000
MOST_TOKENS = 10**9  # of one call; who says more is not believed
LONGEST_BAN = 900.0
PAUSES = Backoff(0.5, 8.0, jitter=True)
FAILURES, REST = 4, 60.0
_LIMITED = ("requests", "tokens", "input-tokens", "output-tokens")


@cache
def prompt(name: str) -> str:
    """The text of a prompt."""
    return files("jimbot.adviser").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8").strip()


def has_key() -> bool:
    return bool(os.environ.get(KEY, "").strip())


class Claude:
    """One model of Claude behind the Messages API."""

    used_llm = True

    def __init__(
        self, settings: AdviserSettings, ledger: Ledger, run: str, metrics: AdviceMetrics,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:  # fmt: skip
        self.settings, self.run = settings, run
        self.model = model_for(settings)
        self.name = self.model.name
        self.edition = f"{self.name} {ADVISER}"
        self._ledger, self._limits, self._metrics, self._sleep = ledger, Limits.of(settings), metrics, sleep
        self._breaker = CircuitBreaker(FAILURES, REST)
        self._not_before = 0.0  # time.monotonic; what the service asked for
        self._lock = threading.Lock()
        self._client: Any = None

    def ask(self, question: Question, seconds: float) -> Advice:
        """Advice within so many seconds, or a NoAdviceError."""
        if not has_key():
            raise NoAdviceError("no_key", f"Set {KEY}, or let the planner stand in (source=planner).")
        ends = time.monotonic() + min(seconds, self.settings.seconds)
        request = self.request(question)
        for attempt in range(self.settings.attempts):
            try:
                message = self._attempt(request, ends)
            except _AgainError as problem:
                pause = max(problem.wait, PAUSES.pause(attempt + 1))
                last = attempt == self.settings.attempts - 1
                if last or time.monotonic() + pause >= ends:
                    raise NoAdviceError(problem.outcome, problem.details) from problem
                self._metrics.add(retries=1)
                self._sleep(pause)
            else:
                return read_reply(message, question, self.name)
        raise AssertionError("an attempt returns or raises")

    def request(self, question: Question) -> dict[str, Any]:
        """What is sent. Tool and system prompt are the same for every question about a game and marked to be kept by
        the service; only the table is new."""
        table = question.document(self.settings.moves)
        page = game_page(question.entry.spec.id)
        system: list[dict[str, Any]] = [{"type": "text", "text": prompt(ADVISER)}]
        if page:
            system.append({"type": "text", "text": page})
        system[-1]["cache_control"] = {"type": "ephemeral"}
        choice = {"type": "tool", "name": TOOL} if self.model.forced else {"type": "auto"}
        request: dict[str, Any] = {
            "model": self.model.name, "max_tokens": self.settings.max_tokens, "tools": [tool()],
            "tool_choice": {**choice, "disable_parallel_tool_use": True}, "system": system,
            "messages": [{"role": "user", "content": f"<table>\n{table}\n</table>\nWhich move? Call {TOOL} once."}],
            **self.model.extras,
        }  # fmt: skip
        if _size(request) > LONGEST_PROMPT:
            raise NoAdviceError("fault", f"The question has {_size(request):,} bytes; {LONGEST_PROMPT:,} are the most.")
        return request

    # --- one attempt ---

    def _attempt(self, request: dict[str, Any], ends: float) -> Any:
        remaining = ends - time.monotonic()
        if remaining <= 0.01:
            raise NoAdviceError("too_late")
        if time.monotonic() < self._not_before or not self._breaker.may_call():
            raise NoAdviceError("resting")
        reserved = self._reserve(request)
        try:
            body, headers = self._send(request, remaining)
        except _FailedError as failed:
            self._settle(reserved, Cost(0, 0) if failed.free else reserved.cost, failed.outcome)
            self._note_failure(failed)
            if failed.again:
                raise _AgainError(failed) from failed
            raise NoAdviceError(failed.outcome, failed.details) from failed
        except BaseException:
            self._settle(reserved, reserved.cost, "fault")
            raise
        self._breaker.succeeded()
        self._heed(headers)
        usage = _usage(body)
        self._settle(reserved, reserved.cost if usage is None else self.model.cost(usage), "answered")
        return body

    def _reserve(self, request: dict[str, Any]) -> Reservation:
        worst = self.model.worst(_size(request) + OVERHEAD, self.settings.max_tokens)
        try:
            reserved = self._ledger.reserve(self.run, self.name, worst, self._limits)
        except LedgerError as problem:
            raise NoAdviceError("ledger", str(problem)) from problem
        if isinstance(reserved, Denied):
            raise NoAdviceError("budget", reserved.sentence)
        return reserved

    def _settle(self, reserved: Reservation, cost: Cost, outcome: str) -> None:
        self._metrics.add(tokens=cost.tokens, nano=cost.nano)
        try:
            self._ledger.settle(reserved, cost, outcome)
        except LedgerError as problem:  # it stays charged in full
            raise NoAdviceError("ledger", str(problem)) from problem

    def _send(self, request: dict[str, Any], seconds: float) -> tuple[Any, Mapping[str, str]]:
        """(the answer as plain values, its headers), or a _FailedError."""
        sdk = _sdk()
        try:
            raw = self._connection().messages.with_raw_response.create(**request, timeout=seconds)
            return json.loads(raw.text()), raw.headers
        except sdk.APITimeoutError as problem:
            raise _FailedError("timeout", again=True, free=_never_sent(problem)) from problem
        except sdk.APIConnectionError as problem:
            raise _FailedError("unreachable", str(problem)[:200], again=True, free=_never_sent(problem)) from problem
        except sdk.APIStatusError as problem:
            raise _status_failure(problem) from problem
        except (ValueError, RecursionError, sdk.APIError) as problem:  # not JSON, or no answer of this API
            raise _FailedError("malformed", again=False, free=False) from problem

    def _connection(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = _sdk().Anthropic(
                    api_key=os.environ[KEY].strip(), base_url=os.environ.get(ADDRESS) or None, max_retries=0
                )
            return self._client

    def _note_failure(self, failed: _FailedError) -> None:
        if failed.wait:
            self._not_before = max(self._not_before, time.monotonic() + min(LONGEST_BAN, failed.wait))
        if failed.outcome in ("unreachable", "timeout", "server_error", "rejected"):
            self._breaker.failed()
        else:
            self._breaker.succeeded()

    def _heed(self, headers: Mapping[str, str]) -> None:
        """Where the service says that nothing is left, nobody is asked until it says there is again."""
        for what in _LIMITED:
            if headers.get(f"anthropic-ratelimit-{what}-remaining") == "0":
                wait = _seconds_until(headers.get(f"anthropic-ratelimit-{what}-reset", ""))
                self._not_before = max(self._not_before, time.monotonic() + min(LONGEST_BAN, wait))


class _FailedError(Exception):
    """An attempt without an answer."""

    def __init__(self, outcome: str, details: str = "", *, again: bool, free: bool, wait: float = 0.0) -> None:
        super().__init__(outcome)
        self.outcome, self.details, self.again, self.free, self.wait = outcome, details, again, free, wait


class _AgainError(Exception):
    """Worth another attempt, after `wait` seconds at least."""

    def __init__(self, failed: _FailedError) -> None:
        super().__init__(failed.outcome)
        self.outcome, self.details, self.wait = failed.outcome, failed.details, failed.wait


@cache
def game_page(game: str) -> str:
    """What does not change about a game: what it is about, and what its parts do."""
    entry = game_entry(game)
    known = entry.knowledge.parts() if entry.knowledge is not None else ()
    parts = [f"- {part.kind} {part.name}: {part.words}" for part in known]
    page = "\n".join(["# The game", entry.about, *(["", "# Its parts", *parts] if parts else [])]).strip()
    return page.encode()[:LONGEST_PAGE].decode(errors="ignore") if entry.about or parts else ""


def _sdk() -> Any:
    try:
        import anthropic
    except ModuleNotFoundError as problem:
        raise MissingExtraError("The Anthropic SDK", "llm") from problem
    return anthropic


def _size(request: Mapping[str, Any]) -> int:
    """Bytes of all that is read; no token is shorter than one."""
    return len(json.dumps(request, ensure_ascii=False).encode())


def _never_sent(problem: BaseException) -> bool:
    """Whether no connection came about, so that nothing can have been charged."""
    return type(problem.__cause__).__name__ in ("ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol")


def _status_failure(problem: Any) -> _FailedError:
    status = problem.status_code
    wait = _retry_after(problem.response.headers)
    details = f"It answered {status}."
    if status == 429:
        return _FailedError("rate_limited", details, again=True, free=True, wait=wait)
    if status >= 500 or status in (408, 409):
        return _FailedError("server_error", details, again=True, free=True, wait=wait)
    return _FailedError("rejected", details, again=False, free=True, wait=wait)


def _retry_after(headers: Mapping[str, str]) -> float:
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) * unit)
        except (KeyError, ValueError):
            continue
    return 0.0


def _seconds_until(moment: str) -> float:
    """From now until a time in ISO form; a minute where it cannot be read."""
    try:
        return max(0.0, (datetime.fromisoformat(moment) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return 60.0


def _usage(body: Any) -> Usage | None:
    """What the service says it counted; None where it does not say it in whole numbers."""
    said = body.get("usage") if isinstance(body, Mapping) else None
    if not isinstance(said, Mapping):
        return None
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    counts = [said.get(name) or 0 for name in names]
    if any(not isinstance(count, int) or isinstance(count, bool) or not 0 <= count < MOST_TOKENS for count in counts):
        return None
    return Usage(*counts)
