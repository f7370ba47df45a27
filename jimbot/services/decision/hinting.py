"""What the knowledge graph knows about the state of a decision: the nearest strategy and the strongest claims.

It is asked while the policy computes, within a deadline of its own, and not at all for a while after it failed.
Whatever becomes of it, the decision is the same; only the hint is missing, and counted.
"""

from __future__ import annotations

from typing import Any

from jimbot.knowledge import Hints, KnowledgeGraphClient
from jimbot.services.decision.figures import Figures
from jimbot.services.decision.question import Question


class Hinting:
    """Asks one graph for decisions of its game; the others go without."""

    def __init__(self, client: KnowledgeGraphClient, figures: Figures) -> None:
        self._client, self._figures = client, figures

    def suits(self, question: Question) -> bool:
        """Whether there is anything to ask about."""
        knowledge = question.place.served.entry.knowledge
        return question.request.game == self._client.game and knowledge is not None and (
            knowledge.read_observation is not None
        )  # fmt: skip

    def hints(self, question: Question) -> Hints:
        """Waits no longer than the graph's own deadline; never raises."""
        found = self._client.hints(lambda: self._state(question))
        self._figures.count(self._figures.hints, question.request.game, found.outcome)
        return found

    def close(self) -> None:
        self._client.close()

    def _state(self, question: Question) -> dict[str, Any]:
        knowledge = question.place.served.entry.knowledge
        assert knowledge is not None
        assert knowledge.read_observation is not None
        return knowledge.read_observation(question.sight.observation)
