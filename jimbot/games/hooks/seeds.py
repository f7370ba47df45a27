"""A game's own way with seeds: how they are written, and what they hold without being played."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SeedForm:
    """How the game itself writes its seeds."""

    example: str
    read: Callable[[str], int]
    """A text → the seed that means it here; refuses what is none in a sentence."""
    write: Callable[[int], str]
    """A seed → the game's text of it."""
    option: str = ""
    """The option of the game that gives every game one seed, if there is one."""


@dataclass(frozen=True)
class SeedPages:
    """What a seed holds can be told without playing it, and seeds can be searched by it."""

    how: str
    """How a question is written, in a few sentences."""
    preview: Callable[[str, Mapping[str, Any]], dict[str, Any]]
    """(seed as the game writes it, options of its own) → what it holds, ready for JSON."""
    search: Callable[[str, int, Mapping[str, Any]], Iterator[tuple[int, list[str]]]]
    """(question, seeds wanted, options of its own) → (seeds looked at so far, new ones found), again and again."""
    chapters: Callable[[str, Mapping[str, Any]], dict[str, Any]]
    """(seed, options of its own) → the same to be drawn: {"title", "words", "chapters": [{"title", "zones"}]}, zones as
    in `scenes`."""
    choices: Callable[[], Mapping[str, Sequence[str]]]
    """Options of its own that have a list of values, by name."""
    things: Callable[[], Mapping[str, Sequence[str]]]
    """What can be asked for: kind, as a question writes it → names."""
    places: Callable[[str, str, Mapping[str, Any]], list[str]]
    """(question, a seed that answers it, options of its own) → where what was asked for lies, in words."""
