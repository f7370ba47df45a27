"""What the commands of `jimbot graph` share."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from jimbot.cli.shared.completion import complete_game

if TYPE_CHECKING:
    from jimbot.knowledge import KnowledgeGraphClient

GraphOption = Annotated[
    str | None, typer.Option("--graph", metavar="ADDRESS", help="A file, or a server: bolt://HOST:PORT; yours.")
]
GraphGameOption = Annotated[
    str | None, typer.Option("--game", help="Whose graph; the game that ships one.", autocompletion=complete_game)
]


@contextmanager
def opened(graph: str | None, game: str | None) -> Generator[KnowledgeGraphClient]:
    """A client for one command."""
    from jimbot.knowledge import KnowledgeGraphClient

    client = KnowledgeGraphClient(graph, game)
    try:
        yield client
    finally:
        client.close()


def complete_part(incomplete: str) -> list[str]:
    """Names of jokers, bosses, hand types and strategies of the user's graph."""
    from jimbot.errors import JimbotError

    try:
        with opened(None, None) as client:
            if not client.store.exists():
                return []
            names = [name for label in ("Joker", "Boss", "HandType", "Strategy") for name in client.names.all(label)]
    except JimbotError:
        return []
    return [name for name in names if name.casefold().startswith(incomplete.casefold())]
