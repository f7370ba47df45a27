"""What a program that plays live games needs to know of Balatro's: how runs start and stand, and what they came to."""

from __future__ import annotations

from typing import Any

import numpy as np

from jimbot.errors import UsageError
from jimbot.games.balatro.encoding import rewards
from jimbot.games.balatro.game import SPEC, BalatroGame
from jimbot.games.balatro.live import dialects as d
from jimbot.games.balatro.live.calls import Call
from jimbot.games.balatro.live.follower import Follower
from jimbot.games.balatro.live.unknown import UNKNOWN
from jimbot.games.balatro.options import Options
from jimbot.games.balatro.rules.content import CHALLENGES
from jimbot.games.balatro.rules.scratch import MAX_PLAYED
from jimbot.games.balatro.rules.state import GAME_OVER, WON, new_games
from jimbot.games.hooks import LiveCall, LiveResult, Standing

_SIMPLE = {
    d.BLIND_SELECT: LiveCall("select", {}),
    d.ROUND_EVAL: LiveCall("cash_out", {}),
    d.SHOP: LiveCall("next_round", {}),
    d.PACK: LiveCall("pack", {"skip": True}),
}


def dialect_name(discovered: Any) -> str:
    return d.dialect_of(discovered).name


def start_call(dialect: str, options: Options, seed: str) -> LiveCall:
    """The call that starts a run with these options."""
    names = d.find_dialect(dialect)
    seeded = {"seed": seed} if seed else {}
    if not options.challenge:
        return LiveCall(
            "start", {"deck": names.decks[options.deck_id], "stake": names.stakes[options.stake_level], **seeded}
        )
    if dialect != d.DEV.name:
        raise UsageError(f"Dialect {dialect} cannot start challenges; leave out challenge '{options.challenge}'.")
    return LiveCall("start", {"challenge": CHALLENGES.key(options.challenge_id), **seeded})


def standing(state: Any) -> Standing:
    """What a state asks for. A state nobody knows is waited out: the game has more of them than are written down."""
    name = state.get("state") if isinstance(state, dict) else None
    if name == d.MENU:
        return Standing.IDLE
    if name == d.GAME_OVER or (name == d.ROUND_EVAL and state.get("won") is True):
        return Standing.OVER
    return Standing.ASKING if name in d.RUN_STATES else Standing.PASSING


def seed_of(state: Any) -> str:
    return str(state.get("seed", "")) if isinstance(state, dict) else ""


def simple_move(state: Any) -> LiveCall | None:
    """The plainest move there is: it looks at nothing but the name of the state and how many cards are held."""
    name = state.get("state") if isinstance(state, dict) else None
    if name != d.SELECTING_HAND:
        return _SIMPLE.get(str(name))
    hand = state.get("hand")
    cards = hand.get("cards") if isinstance(hand, dict) else None
    if not isinstance(cards, list) or not cards:
        return None
    # What a boss holds up must be played; it is the only card that shows as chosen.
    places = sorted(range(len(cards)), key=lambda place: (not _chosen(cards[place]), place))
    return LiveCall("play", {"cards": sorted(places[:MAX_PLAYED])})


def _chosen(card: Any) -> bool:
    state = card.get("state") if isinstance(card, dict) else None
    return isinstance(state, dict) and bool(state.get("highlight"))


class PlayedRun:
    """One run that is being played: a follower, and what the run has brought so far."""

    def __init__(self, dialect: str, options: Options) -> None:
        self._follower = Follower(dialect, options)
        self._weights = np.array(rewards.PRESETS[options.reward])
        self._discount = options.discount
        self._first: Any = None
        self._points = self._score = 0.0

    @property
    def game(self) -> BalatroGame:
        return self._follower.game

    @property
    def unknown(self) -> list[str]:
        return [UNKNOWN[name].words for name in sorted(self._follower.unknown)]

    @property
    def happened(self) -> bool | None:
        return self._follower.happened

    def expects(self, state: Any, after: LiveCall) -> bool:
        return self._follower.expects(state, Call(*after))

    def see(self, state: Any, after: LiveCall | None = None) -> None:
        self._follower.see(state, None if after is None else Call(*after))
        g = self.game.games[0]
        if self._first is None:
            games = new_games(1)
            games[0] = g
            self._first = games[0]
        self._points += max(0.0, float(g.score) - self._score)  # a new round starts at 0
        self._score = float(g.score)

    def playable(self) -> np.ndarray:
        return self._follower.playable_mask()

    def request(self, action: int) -> LiveCall | None:
        call = self._follower.request(action)
        return None if call is None else LiveCall(*call)

    def result(self) -> LiveResult | None:
        """Every term is paid for what a measure of the state gained, so first and last state have it all."""
        if self._first is None:
            return None
        g: Any = self.game.games[0]
        memory, terms = np.zeros(rewards.MEMORY), np.zeros(len(SPEC.reward_terms), np.float32)
        stats = np.zeros(len(SPEC.episode_stats), np.float32)
        rewards.remember(self._first, memory)
        rewards.write(g, memory, g.phase in (GAME_OVER, WON), self._weights, 1.0, terms)
        rewards.write_stats(g, self._points, stats)
        return LiveResult(float(terms.sum()), terms, stats)
