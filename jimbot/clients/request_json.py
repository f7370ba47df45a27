"""Requests and answers as people write and read them: plain JSON.

    {"game": "hackmatrix", "observation": [0.0, …], "legal_mask": [true, …]}         or
    {"game": "hackmatrix", "state": {"player": [3, 3], …}}                           or
    {"game": "balatro", "snapshot": "state.npz"}                                     or
    {"game": "balatro", "form": "my-mod/1", "body": "…"}                             (or an object, sent as JSON)

`legal_mask` may also be the numbers of the legal actions. Optional: request_id, policy, game_version, session_id,
available_actions (numbers or labels), time_limit_ms, deterministic (true), temperature, seed, alternatives, context.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.json_format import MessageToDict

from jimbot.errors import UnknownNameError, UnreadableError, UsageError
from jimbot.proto.events_pb2 import Fallback, LearningDecisionRequest, LearningDecisionResponse
from jimbot.reading.plain import json_value

_PLAIN = ("request_id", "game", "game_version", "policy", "session_id", "time_limit_ms")
_CHOOSING = ("deterministic", "temperature", "seed", "alternatives")
_STATES = ("observation", "state", "snapshot", "form")
KEYS = (*_PLAIN, *_CHOOSING, *_STATES, "legal_mask", "body", "available_actions", "context")


def read_request(text: str, name: str, actions: int | None = None) -> LearningDecisionRequest:
    """A request from its JSON; `name` is what a complaint calls it, `actions` how many the game has (for masks given as
    numbers of legal actions)."""
    try:
        values = json_value(text)
    except UnreadableError as problem:
        raise UsageError(f"{name} is not JSON: {problem}.") from problem
    if not isinstance(values, dict) or not isinstance(values.get("game"), str):
        raise UsageError(f"{name} needs an object with at least 'game' and a state ({', '.join(_STATES)}).")
    for key in values:
        if key not in KEYS:
            raise UnknownNameError(f"key of {name}", key, KEYS)
    if sum(key in values for key in _STATES) != 1:
        raise UsageError(f"{name} needs exactly one state: {', '.join(_STATES)}.")
    request = LearningDecisionRequest()
    try:
        for key in _PLAIN:
            if key in values:
                setattr(request, key, values[key])
        request.choosing.sample = not values.get("deterministic", True)
        for key in _CHOOSING[1:]:
            if key in values:
                setattr(request.choosing, key, values[key])
        for action in values.get("available_actions", ()):
            (request.available_labels if isinstance(action, str) else request.available_actions).append(action)
        if "context" in values:
            request.context.update(values["context"])
        _put_state(request, values, actions)
    except (TypeError, ValueError, KeyError, AttributeError, OSError) as problem:
        raise UsageError(f"{name} does not make a request: {problem}.") from problem
    return request


def _put_state(request: LearningDecisionRequest, values: dict[str, Any], actions: int | None) -> None:
    state = request.game_state
    if "observation" in values:
        mask = np.asarray(values["legal_mask"])
        if mask.dtype != bool:
            numbers, mask = mask, np.zeros(actions or int(mask.max()) + 1, bool)
            mask[numbers] = True
        state.observation.values = np.asarray(values["observation"], "<f4").ravel().tobytes()
        state.observation.legal_mask = np.packbits(mask, bitorder="little").tobytes()
    elif "state" in values:
        state.by_keys.update(values["state"])
    elif "snapshot" in values:
        state.snapshot = Path(values["snapshot"]).read_bytes()
    else:
        body = values.get("body", "")
        state.foreign.form = values["form"]
        state.foreign.body = (body if isinstance(body, str) else json.dumps(body)).encode()


def plain_answer(answer: LearningDecisionResponse) -> dict[str, Any]:
    """An answer as plain values, by its own names; nothing left out because it is 0."""
    values = MessageToDict(answer, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
    values["fallback"] = Fallback.Name(answer.fallback).removeprefix("FALLBACK_").lower()
    return values
