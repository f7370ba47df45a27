"""One decision in words: the table, what may be done, what the policy thinks, what is known about it.

Much of that text comes from outside (nicknames, seeds, names of runs), so all of it is data: letters without control or
direction characters, cut to a length, inside one JSON document whose brackets cannot close anything.
"""

from __future__ import annotations

import hashlib
import json
import logging
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jimbot.errors import JimbotError
from jimbot.games.batch_game import BatchGame
from jimbot.games.entry import GameEntry
from jimbot.policies.contract import Decision

if TYPE_CHECKING:
    from jimbot.knowledge import KnowledgeGraphClient

_log = logging.getLogger("jimbot.adviser")
Hints = Callable[[Mapping[str, Any]], Sequence[str]]
"""A situation by its parts (`Knowledge.read_state`) → what is known about it, a sentence each; never raises."""


def graph_hints(entry: GameEntry) -> Hints | None:
    """Hints of the user's graph, for games that have one; None where there is no graph to ask, and advice is given
    without it."""
    if entry.knowledge is None:
        return None
    from jimbot.knowledge import KnowledgeGraphClient

    try:
        return hints_from(KnowledgeGraphClient(game=entry.spec.id))
    except JimbotError as problem:  # not installed, or a file that cannot be read
        _log.info("The adviser has no hints of the graph: %s", problem)
        return None


def hints_from(graph: KnowledgeGraphClient) -> Hints:
    """The graph's hints; it has a deadline of its own and answers with nothing where it cannot."""
    return lambda parts: sentences(graph.hints(parts))


def sentences(found: Any) -> list[str]:
    """Synergies of what is held, counters to what is met, and the nearest strategy."""
    lines = [f"{_pair(claim, 'with')}: {_amount(claim)}." for claim in found.synergies]
    lines += [f"{_pair(claim, 'against')}: {_amount(claim)}." for claim in found.counters]
    if found.strategy_name:
        words = (found.strategy or {}).get("words") or ""
        lines.append(f"The nearest known strategy is {found.strategy_name}{': ' + words if words else ''}.")
    return lines


def _pair(claim: Mapping[str, Any], between: str) -> str:
    one, other = (claim.get(f"{end}_name") or claim[end] for end in "ab")
    return f"{one} {between} {other}"


def _amount(claim: Mapping[str, Any]) -> str:
    span = f"{claim['low']:+.2f} to {claim['high']:+.2f}"
    return f"{claim['channel']} {claim['strength']:+.2f} ({span}; {claim['evidence']})"


FAVOURITES = 5
LONGEST_STATE, LONGEST_WORDS, LONGEST_HINT, MOST_HINTS = 6000, 160, 300, 12


@dataclass(frozen=True)
class Move:
    """One legal move."""

    action: int
    label: str
    words: str
    probability: float


@dataclass(frozen=True)
class Position:
    """Where a game stands, apart from the game: enough to try moves out in copies of it."""

    game: str
    options: Any
    snapshot: Mapping[str, np.ndarray]
    observation: np.ndarray  # (D,) float32
    legal_mask: np.ndarray  # (A,) bool
    decision: Decision  # of one row


@dataclass(frozen=True)
class Question:
    """What an adviser is shown."""

    entry: GameEntry
    state: str
    moves: tuple[Move, ...]
    """All legal ones, likeliest first."""
    value: float
    hints: tuple[str, ...]
    key: str
    """The hash of the state: what is legal and seen in it, under this version of the game."""
    position: Position | None = None

    def document(self, most_moves: int) -> str:
        """The same as JSON that cannot be mistaken for anything but data."""
        listed = self.moves[:most_moves]
        values = {
            "game": self.entry.spec.id,
            "table": self.state,
            "legal_moves": [_shown(move) for move in listed],
            "legal_moves_not_listed": len(self.moves) - len(listed),
            "policy_prefers": [
                {"action": move.label, "probability": round(move.probability, 3)} for move in self.moves[:FAVOURITES]
            ],
            "known": list(self.hints),
        }
        text = json.dumps(values, ensure_ascii=False, indent=0)
        return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _shown(move: Move) -> dict[str, str]:
    return {"action": move.label} if move.words == move.label else {"action": move.label, "means": move.words}


def quoted(text: str, most: int) -> str:
    """Text from outside as letters: no control, direction or invisible characters, and not too long.

    >>> quoted("Evil\\u202e name\\x1b[31m", 40)
    'Evil name[31m'
    """
    kept = "".join(letter for letter in text if letter == "\n" or unicodedata.category(letter)[0] != "C")
    return kept if len(kept) <= most else kept[: most - 1] + "…"


def question_of(
    entry: GameEntry,
    observation: np.ndarray,
    legal_mask: np.ndarray,
    probabilities: np.ndarray,
    value: float,
    state: str,
    words: Callable[[int], str | None],
    hints: Sequence[str] = (),
    position: Position | None = None,
) -> Question:
    """A question about one state; arrays are of one row."""
    legal = np.flatnonzero(legal_mask)
    order = legal[np.argsort(-probabilities[legal], kind="stable")]
    labels = entry.spec.actions
    moves = []
    for action in order.tolist():
        label = labels.label(action)
        moves.append(Move(action, label, quoted(words(action) or label, LONGEST_WORDS), float(probabilities[action])))
    spec = entry.spec
    digest = hashlib.sha256(f"{spec.id} {spec.version} {spec.actions.fingerprint}".encode())
    digest.update(np.ascontiguousarray(observation, np.float32).tobytes())
    digest.update(np.packbits(legal_mask).tobytes())
    known = tuple(quoted(hint, LONGEST_HINT) for hint in hints[:MOST_HINTS])
    return Question(
        entry, quoted(state, LONGEST_STATE), tuple(moves), value, known, digest.hexdigest(), position
    )  # fmt: skip


def question_in(
    entry: GameEntry, game: BatchGame, row: int, decision: Decision, hints: Hints | None = None, copy: bool = True
) -> Question:
    """A question about a row of a game; with `copy` it holds what a planner needs."""
    known: Sequence[str] = ()
    if hints is not None and entry.knowledge is not None:
        known = hints(entry.knowledge.read_state(game, row))
    position = None
    if copy:
        alone = Decision(*(part[row : row + 1].copy() for part in decision))
        observation, mask = game.observation[row].copy(), game.legal_mask[row].copy()
        position = Position(entry.spec.id, game.options, game.snapshot(np.array([row])), observation, mask, alone)
    return question_of(
        entry, game.observation[row], game.legal_mask[row], decision.probabilities[row], float(decision.values[row]),
        game.describe(row), lambda action: game.describe_action(row, action), known, position,
    )  # fmt: skip
