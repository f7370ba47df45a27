"""What the scripted player likes, as tables: the part of a purchase that no trial hand shows.

Numbers are log-ratios of scores, as the shop's helper gives them (0.7 doubles the score). A joker has two, for ante 1
and for ante 8; between them they are mixed. They say what `appraise` cannot see: money, growth, luck, hands, discards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jimbot.games.balatro.rules.content import CONSUMABLES, JOKERS, PACK_KINDS, VOUCHERS
from jimbot.games.balatro.rules.jokers import registry
from jimbot.games.balatro.rules.jokers.evaluate import main_quantity  # noqa: F401  (importing it defines the jokers)


class Taste(NamedTuple):
    """The player's few numbers; they reach the kernels at run time, so another taste needs no new compile."""

    later: float = 1.0
    """Cards that one more discard after this one lets a hand see."""
    pace: float = 1.0
    """A hand is on pace if as many like it as hands are left make this share of what is missing."""
    patience: float = 0.8
    """A hand on pace is given up if this share of what one discard promises is more."""
    dollar: float = 1.0
    """How dear money is, as a multiple of the table in `buying`."""
    interest_rounds: float = 12.0
    """For how many rounds interest is missed when money is spent."""
    planet: float = 2.0
    """A level is worth this many times its worth now: it stays, and hands will be chosen for it."""
    better: float = 0.05
    """How much better a joker must be than the one it replaces."""
    reroll_with_room: float = 0.2
    reroll_when_full: float = 0.13
    """What new cards in the shop are worth before they are seen."""
    best_share: float = 0.0
    """How much the best typical hand counts in an appraisal, rather than all of them."""


# --- jokers ---
_HIDDEN_WORTH: dict[str, tuple[float, float]] = {
    # growth
    "green_joker": (0.25, 0.0), "ride_the_bus": (0.3, 0.05), "supernova": (0.35, 0.1), "constellation": (0.45, 0.2),
    "hologram": (0.1, 0.0), "fortune_teller": (0.3, 0.1), "lucky_cat": (0.05, 0.0), "trousers": (0.5, 0.15),
    "runner": (0.2, 0.0), "square": (0.2, 0.0), "castle": (0.2, 0.0), "flash": (0.2, 0.05), "red_card": (0.1, 0.0),
    "wee": (0.15, 0.0), "hiker": (0.25, 0.05), "campfire": (0.3, 0.2), "yorick": (0.8, 0.5), "caino": (0.2, 0.1),
    "hit_the_road": (0.1, 0.1), "vampire": (0.2, 0.0), "glass": (0.0, 0.0), "obelisk": (-0.3, -0.5),
    "throwback": (0.0, 0.0), "space": (0.4, 0.2), "burnt": (0.45, 0.3), "dna": (0.15, 0.0), "certificate": (0.15, 0.0),
    "marble": (-0.1, -0.2), "trading": (0.25, 0.05), "erosion": (0.1, 0.0),
    # luck and conditions a typical hand does not meet
    "misprint": (0.6, 0.12), "half": (0.2, 0.0), "mystic_summit": (0.45, 0.15), "bloodstone": (0.4, 0.35),
    "loyalty_card": (0.25, 0.25), "dusk": (0.25, 0.25), "acrobat": (0.4, 0.45), "card_sharp": (0.5, 0.5),
    "blackboard": (0.15, 0.2), "idol": (0.1, 0.1), "flower_pot": (-0.1, -0.1), "seeing_double": (-0.1, -0.1),
    "drivers_license": (0.0, 0.0), "baron": (0.1, 0.2), "mime": (0.05, 0.05),
    "blueprint": (0.6, 0.8), "brainstorm": (0.6, 0.8),
    # money
    "golden": (0.5, 0.0), "rocket": (0.6, 0.0), "to_the_moon": (0.35, 0.0), "cloud_9": (0.45, 0.0),
    "egg": (0.25, 0.0), "business": (0.25, 0.0), "delayed_grat": (0.1, 0.0), "faceless": (0.15, 0.0),
    "todo_list": (0.25, 0.0), "mail": (0.3, 0.0), "reserved_parking": (0.25, 0.0), "rough_gem": (0.3, 0.0),
    "satellite": (0.3, 0.0), "gift": (0.2, 0.0), "matador": (0.05, 0.0), "ticket": (0.0, 0.0), "midas_mask": (0.1, 0.0),
    "credit_card": (0.0, 0.0), "chaos": (0.15, 0.05), "astronomer": (0.2, 0.1), "diet_cola": (0.05, 0.0),
    # cards made
    "8_ball": (0.1, 0.0), "cartomancer": (0.3, 0.1), "hallucination": (0.15, 0.05), "vagabond": (0.15, 0.05),
    "superposition": (0.05, 0.0), "sixth_sense": (0.05, 0.0), "seance": (0.0, 0.0), "riff_raff": (0.25, 0.0),
    "perkeo": (0.4, 0.3), "invisible": (0.05, 0.0),
    # hands, discards, drawing
    "juggler": (0.25, 0.2), "drunkard": (0.2, 0.15), "merry_andy": (0.25, 0.15), "troubadour": (0.2, 0.15),
    "burglar": (0.25, 0.2), "turtle_bean": (0.2, 0.1), "four_fingers": (0.35, 0.3), "shortcut": (0.2, 0.15),
    "smeared": (0.35, 0.3), "splash": (0.0, 0.0), "stuntman": (-0.1, -0.1), "pareidolia": (0.0, 0.0),
    "oops": (0.0, 0.0), "ring_master": (0.0, 0.0),
    # safety
    "mr_bones": (0.2, 0.4), "luchador": (0.05, 0.1), "chicot": (0.4, 0.5),
    # what will not last
    "ice_cream": (-0.15, -0.3), "popcorn": (-0.2, -0.6), "gros_michel": (-0.15, -0.2), "ramen": (-0.05, -0.1),
    "selzer": (-0.2, -0.1), "stencil": (-0.7, -0.3), "madness": (-0.6, -1.0), "ceremonial": (-0.5, -1.0),
}  # fmt: skip


def _pair(place: int) -> np.ndarray:
    unknown = set(_HIDDEN_WORTH) - {key.removeprefix("j_") for key in JOKERS.keys}
    assert not unknown, f"no such jokers: {sorted(unknown)}"
    return JOKERS.column(lambda row: _HIDDEN_WORTH.get(row["key"].removeprefix("j_"), (0.0, 0.0))[place], np.float64)


JOKER_EARLY, JOKER_LATE = _pair(0), _pair(1)

# Where a joker stands: what adds first, what multiplies last. A Blueprint stands before what multiplies; a Ceremonial
# Dagger at the end, where it has nothing to kill.
_X_CARD_JOKERS = ("j_photograph", "j_bloodstone", "j_ancient", "j_triboulet", "j_idol", "j_baron")


def _standing(row: dict) -> int:
    joker = JOKERS.id(row["key"])
    if row["key"] == "j_ceremonial":
        return 9
    if row["key"] == "j_blueprint":
        return 2
    if registry.MAIN_EFFECT[joker] == registry.X_MULT or row["key"] in (*_X_CARD_JOKERS, "j_brainstorm", "j_baseball"):
        return 3
    return 1 if registry.MAIN_EFFECT[joker] == registry.MULT else 0


JOKER_STANDING = JOKERS.column(_standing, np.int64)

# --- vouchers: what they are worth over the rest of a run ---
_VOUCHER_WORTH = {
    "overstock_norm": 0.5, "overstock_plus": 0.5, "clearance_sale": 0.45, "liquidation": 0.5, "hone": 0.15,
    "glow_up": 0.2, "reroll_surplus": 0.4, "reroll_glut": 0.35, "crystal_ball": 0.2, "omen_globe": 0.05,
    "telescope": 0.35, "observatory": 0.3, "grabber": 0.7, "nacho_tong": 0.7, "wasteful": 0.5, "recyclomancy": 0.45,
    "tarot_merchant": 0.15, "tarot_tycoon": 0.1, "planet_merchant": 0.35, "planet_tycoon": 0.35, "seed_money": 0.45,
    "money_tree": 0.3, "blank": 0.15, "antimatter": 1.0, "magic_trick": 0.0, "illusion": 0.0, "hieroglyph": 0.5,
    "petroglyph": 0.5, "directors_cut": 0.1, "retcon": 0.1, "paint_brush": 0.6, "palette": 0.6,
}  # fmt: skip
VOUCHER_WORTH = VOUCHERS.column(lambda row: _VOUCHER_WORTH[row["key"].removeprefix("v_")], np.float64)

# --- boosters: by kind, then by size (normal, jumbo, mega) ---
_PACK_WORTH = {"Arcana": 0.13, "Celestial": 0.16, "Standard": 0.02, "Buffoon": 0.3, "Spectral": 0.1}
PACK_WORTH = np.array([0.0] + [_PACK_WORTH[kind] * size for kind in PACK_KINDS for size in (1.0, 1.3, 1.9)])
BUFFOON_PACKS = range(1 + 3 * PACK_KINDS.index("Buffoon"), 4 + 3 * PACK_KINDS.index("Buffoon"))

# --- consumables: when to use them, what on, and what they are worth in a pack ---
(
    NEVER, AT_ONCE, FOR_MONEY, FOR_SELL_VALUES, WITH_JOKER_ROOM, WITH_JOKERS, WITH_ONE_JOKER, WITH_SLOTS, WHEN_POOR,
    ON_PLAYED, ON_HELD, ON_OTHER_SUIT, ON_LOWEST, ON_BEST, COPY_RIGHT, RAISE,
) = range(16)  # fmt: skip
_CONSUMABLE_USE: dict[str, tuple[int, float]] = {
    "fool": (AT_ONCE, 0.12), "magician": (ON_PLAYED, 0.12), "high_priestess": (WITH_SLOTS, 0.22),
    "empress": (ON_PLAYED, 0.2), "emperor": (WITH_SLOTS, 0.2), "heirophant": (ON_PLAYED, 0.15),
    "lovers": (ON_PLAYED, 0.05), "chariot": (ON_HELD, 0.2), "justice": (ON_PLAYED, 0.2), "hermit": (FOR_MONEY, 0.35),
    "wheel_of_fortune": (WITH_JOKERS, 0.15), "strength": (RAISE, 0.1), "hanged_man": (ON_LOWEST, 0.16),
    "death": (COPY_RIGHT, 0.15), "temperance": (FOR_SELL_VALUES, 0.3), "devil": (ON_HELD, 0.12), "tower": (NEVER, 0.01),
    "star": (ON_OTHER_SUIT, 0.14), "moon": (ON_OTHER_SUIT, 0.14), "sun": (ON_OTHER_SUIT, 0.14),
    "world": (ON_OTHER_SUIT, 0.14), "judgement": (WITH_JOKER_ROOM, 0.3),
    "familiar": (NEVER, 0.0), "grim": (AT_ONCE, 0.05), "incantation": (NEVER, 0.0), "talisman": (ON_BEST, 0.15),
    "aura": (ON_BEST, 0.2), "wraith": (WHEN_POOR, 0.4), "sigil": (AT_ONCE, 0.15), "ouija": (NEVER, 0.0),
    "ectoplasm": (WITH_JOKERS, 0.4), "immolate": (AT_ONCE, 0.3), "ankh": (WITH_ONE_JOKER, 0.0),
    "deja_vu": (ON_BEST, 0.2), "hex": (WITH_ONE_JOKER, 0.0), "trance": (ON_BEST, 0.1), "medium": (ON_BEST, 0.1),
    "cryptid": (ON_BEST, 0.2), "soul": (WITH_JOKER_ROOM, 2.0), "black_hole": (AT_ONCE, 0.8),
}  # fmt: skip


def _use(row: dict) -> tuple[int, float]:
    if row["set"] == "Planet":
        return AT_ONCE, 0.0  # its worth is appraised
    return _CONSUMABLE_USE[row["key"].removeprefix("c_")]


CONSUMABLE_USE = CONSUMABLES.column(lambda row: _use(row)[0], np.int64)
CONSUMABLE_WORTH = CONSUMABLES.column(lambda row: _use(row)[1], np.float64)
_SUIT_OF = {"c_world": 0, "c_sun": 1, "c_moon": 2, "c_star": 3}
CONSUMABLE_SUIT = CONSUMABLES.column(lambda row: _SUIT_OF.get(row["key"], -1), np.int64)
