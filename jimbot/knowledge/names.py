"""Names as people write them → keys of the graph: a key, a name in any case, or the same without blanks and dashes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from jimbot.errors import UnknownNameError
from jimbot.knowledge import schema
from jimbot.knowledge.store import GraphStore, Limits

EVERY_NAME = Limits(rows=100_000)
NAMED = (*schema.PARTS, "Strategy")


class Names:
    """Every name of a graph."""

    def __init__(self, rows: Iterable[tuple[str, str, str]]) -> None:
        """(label, key, name) of every node."""
        self._keys: dict[str, dict[str, str]] = {label: {} for label in NAMED}
        self._names: dict[str, str] = {}
        self._labels: dict[str, str] = {}
        for label, key, name in rows:
            self._names[key], self._labels[key] = name, label
            for spelling in (name, key):  # a key wins over a name that reads the same
                self._keys[label][_plain(spelling)] = key

    @classmethod
    def of(cls, store: GraphStore) -> Names:
        return cls(
            (label, *row)
            for label in NAMED
            for row in store.ask(f"MATCH (n:{label}) RETURN n.key, n.name", limits=EVERY_NAME).values
        )

    def key(self, text: str, *labels: str) -> str:
        """The key a text means among nodes of these labels; an UnknownNameError names the nearest."""
        found = self.find(text, *labels)
        if found is None:
            known = [name for key, name in self._names.items() if self._labels[key] in labels]
            raise UnknownNameError(" or ".join(_words(label) for label in labels), str(text)[:80], known)
        return found

    def find(self, text: str, *labels: str) -> str | None:
        wanted = _plain(str(text))
        return next((self._keys[label][wanted] for label in labels if wanted in self._keys[label]), None)

    def keys(self, texts: Sequence[str], *labels: str) -> list[str]:
        return [self.key(text, *labels) for text in texts]

    def name(self, key: str) -> str:
        return self._names.get(key, key)

    def label(self, key: str) -> str:
        return self._labels[key]

    def all(self, label: str) -> list[str]:
        """Names of one label, sorted."""
        return sorted(self._names[key] for key in set(self._keys[label].values()))


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())


def _words(label: str) -> str:
    """A label as people say it.

    >>> _words("HandType")
    'hand type'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label).lower()
