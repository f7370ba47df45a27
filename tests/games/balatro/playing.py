"""A run under test: set up by hand, driven by named actions. Everything compiled sits behind two doors."""

from __future__ import annotations

import functools
from typing import Any, Self

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.encoding import batch_kernel
from jimbot.games.balatro.game import BalatroGame
from jimbot.games.balatro.rules import content, decisions
from jimbot.games.balatro.rules.bosses.blind import disable_blind
from jimbot.games.balatro.rules.chance.create import start_counter
from jimbot.games.balatro.rules.chance.streams import seed_bytes
from jimbot.games.balatro.rules.inventory import add_consumable, add_joker
from jimbot.games.balatro.rules.playing_cards.cards import add_card, new_serial
from jimbot.games.balatro.rules.playing_cards.piles import put_in_hand, put_under_pile
from jimbot.games.balatro.rules.scratch import new_scratch
from jimbot.games.balatro.rules.shop.vouchers import own_voucher
from jimbot.games.balatro.rules.state import IN_DECK, NOWHERE, PHASE_NAMES, new_games
from jimbot.games.balatro.rules.tags import gain_tag

NONE = np.uint64(0)


@njit
def arrange(g, what, item, edition, flags, seal, suit):
    if what == 0:
        return add_joker(g, item, edition, flags, start_counter(g, item), new_serial(g))
    if what == 1:
        return add_consumable(g, item, edition, new_serial(g))
    if what == 2:
        own_voucher(g, item)
    elif what == 3:
        gain_tag(g, item, suit)
    elif what == 6:
        disable_blind(g)
    else:
        slot = add_card(g, item, suit, flags, edition, seal, new_serial(g), IN_DECK)
        if what == 4:
            put_in_hand(g, slot)
        else:
            put_under_pile(g, slot)
        return slot
    return 0


@functools.cache
def batch_of_one() -> BalatroGame:
    """Its arrays carry a run through the kernel of the batches: `observation.write` called from here would be one more
    program with all the rules below it, half a minute to compile."""
    return BalatroGame(1)


class Run:
    """One game; lists read as keys, actions by name."""

    def __init__(
        self,
        seed: str = "TESTSEED",
        deck: str = "b_red",
        stake: int = 1,
        challenge: str = "",
        endless: bool = False,
    ) -> None:
        self._games = new_games(1)
        self.g: Any = self._games[0]
        self._scratch = new_scratch()
        self.s: Any = self._scratch[0]
        self.g.seed, self.g.seed_length = seed_bytes(seed)
        self.g.deck, self.g.stake, self.g.endless = content.DECKS.id(deck), stake, endless
        self.g.challenge = content.CHALLENGES.id(challenge) if challenge else 0
        decisions.apply(self.g, self.s, decisions.START, 0, NONE)

    # --- acting ---

    def try_act(self, name: str, index: int = 0, cards: tuple[int, ...] | list[int] = (), to: int = -1) -> bool:
        targets = np.uint64(to if to >= 0 else sum(1 << place for place in cards))
        return bool(decisions.apply(self.g, self.s, decisions.ACTION_KINDS.index(name), index, targets))

    def act(self, name: str, index: int = 0, cards: tuple[int, ...] | list[int] = (), to: int = -1) -> Self:
        assert self.try_act(name, index, cards, to), f"{name} {index} {cards} is not legal in {self.phase}"
        return self

    def allows(self, name: str, index: int = 0, cards: tuple[int, ...] | list[int] = ()) -> bool:
        before = self._games.copy()
        allowed = self.try_act(name, index, cards)
        self._games[:] = before
        return allowed

    def use(self, key: str, *cards: int, edition: str = "base") -> Self:
        """Gives a consumable and uses it."""
        self.consumable(key, edition)
        return self.act("use", int(self.g.consumable_count) - 1, cards)

    def can_use(self, key: str, *cards: int) -> bool:
        before = self._games.copy()
        self.consumable(key)
        allowed = self.try_act("use", int(self.g.consumable_count) - 1, cards)
        self._games[:] = before
        return allowed

    def look(self, helpers: bool = False) -> np.ndarray:
        """The observation a learner gets."""
        arrays = batch_of_one().arrays._replace(games=self._games, scratch=self._scratch)
        arrays.settings[batch_kernel.SETTINGS.index("helpers")] = helpers
        arrays.observation[:] = np.nan
        batch_kernel.work(batch_kernel.LOOK, arrays, 0, 0, 1)
        return arrays.observation[0].copy()

    # --- setting up ---

    def joker(self, key: str, edition: str = "base", flags: int = 0) -> int:
        return int(arrange(self.g, 0, content.JOKERS.id(key), content.EDITIONS.id(f"e_{edition}"), flags, 0, 0))

    def consumable(self, key: str, edition: str = "base") -> int:
        return int(arrange(self.g, 1, content.CONSUMABLES.id(key), content.EDITIONS.id(f"e_{edition}"), 0, 0, 0))

    def voucher(self, key: str) -> None:
        arrange(self.g, 2, content.VOUCHERS.id(key), 0, 0, 0, 0)

    def tag(self, key: str, hand: int = -1) -> None:
        arrange(self.g, 3, content.TAGS.id(key), 0, 0, 0, hand)

    def disable(self) -> None:
        arrange(self.g, 6, 0, 0, 0, 0, 0)

    def card(self, text: str, what: int) -> int:
        """`H_T`, `H_T+m_glass`, `H_T+Gold`, `H_T+foil`: enhancement, seal, edition."""
        code, *extras = text.split("+")
        rank, suit = content.parse_card(code)
        enhancement = next((content.ENHANCEMENTS.id(extra) for extra in extras if extra in content.ENHANCEMENTS), 0)
        seal = next((content.SEALS.id(extra) for extra in extras if extra in content.SEALS), 0)
        edition = next((content.EDITIONS.id(f"e_{extra}") for extra in extras if f"e_{extra}" in content.EDITIONS), 0)
        return int(arrange(self.g, what, rank, edition, enhancement, seal, suit))

    def clear_cards(self) -> None:
        self.g.card_place[:] = NOWHERE
        self.g.enhancement_count[:] = 0
        self.g.card_count = self.g.pile_count = self.g.hand_count = 0

    def hand(self, text: str, deck: str = "C_2 C_3 C_4 C_5 C_6 C_7 C_8 C_9") -> Self:
        """Replaces all cards: these in hand, left to right, and a small deck drawn from its left."""
        self.clear_cards()
        for code in text.split():
            self.card(code, 4)
        for code in deck.split():
            self.card(code, 5)
        return self

    def boss(self, key: str) -> Self:
        """Makes a boss the blind that is up."""
        self.g.boss, self.g.on_deck = content.BLINDS.id(key), 2
        return self

    def win_round(self) -> Self:
        """Plays one card with the score already reached."""
        self.g.score = self.g.requirement
        forced = [place for place in range(self.g.hand_count) if self.g.card_flags[self.g.hand[place]] & 8]
        return self.act("play", cards=forced or [0])

    def to_shop(self) -> Self:
        return self.act("select").win_round().act("cash_out")

    # --- reading ---

    @property
    def phase(self) -> str:
        return PHASE_NAMES[self.g.phase]

    @property
    def money(self) -> int:
        return int(self.g.money)

    @property
    def jokers(self) -> list[str]:
        return [content.JOKERS.key(int(joker)) for joker in self.g.joker_id[: self.g.joker_count]]

    @property
    def consumables(self) -> list[str]:
        return [content.CONSUMABLES.key(int(item)) for item in self.g.consumable_id[: self.g.consumable_count]]

    @property
    def tags(self) -> list[str]:
        return [content.TAGS.key(int(tag)) for tag in self.g.tag_id[: self.g.tag_count]]

    @property
    def slots(self) -> list[int]:
        return [int(slot) for slot in self.g.hand[: self.g.hand_count]]

    def describe(self, slot: int) -> str:
        """The card in the notation of `card`."""
        g = self.g
        text = content.card_code(int(g.card_rank[slot]), int(g.card_suit[slot]))
        if g.card_enhancement[slot]:
            text += "+" + content.ENHANCEMENTS.key(int(g.card_enhancement[slot]))
        if g.card_edition[slot]:
            text += "+" + content.EDITIONS.key(int(g.card_edition[slot])).removeprefix("e_")
        if g.card_seal[slot]:
            text += "+" + content.SEALS.key(int(g.card_seal[slot]))
        return text

    @property
    def held(self) -> str:
        return " ".join(self.describe(slot) for slot in self.slots)

    @property
    def owned(self) -> list[str]:
        return [self.describe(int(slot)) for slot in self.g.cards[: self.g.card_count]]

    @property
    def debuffed(self) -> list[str]:
        return [self.describe(slot) for slot in self.slots if self.g.card_flags[slot] & 1]

    @property
    def face_down(self) -> list[str]:
        return [self.describe(slot) for slot in self.slots if self.g.card_flags[slot] & 2]
