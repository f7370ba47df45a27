"""What a pickle says, read without doing it.

A pickle is a program: unpickling imports and calls whatever it names. Its instructions can be read as text, though
(`pickletools`, which also says what each takes from a stack and puts there), so they are followed here for plain values
only. A class or function of the file is a name that is never looked up. What would be made with one is `OTHER`,
whatever it is: a configuration of a user's own class, a path, an array, an attack.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from jimbot.errors import UnreadableError

OTHER = object()
"""Stands for all that is no plain value."""
MARK = pickletools.markobject


class Named(NamedTuple):
    """A class or function, as "module name"."""

    name: str


def pickled_values(data: bytes, makers: Mapping[str, Callable[..., Any]], stored: Callable[[Any], Any]) -> Any:
    """Texts, numbers, tuples and dictionaries of a pickle. `makers` are our own stand-ins for functions it may name,
    `stored` gives what lies outside of it (a persistent id)."""
    reader = _Reader(makers, stored)
    try:
        for instruction, argument, _ in pickletools.genops(data):
            reader.follow(instruction, argument)
        return reader.last
    except Exception as problem:  # a damaged pickle ends in any of Python's errors, with texts of its own
        raise UnreadableError(f"its list of contents is damaged ({type(problem).__name__})") from problem


class _Reader:
    """The stack and the memory of one pickle."""

    def __init__(self, makers: Mapping[str, Callable[..., Any]], stored: Callable[[Any], Any]) -> None:
        self._makers, self._stored = makers, stored
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self.last: Any = OTHER

    def follow(self, instruction: pickletools.OpcodeInfo, argument: Any) -> None:
        below, items = self._taken(instruction.stack_before)
        match instruction.name:
            case "PUT" | "BINPUT" | "LONG_BINPUT":
                self._memo[argument] = self._stack[-1]
            case "MEMOIZE":
                self._memo[len(self._memo)] = below[0]
                self._stack += below
            case "GET" | "BINGET" | "LONG_BINGET":
                self._stack.append(self._memo[argument])
            case "DUP":
                self._stack += below * 2
            case "STOP":
                self.last = below[0]
            case "EMPTY_TUPLE" | "TUPLE1" | "TUPLE2" | "TUPLE3" | "TUPLE":
                self._stack.append((*below, *items))
            case "EMPTY_DICT" | "DICT":
                self._stack.append(_filled({}, items))
            case "SETITEM" | "SETITEMS":
                self._stack.append(_filled(below[0], [*below[1:], *items]))
            case "APPEND" | "APPENDS" | "ADDITEMS" | "BUILD":
                self._stack.append(below[0])
            case "GLOBAL":
                self._stack.append(Named(argument))
            case "STACK_GLOBAL":
                self._stack.append(Named(" ".join(below)))
            case "REDUCE":
                self._stack.append(self.made(*below))
            case "BINPERSID":
                self._stack.append(self._stored(below[0]))
            case _:
                self._stack += [_plain(after, argument) for after in instruction.stack_after]

    def made(self, maker: Any, arguments: Any) -> Any:
        known = self._makers.get(maker.name) if isinstance(maker, Named) else None
        return OTHER if known is None else known(*arguments)

    def _taken(self, before: list[pickletools.StackObject]) -> tuple[list[Any], list[Any]]:
        """What an instruction takes off the stack: so many values, and those above the last mark."""
        items: list[Any] = []
        if MARK in before:
            while (value := self._stack.pop()) is not MARK:
                items.append(value)
            before = before[: before.index(MARK)]
        return [self._stack.pop() for _ in before][::-1], items[::-1]


def _filled(target: Any, items: list[Any]) -> Any:
    """Keys that are no texts are left out: nothing of the file's is ever hashed or compared."""
    if isinstance(target, dict):
        target.update((key, value) for key, value in zip(items[::2], items[1::2], strict=True) if type(key) is str)
    return target


def _plain(after: pickletools.StackObject, argument: Any) -> Any:
    if after is MARK:
        return MARK
    return argument if isinstance(argument, str | int | float) else OTHER
