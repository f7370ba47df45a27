"""Why a request gets no decision: a status code every caller knows, and one sentence."""

from __future__ import annotations

from enum import IntEnum

from jimbot.errors import JimbotError
from jimbot.proto import events_pb2 as messages


class Code(IntEnum):
    """The codes of gRPC that are used here, by their own numbers; this room works without gRPC."""

    OK = 0
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    INTERNAL = 13
    UNAVAILABLE = 14
    UNAUTHENTICATED = 16


class RefusedError(JimbotError):
    """A request was not answered with a decision."""

    def __init__(self, code: Code, message: str, retry_after_ms: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after_ms = retry_after_ms
        """When asking again may help; 0: it does not."""


def invalid(message: str) -> RefusedError:
    return RefusedError(Code.INVALID_ARGUMENT, message)


def stopping() -> RefusedError:
    return RefusedError(Code.UNAVAILABLE, "The service is stopping; ask another one.", 1000)


def refusal_message(refusal: RefusedError) -> messages.Refusal:
    """A refusal where there is no status code to carry it."""
    return messages.Refusal(
        code=refusal.code,
        code_name=refusal.code.name,
        message=str(refusal),
        retry_after_ms=refusal.retry_after_ms,
    )
