"""The whole state of a game by the game's keys: what recordings write, and what else its player can know.

A recording tells what the rules are checked with; who is to decide looks at more: the cards that are left, what the run
has counted, a choice half made. `plain_state.py` reads it again. Nothing here tells the order of the pile.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jimbot.games.balatro.rules.chance.streams import BANKS
from jimbot.games.balatro.rules.content import CHALLENGES, CONSUMABLES, DECKS, HANDS, STAKES, VOUCHERS, Table
from jimbot.games.balatro.rules.state import (
    CARD_FACE_DOWN,
    CARD_FORCED,
    CARD_PLAYED_THIS_ANTE,
    FACE_DOWN,
    FIRST_PACK_OFFER,
    IN_DECK,
    IN_DISCARD,
    OFFER_JOKER,
    PINNED,
)
from jimbot.games.balatro.verify.recorded_states import TO_DO_LIST, read_state, written_card
from jimbot.games.balatro.view.figures import read_figures

FIGURES = (
    "won", "endless", "win_ante", "steps", "reorderings", "sort_by_suit",
    "skips", "hands_played", "unused_discards", "tarots_used", "planets_used", "ectoplasm_uses", "michel_extinct",
    "hands_per_round", "discards_per_round", "hand_size", "joker_slots", "consumable_slots", "starting_deck_size",
    "interest_cap", "interest_per_five", "inflation", "discount_percent", "edition_rate",
    "hands_played_round", "discards_used", "round_hand_size", "blind_took_hands", "blind_took_discards",
    "blind_triggered", "blind_primed", "eye_used", "boss_rerolled", "payout",
    "shop_slots", "reroll_base", "reroll_increase", "reroll_rebate", "free_rerolls", "d6_shop",
)  # fmt: skip
"""Fields of the record that are told as they are."""
NAMED: dict[str, Table] = {"last_hand": HANDS, "most_played_hand": HANDS, "mouth_hand": HANDS,
                           "last_tarot_planet": CONSUMABLES}  # fmt: skip
"""Fields of the record that are told by key, or as None."""
PLAYED = {"played": "hand_played", "played_this_round": "hand_played_round"}
BLIND_STATES = ("upcoming", "selectable", "current", "skipped", "defeated")
GRABBED = ("", "joker", "consumable", "hand")
CARD_MARKS = {"face_down": CARD_FACE_DOWN, "forced": CARD_FORCED, "played_this_ante": CARD_PLAYED_THIS_ANTE}
JOKER_MARKS = {"face_down": FACE_DOWN, "pinned": PINNED}


def whole_state(g: Any) -> dict[str, Any]:
    """The state of a game, ready for JSON."""
    out = read_state(g)
    for index, joker in enumerate(out["jokers"]):
        joker |= _marks(int(g.joker_flags[index]), JOKER_MARKS)
        if g.joker_value[index]:
            joker["value"] = float(g.joker_value[index])
    if "shop" in out:
        prices = read_figures(g).vouchers
        out["shop"]["vouchers"] = [
            [VOUCHERS.key(int(g.shop_voucher[i])), int(prices[i])] for i in range(g.voucher_count)
        ]
    for area, first in (("shop", 0), ("pack", FIRST_PACK_OFFER)):
        for place, card in enumerate(out.get(area, {}).get("cards", ()), first):
            card |= _offered(g, place)
    return out | {
        "deck": DECKS.key(int(g.deck)),
        "stake": STAKES.key(int(g.stake)),
        "challenge": CHALLENGES.key(int(g.challenge)) if g.challenge else "",
        "vouchers": [VOUCHERS.key(int(number)) for number in np.flatnonzero(g.voucher_owned)],
        "hand": [_card(g, int(slot)) for slot in g.hand[: g.hand_count]],
        "pile": _lying(g, IN_DECK),
        "laid_away": _lying(g, IN_DISCARD),
        "selected": [place for place in range(g.hand_count) if int(g.selected) >> place & 1],
        "grabbed": [GRABBED[g.grabbed], int(g.grabbed_index)] if g.grabbed else None,
        "blinds": [BLIND_STATES[state] for state in g.blind_state],
        "tag_hands": _tag_hands(g),
        **{key: {HANDS.key(i): int(n) for i, n in enumerate(g[name]) if n} for key, name in PLAYED.items()},
        **{name: table.key(int(g[name])) if g[name] >= 0 else None for name, table in NAMED.items()},
        "figures": {name: g[name].item() for name in FIGURES},
    }


def bank_of(ante: int) -> int:
    """Where the record keeps what an ante's Orbital Tags raise."""
    return (ante + BANKS * (1 << 20)) % BANKS


def _tag_hands(g: Any) -> list[str | None]:
    """What the Orbital Tags of Small and Big raise, once their choice was shown."""
    bank = bank_of(int(g.ante))
    hands = g.orbital_hand[bank][:2].tolist() if g.orbital_ante[bank] == g.ante else (-1, -1)
    return [HANDS.key(hand) if hand >= 0 else None for hand in hands]


def _marks(flags: int, names: dict[str, int]) -> dict[str, int]:
    return {name: 1 for name, flag in names.items() if flags & flag}


def _card(g: Any, slot: int) -> dict[str, Any]:
    return written_card(g, slot) | _marks(int(g.card_flags[slot]), CARD_MARKS)


def _lying(g: Any, place: int) -> list[dict[str, Any]]:
    """The cards of a place, sorted: their order is nobody's to know."""
    return sorted((_card(g, int(slot)) for slot in g.cards[: g.card_count] if g.card_place[slot] == place), key=str)


def _offered(g: Any, place: int) -> dict[str, Any]:
    """What an offered joker would begin to count from."""
    counter = int(g.offer_counter[place])
    if g.offer_kind[place] != OFFER_JOKER:
        return {}
    if g.offer_id[place] == TO_DO_LIST:
        return {"hand": HANDS.key(counter)} if counter >= 0 else {}
    return {"counter": counter} if counter else {}
