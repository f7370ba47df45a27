"""Seeds as people write them: numbers in every game, and the game's own texts where it has a `seed_form`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from jimbot.errors import UsageError
from jimbot.games.entry import GameEntry

LARGEST_SEED = 2**64 - 1


def seed_number(entry: GameEntry | None, text: str | int) -> int:
    """The seed that a text means: a whole number, or a text of the game's own form."""
    word = str(text).strip()
    if word.isascii() and word.isdigit() and len(word) <= 20 and int(word) <= LARGEST_SEED:
        return int(word)
    form = entry.seed_form if entry is not None else None
    if form is not None and any(letter.isalpha() for letter in word):
        return form.read(word)
    own = f", or a seed of the game such as {form.example}" if form is not None else ""
    raise UsageError(f"'{word[:40]}' is not a seed; expected a whole number from 0 to {LARGEST_SEED}{own}.")


def seed_name(entry: GameEntry, seed: int, options: Mapping[str, Any] = MappingProxyType({})) -> str:
    """A seed as the game writes it; `seed_number` reads it back. An option of the game may have fixed another one."""
    if entry.seed_form is not None and (fixed := options.get(entry.seed_form.option)):
        return str(fixed).upper()
    own = entry.seed_form.write(seed) if entry.seed_form is not None else ""
    # A text of digits alone would be read as a number, and numbers beyond the form's texts have none of their own.
    return own if own and not own.isdigit() and seed_number(entry, own) == seed else str(seed)
