"""Hints of the user's graph for an adviser, for games that have one."""

from __future__ import annotations

import logging

from jimbot.advisor.hints import Hints, hints_from
from jimbot.errors import JimbotError
from jimbot.games.entry import GameEntry

_log = logging.getLogger("jimbot.services")


def graph_hints(entry: GameEntry) -> Hints | None:
    """None where there is no graph to ask; advice is given without it then."""
    if entry.knowledge is None:
        return None
    from jimbot.knowledge import KnowledgeGraphClient

    try:
        return hints_from(KnowledgeGraphClient(game=entry.spec.id))
    except JimbotError as problem:  # not installed, or a file that cannot be read
        _log.info("The adviser has no hints of the graph: %s", problem)
        return None
