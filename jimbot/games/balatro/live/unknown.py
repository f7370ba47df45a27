"""What one live state does not tell, by name: why, and which parts of the observation it concerns.

A game followed from its start has none of these. They are listed when a game is joined half-way, or when the bought
game went another way than the simulator of the same seed (a profile with locked cards, a debug method).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from jimbot.games.balatro.encoding.action_table import ACTIONS
from jimbot.games.balatro.encoding.fields import COLUMNS, OBSERVATION, WIDTH

_BLOCKS = [block.name for block in ACTIONS.blocks]


class Unknown(NamedTuple):
    """One thing a state does not tell."""

    words: str
    parts: tuple[str, ...]
    """Fields of the observation, or `field.column`."""
    actions: tuple[str, ...] = ()
    """Blocks of actions of which one may be legal or not by it."""


UNKNOWN: dict[str, Unknown] = {
    "joker_values": Unknown(
        "what jokers have grown to or count, which is only in their text",
        ("jokers.value", "jokers.counter", "hands.on_to_do_list"),
    ),
    "joker_stickers": Unknown(
        "whether a debuffed joker is a Perishable one whose rounds are over", ("jokers.perishable",)
    ),
    "deck": Unknown(
        "the cards played and discarded this round, which lie in no area",
        ("deck_total", "deck_total_kinds", "run.card_count", "run.cards_lost"),
    ),
    "card_chips": Unknown("permanent chips of cards (Hiker)", ("hand.extra_chips",)),
    "played_this_ante": Unknown("which cards were played this ante (The Pillar)", ("hand.played_this_ante",)),
    "tags": Unknown("held tags", ("tags",)),
    "tag_hands": Unknown("the poker hand of an Orbital Tag", ("skip_tag_hand",)),
    "targets": Unknown(
        "the cards The Idol, Mail-In Rebate, Ancient Joker and Castle look for",
        ("idol_card", "mail_rank", "target_suits"),
    ),
    "free_rerolls": Unknown("how many rerolls are free", ("shopping.free_rerolls",)),
    "open_pack": Unknown(
        "whether the open pack is a Jumbo or a Mega one, and how many picks are left",
        ("open_pack", "shopping.picks_left"),
    ),
    "payout": Unknown("what the beaten blind pays", ("money.payout",)),
    "disabled": Unknown(
        "whether the boss is disabled",
        ("blind.disabled", "blind.requirement", "blind.score_share", "blind.missing", "hands.blocked_by_boss"),
    ),
    "boss_reroll": Unknown("whether the boss was rerolled already", ("shopping.boss_reroll",), ("reroll_boss",)),
    "last_hand": Unknown("the poker hand played last", ("last_hand",)),
    "most_played": Unknown(
        "the hand The Ox looks at", ("hands.most_played", "hands.blocked_by_boss")
    ),
    "fool": Unknown("the card The Fool would copy", ("fool_copies",), ("use", "pick", "buy_and_use")),
    "helpers": Unknown(
        "helper fields, which are worked out from all the others",
        ("joker_worth", "shop_worth", "pack_worth", "best_plays", "best_play", "best_play_cards"),
    ),
    "counts": Unknown(
        "what the run has counted",
        ("run.steps", "run.skips", "run.unused_discards", "run.tarots_used", "run.planets_used", "run.ectoplasm_uses",
         "run.michel_extinct", "run.sort_by_suit", "run.reorderings", "run.hands_per_round", "run.discards_per_round"),
        ("sort", "grab_joker", "grab_consumable", "grab_hand"),
    ),
}  # fmt: skip


def positions(names: Iterable[str]) -> np.ndarray:
    """(D,) bool: the places of the observation that unknown things concern."""
    out = np.zeros(WIDTH, bool)
    for name in names:
        for part in UNKNOWN[name].parts:
            field, _, column = part.partition(".")
            span = OBSERVATION.span(field)
            if column:
                columns = COLUMNS[field]
                out[span.start + columns.index(column) : span.stop : len(columns)] = True
            else:
                out[span] = True
    return out


def open_actions(names: Iterable[str]) -> np.ndarray:
    """(A,) bool: the actions of which it is not certain whether they are legal."""
    out = np.zeros(ACTIONS.size, bool)
    for name in names:
        for block in UNKNOWN[name].actions:
            out[ACTIONS.block_of == _BLOCKS.index(block)] = True
    return out
