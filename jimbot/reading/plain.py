"""Files as bytes and text, gzip, and JSON, with a bound on everything."""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path
from typing import Any

from jimbot.errors import UnreadableError

LARGEST_FILE = 2**30
"""Bytes of one file that is read as a whole: far above every policy, recording and settings file."""
LARGEST_TEXT = 2**28
"""Bytes that compressed text may become."""
DEEPEST = 100
"""Lists and mappings inside each other."""
MOST_DIGITS = 308
"""Of a whole number: beyond that no float can hold it."""

_GZIP = 16 + zlib.MAX_WBITS  # zlib's way to say: with gzip's header
_SUSPECT = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")  # how JSON spells a NUL or a half of a surrogate pair


def file_bytes(path: str | Path, most: int = LARGEST_FILE) -> bytes:
    """The content of a file of at most `most` bytes."""
    try:
        with open(path, "rb") as file:
            data = file.read(most + 1)
    except (OSError, ValueError) as problem:  # ValueError: a NUL in the name
        raise UnreadableError(f"{getattr(problem, 'strerror', None) or problem}") from problem
    except MemoryError as problem:
        raise UnreadableError("it does not fit into memory") from problem
    if len(data) > most:
        raise UnreadableError(f"it is larger than {most:,} bytes, which nothing of this kind is")
    return data


def file_text(path: str | Path, most: int = LARGEST_FILE) -> str:
    """The content of a file as text."""
    return as_text(file_bytes(path, most))


def as_text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise UnreadableError(f"byte {problem.start} is not UTF-8 text") from problem


def gunzipped(data: bytes, most: int = LARGEST_TEXT) -> bytes:
    """What a gzip file holds; one that grows beyond `most` bytes is given up there."""
    parts: list[bytes] = []
    room = most
    while data:  # a gzip file may be several, one after the other
        stream = zlib.decompressobj(_GZIP)
        try:
            part = stream.decompress(data, room + 1)
        except zlib.error as problem:
            raise UnreadableError(f"it is not gzip ({problem})") from problem
        room -= len(part)
        if room < 0:
            raise UnreadableError(f"it becomes more than {most:,} bytes when unpacked")
        if not stream.eof:
            raise UnreadableError("its compressed data ends too early")
        parts.append(part)
        data = stream.unused_data.lstrip(b"\0")
    return b"".join(parts)


def json_value(text: str | bytes, constants: bool = False, deepest: int = DEEPEST) -> Any:
    """The value in a JSON text. `constants` allows NaN and Infinity, which our own logs of metrics may hold."""
    text = as_text(text) if isinstance(text, bytes) else text
    try:
        value = json.loads(text, parse_int=_whole_number, parse_constant=_constant if constants else _refuse_constant)
    except json.JSONDecodeError as problem:
        raise UnreadableError(f"line {problem.lineno}, column {problem.colno}: {problem.msg}") from problem
    except RecursionError as problem:
        raise UnreadableError("it is nested too deeply") from problem
    if text.count("[") + text.count("{") > deepest or _SUSPECT.search(text):
        check_value(value, deepest)
    return value


def check_value(value: Any, deepest: int = DEEPEST) -> None:
    """Refuses what is nested too deeply for any program to walk, and texts that no name, screen or log can show."""
    level, depth = [value], 0
    while level:
        if depth > deepest:
            raise UnreadableError("it is nested too deeply")
        below: list[Any] = []
        for item in level:
            if isinstance(item, str):
                _check_text(item)
            elif isinstance(item, dict):
                below += item.keys()
                below += item.values()
            elif isinstance(item, list | tuple | set):
                below += item
        level, depth = below, depth + 1


def is_count(text: str) -> bool:
    """Whether a text is a whole number from 0 on, as people type one: ² is a digit for Python, and none of these.

    >>> is_count("12"), is_count("²"), is_count("-1"), is_count("9" * 400)
    (True, False, False, False)
    """
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS


def _check_text(text: str) -> None:
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise UnreadableError(f"the text {text[:40]!r} holds a character that is none (NUL or half a surrogate pair)")


def _whole_number(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise UnreadableError(f"the number {digits[:12]}… has {len(digits):,} digits; {MOST_DIGITS} are the most")
    return int(digits)


def _constant(name: str) -> float:
    return float(name.replace("Infinity", "inf"))


def _refuse_constant(name: str) -> float:
    raise UnreadableError(f"{name} is not a number that JSON knows")
