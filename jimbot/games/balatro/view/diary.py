"""What a report tells about Balatro: what was bought, which hands were played, which bosses beaten, where runs end.

The batch restarts a game in the very step that ends it, so its last state is never seen from outside. The diary keeps
the records as they were before each step and plays the last action of an ended game once more on its copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jimbot.games.balatro.encoding.action_table import INDEX, KIND, NO_MOVE, engine_move
from jimbot.games.balatro.rules import decisions, state
from jimbot.games.balatro.rules.content import BLINDS, CONSUMABLES, HANDS, JOKERS, PACKS, VOUCHERS
from jimbot.games.balatro.rules.scratch import new_scratch
from jimbot.games.balatro.transcript import GameRecorder
from jimbot.games.balatro.view import describe as words
from jimbot.games.balatro.view.move_text import Move
from jimbot.games.contract import BatchGame
from jimbot.games.narration import Event, Line

TOPICS = {
    "hands": "Poker hands played",
    "jokers": "Jokers taken",
    "consumables": "Tarots, Planets and Spectrals taken",
    "vouchers": "Vouchers redeemed",
    "packs": "Packs opened",
    "bosses": "Boss blinds met",
    "ends": "Where lost runs end",
}
_BLIND_KINDS = ("Small Blind", "Big Blind", "Boss Blind")
_TAKES = (decisions.BUY, decisions.BUY_AND_USE, decisions.PICK, decisions.REDEEM, decisions.OPEN)


def cleared(games: np.ndarray) -> np.ndarray:
    """(N,) blinds beaten so far; a blind being played is counted as a round already."""
    return games["rounds"] - np.isin(games["phase"], (state.SELECTING_HAND, state.GAME_OVER))


class BalatroDiary:
    """The diary of a `BalatroGame`."""

    topics = TOPICS

    def __init__(self, game: BatchGame) -> None:
        self._games: np.ndarray = game.games  # ty: ignore[missing-attribute]
        self._scratch = new_scratch()[0]
        self.begin()

    def begin(self) -> None:
        self._kept = self._games.copy()  # (N,) as they were before the last step
        self._actions = np.zeros(len(self._games), np.int64)

    def before(self, actions: np.ndarray, live: np.ndarray) -> list[Event]:
        games, kept = self._games, self._kept
        events = self._played_since(kept, games, live)
        beaten = live & (games["phase"] == state.ROUND_EVAL) & (kept["phase"] == state.SELECTING_HAND)
        for row in np.flatnonzero(beaten).tolist():
            events += _boss_met(row, kept[row], True)
        takes = live & np.isin(KIND[actions], _TAKES)
        standing = cleared(games)
        for row in np.flatnonzero(takes).tolist():
            action = int(actions[row])
            topic, name = _taken(games[row], int(KIND[action]), int(INDEX[action]))
            if topic:
                events.append(Event(row, topic, name, float(standing[row])))
        self._kept[:] = games
        self._actions[:] = actions
        return events

    def ended(self, rows: np.ndarray) -> list[Event]:
        events: list[Event] = []
        standing = cleared(self._kept)
        for row in rows.tolist():
            before = self._kept[row]
            g: Any = self._kept[row : row + 1].copy()[0]
            move = Move(*(int(part) for part in engine_move(g, int(self._actions[row]))))
            if move.kind == NO_MOVE or not decisions.apply(g, self._scratch, *move.encoded()):
                continue  # cut off while choosing cards: nothing happened
            for hand in np.flatnonzero(g.hand_played > before["hand_played"]).tolist():
                events.append(Event(row, "hands", HANDS.key(hand), float(standing[row])))
            if g.phase == state.WON:
                events += _boss_met(row, before, True)
            elif g.phase == state.GAME_OVER:
                events += _boss_met(row, before, False)
                events.append(Event(row, "ends", f"Ante {int(g.ante)}, {_BLIND_KINDS[int(g.on_deck)]}"))
        return events

    def _played_since(self, kept: np.ndarray, games: np.ndarray, live: np.ndarray) -> list[Event]:
        rows, hands = np.nonzero((games["hand_played"] > kept["hand_played"]) & live[:, None])
        standing = cleared(kept)
        return [
            Event(row, "hands", HANDS.key(hand), float(standing[row]))
            for row, hand in zip(rows.tolist(), hands.tolist(), strict=True)
        ]


def _boss_met(row: int, g: Any, beaten: bool) -> list[Event]:
    """The boss of a game as it was before the step that decided the round; afterwards the blind is put away."""
    blind = BLINDS.rows[int(g.blind)]
    return [Event(row, "bosses", str(blind["name"]), success=beaten)] if blind["type"] == "boss" else []


def _taken(g: Any, kind: int, index: int) -> tuple[str, str]:
    """(topic, name) of what an action takes; nothing for playing cards."""
    if kind == decisions.REDEEM:
        return "vouchers", VOUCHERS.name(int(g.shop_voucher[index]))
    if kind == decisions.OPEN:
        return "packs", PACKS.name(int(g.booster_id[index]))
    place = state.FIRST_PACK_OFFER + index if kind == decisions.PICK else index
    offer, identifier = int(g.offer_kind[place]), int(g.offer_id[place])
    if offer == state.OFFER_JOKER:
        return "jokers", JOKERS.name(identifier)
    return ("consumables", CONSUMABLES.name(identifier)) if offer == state.OFFER_CONSUMABLE else ("", "")


# --- a game in words ---


def _chapter(g: Any) -> str:
    if g.phase in (state.SELECTING_HAND, state.ROUND_EVAL):
        return f"Ante {int(g.ante)} · {BLINDS.name(int(g.blind))}"
    if g.phase in (state.SHOP, state.PACK):
        return f"Ante {int(g.ante)} · Shop"
    return f"Ante {int(g.ante)} · {words.blind_name(g, int(g.on_deck))}"


def narrate(game: BatchGame, played: Sequence[int]) -> list[Line]:
    """A game described move by move; choosing and taking up cards is part of the move it leads to."""
    recorder = GameRecorder(game)
    for action in played:
        recorder.note(action)
        game.step(np.array([action]))
    lines, chapter = [], ""
    for run, move, last in recorder.transcript().replay():
        if last is not None:
            lines.append(Line(chapter, last.words, last.effects))
        # A beaten boss has already begun the next ante when it pays out.
        if move and not (run.g.phase == state.ROUND_EVAL and chapter):
            chapter = _chapter(run.g)
    return lines
