"""Recordings of live games as bots write them, read into one form: calls, and the states seen after them.

Understood are, line by line and mixed as they come (a JSON document with a list of them will do as well):

- requests and answers of the protocol, each on its own line and paired by their ids, or both in one line as `request`
  and `response`; of two files beside each other (`requests….jsonl`, `responses….jsonl`) either may be given
- states, alone or as `state` or `gamestate` beside the call that led to them: `action` (or `call`) with `method` and
  `params`, or these two directly
- what `jimbot play --live` writes
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from jimbot.errors import UsageError
from jimbot.games.balatro.live.calls import Call
from jimbot.games.balatro.live.dialects import MENU

_LOOKS = ("health", "gamestate", "rpc.discover", "save", "screenshot")


class Seen(NamedTuple):
    """One thing in a recording."""

    place: int
    """Its line, from 1."""
    call: Call | None
    """What was done; None: somebody only looked."""
    state: Any
    """The game after it; None: nobody looked."""


def read_lines(lines: Iterable[tuple[int, Any]]) -> list[Seen]:
    """What the lines of a recording tell, in order."""
    found: list[Seen] = []
    asked: defaultdict[str, deque[tuple[int, Call]]] = defaultdict(deque)  # by id, which some bots use again
    for place, line in lines:
        if not isinstance(line, Mapping):
            raise UsageError(f"Line {place} is no object; expected requests, answers or states of a live game.")
        if "request" in line and isinstance(line["request"], Mapping | None):
            found += _exchange(place, line)
        elif "method" in line and not _state_of(line):
            asked[str(line.get("id"))].append((place, _call(place, line)))
        elif "jsonrpc" in line and ("result" in line or "error" in line):
            found += _answered(place, line, asked)
        else:
            found += _told(place, line)
    left = (one for waiting in asked.values() for one in waiting)
    found += [Seen(place, call, None) for place, call in left if call.method not in _LOOKS]
    return sorted(found, key=lambda seen: seen.place)


def _exchange(place: int, line: Mapping[str, Any]) -> list[Seen]:
    """A line with request and response; ours has the state once it stood still beside them."""
    request, response = line["request"], line.get("response")
    if request is None:  # a choice that went over no wire
        return []
    call, state = _call(place, request), line.get("state")
    refused = bool(line.get("refusal")) or (isinstance(response, Mapping) and "error" in response)
    if state is None and isinstance(response, Mapping):
        state = response.get("result", response if _is_state(response) else None)
    done = not refused and line.get("happened") is not False and call.method not in _LOOKS
    return [Seen(place, call if done else None, state if _is_state(state) else None)]


def _answered(place: int, line: Mapping[str, Any], asked: Mapping[str, deque[tuple[int, Call]]]) -> list[Seen]:
    waiting = asked[str(line.get("id"))]
    first, call = waiting.popleft() if waiting else (place, None)
    state = line.get("result") if _is_state(line.get("result")) else None
    if call is None or call.method in _LOOKS or "error" in line:
        return [Seen(first, None, state)] if state is not None else []
    return [Seen(first, call, state)]


def _told(place: int, line: Mapping[str, Any]) -> list[Seen]:
    if line.get("kind") == "end":
        return []
    state = _state_of(line)
    if state is None:
        keys = ", ".join(list(line)[:6])
        raise UsageError(f"Line {place} with the keys {keys} is nothing of a live game; expected requests or states.")
    if line.get("kind") == "run":
        return [Seen(place, Call("start", {}), state)]
    done = line.get("action", line.get("call"))
    if isinstance(done, Mapping):
        return [Seen(place, _call(place, done), state)]
    return [Seen(place, _call(place, line) if "method" in line else None, state)]


def _state_of(line: Mapping[str, Any]) -> Any:
    candidates = (line, line.get("gamestate"), line.get("state"), line.get("result"))
    return next((one for one in candidates if _is_state(one)), None)


def _is_state(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("state"), str)
        and ("round_num" in value or value["state"] == MENU)
    )


def _call(place: int, value: Mapping[str, Any]) -> Call:
    method, params = value.get("method"), value.get("params") or {}
    if not isinstance(method, str) or not isinstance(params, Mapping):
        raise UsageError(f"Line {place} has the method {method!r}; expected one of the protocol, with params.")
    return Call(method, dict(params))
