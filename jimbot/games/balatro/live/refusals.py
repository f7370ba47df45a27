"""How the protocol says no: four names, each with its code, and a sentence."""

from __future__ import annotations

INTERNAL_ERROR, BAD_REQUEST, INVALID_STATE, NOT_ALLOWED = (
    "INTERNAL_ERROR",
    "BAD_REQUEST",
    "INVALID_STATE",
    "NOT_ALLOWED",
)
CODES = {INTERNAL_ERROR: -32000, BAD_REQUEST: -32001, INVALID_STATE: -32002, NOT_ALLOWED: -32003}


class RefusedError(Exception):
    """A call that is answered with an error; the connection is fine."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name, self.message = name, message


class NeverAnsweredError(Exception):
    """A call that is never answered: the mod waits for something that does not come. What it did has happened."""


def bad(message: str) -> RefusedError:
    return RefusedError(BAD_REQUEST, message)


def not_allowed(message: str) -> RefusedError:
    return RefusedError(NOT_ALLOWED, message)


def wrong_state(message: str) -> RefusedError:
    return RefusedError(INVALID_STATE, message)


def failed(message: str) -> RefusedError:
    return RefusedError(INTERNAL_ERROR, message)
