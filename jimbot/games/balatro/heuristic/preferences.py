"""What the heuristic player likes, as tables: all that no trial hand shows.

Worths are log-ratios of scores (0.7 doubles the score): what a purchase does for a round's points. How a joker grows,
what it earns and what else it is good for stand in one table each; so does when a consumable is used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jimbot.games.balatro.rules.content import BLINDS, CONSUMABLES, JOKERS, PACK_KINDS, VOUCHERS
from jimbot.games.balatro.rules.jokers import registry
from jimbot.games.balatro.rules.jokers.evaluate import main_quantity  # noqa: F401  (importing it defines the jokers)


class Taste(NamedTuple):
    """The player's few numbers; they reach the kernels at run time, so another taste needs no new compile."""

    # in a round
    later: float = 1.0
    """Cards that one more discard after this one lets a hand see."""
    pace: float = 1.0
    """A hand is on pace if as many like it as hands are left make this share of what is missing."""
    patience: float = 0.8
    """A hand on pace is given up if this share of what one discard promises is more."""
    last_power: float = 2.0
    """With one hand left, a share of what is missing counts with this power."""
    next_hand: float = 0.8
    """How much the points of the next hand count when cards are chosen to play."""
    first_samples: float = 8.0
    """Draws by which all choices of cards are judged first."""
    semifinalists: float = 20.0
    second_samples: float = 24.0
    """How many of them are judged again, and by how many draws."""
    finalists: float = 6.0
    samples: float = 96.0
    """How many of those once more."""
    # money
    dollar: float = 0.03
    """What a dollar is worth."""
    spend_shops: float = 16.0
    """When fewer shops than this are left, it is worth less and less: nothing in the last one."""
    excess: float = 0.25
    """How dear a dollar is that earns no interest, as a share of one that does."""
    interest_rounds: float = 8.0
    """For how many rounds interest is missed when money is spent."""
    earning_rounds: float = 5.0
    """For how many rounds a joker that earns money counts as earning it."""
    safe_margin: float = 0.4
    """The logarithm by which the points of a round should lie above the boss's requirement; below it money counts
    less and less."""
    margin_scale: float = 0.35
    # sets of jokers
    ahead: float = 6.0
    """So many rounds ahead a set is judged beside how it is now."""
    ahead_share: float = 0.5
    """How much that counts."""
    future_chips: float = 6.0
    future_mult: float = 1.5
    """What other purchases add per round until then."""
    seen_per_discard: float = 0.8
    """Cards that a discard lets a hand see on average, over the hands of a round."""
    no_discards_share: float = 0.5
    """How many of the hands played find no discards left."""
    again_share: float = 0.4
    """How many of the hands played were played before in the round."""
    # purchases
    planet: float = 1.2
    """A level is worth this many times what it does for the set: it cannot be lost."""
    better: float = 0.05
    """How much better a joker must be than the one it replaces."""
    reroll: float = 0.16
    """What new jokers in the shop are worth before they are seen, with a free slot."""
    reroll_others: float = 0.03
    """What other new cards are worth."""
    joker_worth: float = 0.2
    """What a new joker brings on average."""
    purse: float = 4.0
    """What must be left after a reroll, to buy something."""
    arcana: float = 0.07
    celestial: float = 0.1
    spectral: float = 0.1
    standard: float = 0.02
    buffoon: float = 0.3
    """What packs of normal size are worth."""
    vouchers: float = 1.0
    consumables: float = 0.6
    extras: float = 1.0
    """Multiples of the tables below."""
    fitted: float = 0.5
    """How much of a joker's weight in the fit counts."""
    rent: float = 0.25
    """What a rental joker costs while `rent_shops` shops and more lie ahead."""
    rent_more: float = 0.5
    """How much more, as a share, for every other one held."""
    rent_shops: float = 10.0
    eternal: float = 0.05
    """What it costs that a joker can never make room for a better one."""
    negative: float = 0.3
    """What another slot is worth, which a Negative joker brings."""


# --- jokers ---
# What a joker's own number (or what it counts) gains in a round, as this player plays.
_GROWS = {
    "green_joker": 0.5, "ride_the_bus": 0.4, "trousers": 2.2, "runner": 6.0, "square": 2.0, "wee": 3.0, "castle": 7.0,
    "ice_cream": -14.0, "popcorn": -4.0, "ramen": -0.1, "constellation": 0.08, "hologram": 0.04, "lucky_cat": 0.02,
    "vampire": 0.05, "glass": 0.03, "caino": 0.03, "yorick": 0.45, "flash": 1.6, "red_card": 0.3, "supernova": 1.0,
    "fortune_teller": 0.4, "erosion": 0.1, "campfire": 0.05, "hit_the_road": 0.0, "obelisk": 0.0,
}  # fmt: skip
# The chance to be there still after a round, where it is not certain.
_LASTS = {"gros_michel": 0.83, "selzer": 0.6, "turtle_bean": 0.85}
# Dollars a joker earns in a round.
_EARNS = {
    "golden": 4.0, "rocket": 4.5, "to_the_moon": 3.0, "cloud_9": 3.8, "egg": 2.5, "business": 1.5, "delayed_grat": 0.5,
    "faceless": 1.0, "todo_list": 1.6, "mail": 2.0, "reserved_parking": 1.2, "rough_gem": 2.0, "satellite": 2.5,
    "gift": 2.5, "matador": 0.6, "midas_mask": 1.0, "trading": 2.0, "chaos": 1.5, "astronomer": 1.0, "ticket": 0.3,
}  # fmt: skip
# What nothing else shows, for ante 1 and for ante 8; between them they are mixed.
_EXTRA: dict[str, tuple[float, float]] = {
    # growth and cards made
    "burnt": (0.45, 0.2), "dna": (0.1, 0.0), "certificate": (0.1, 0.0), "hiker": (0.25, 0.0), "trading": (0.05, 0.0),
    "marble": (-0.1, -0.1), "8_ball": (0.1, 0.0), "cartomancer": (0.3, 0.05), "hallucination": (0.15, 0.03),
    "vagabond": (0.15, 0.05), "superposition": (0.05, 0.0), "sixth_sense": (0.05, 0.0), "riff_raff": (0.25, 0.0),
    "perkeo": (0.4, 0.2), "invisible": (0.1, 0.0), "campfire": (0.2, 0.15), "hit_the_road": (0.15, 0.15),
    # what is worth more to one who plays for it
    "baron": (0.1, 0.1), "mime": (0.05, 0.05), "blackboard": (0.1, 0.1), "idol": (0.05, 0.05),
    # safety
    "mr_bones": (0.1, 0.4), "luchador": (0.05, 0.15), "chicot": (0.3, 0.5),
    # what does harm
    "madness": (-0.8, -1.2), "ceremonial": (-0.5, -1.0), "stencil": (-0.4, -0.2), "obelisk": (-0.3, -0.5),
}  # fmt: skip


# What winners had: the weight of each joker in the fit of `outlook`, in logits, beside the points of the set. It says
# what trial hands do not show: money, growth, which points come easily.
_FITTED = {
    "cavendish": 1.07, "baseball": 0.75, "mr_bones": 0.74, "constellation": 0.71, "gift": 0.67, "rocket": 0.59,
    "steel_joker": 0.57, "duo": 0.57, "shortcut": 0.51, "order": 0.49, "perkeo": 0.48, "runner": 0.44,
    "cartomancer": 0.44, "trousers": 0.43, "egg": 0.41, "hiker": 0.41, "certificate": 0.41, "space": 0.39,
    "cloud_9": 0.38, "midas_mask": 0.37, "delayed_grat": 0.34, "golden": 0.34, "hologram": 0.33, "flash": 0.32,
    "yorick": 0.28, "family": 0.25, "to_the_moon": 0.23, "satellite": 0.23, "invisible": 0.21, "caino": 0.21,
    "credit_card": 0.2, "fortune_teller": 0.2, "burglar": 0.19, "seeing_double": 0.19, "chaos": 0.18,
    "business": 0.17, "blackboard": 0.14, "vagabond": 0.13, "stone": 0.13, "red_card": 0.12, "mail": 0.12,
    "sock_and_buskin": 0.12, "tribe": 0.12, "burnt": 0.12, "diet_cola": 0.11, "todo_list": 0.1, "wee": 0.1,
    "drivers_license": 0.1, "marble": 0.09, "supernova": 0.07, "green_joker": 0.07, "reserved_parking": 0.07,
    "stuntman": 0.07, "fibonacci": 0.06, "square": 0.06, "hallucination": 0.06, "four_fingers": 0.04,
    "arrowhead": 0.04, "swashbuckler": -0.03, "scholar": -0.04, "glass": -0.04, "gros_michel": -0.05,
    "madness": -0.05, "obelisk": -0.05, "turtle_bean": -0.05, "smiley": -0.05, "ancient": -0.06,
    "walkie_talkie": -0.06, "onyx_agate": -0.06, "faceless": -0.07, "lucky_cat": -0.07, "flower_pot": -0.07,
    "joker": -0.08, "8_ball": -0.08, "castle": -0.08, "rough_gem": -0.08, "ceremonial": -0.09, "mystic_summit": -0.09,
    "acrobat": -0.09, "jolly": -0.1, "abstract": -0.1, "splash": -0.1, "ticket": -0.1, "wrathful_joker": -0.11,
    "zany": -0.11, "bull": -0.11, "scary_face": -0.12, "hack": -0.12, "juggler": -0.12, "merry_andy": -0.12,
    "astronomer": -0.12, "lusty_joker": -0.13, "oops": -0.13, "sixth_sense": -0.14, "luchador": -0.14,
    "troubadour": -0.14, "gluttenous_joker": -0.15, "misprint": -0.15, "dusk": -0.15, "erosion": -0.15,
    "blueprint": -0.15, "shoot_the_moon": -0.15, "crafty": -0.16, "even_steven": -0.16, "drunkard": -0.16,
    "clever": -0.17, "odd_todd": -0.17, "throwback": -0.17, "chicot": -0.17, "dna": -0.18, "card_sharp": -0.18,
    "bootstraps": -0.18, "mad": -0.19, "baron": -0.19, "wily": -0.2, "raised_fist": -0.2, "campfire": -0.2,
    "matador": -0.2, "banner": -0.22, "greedy_joker": -0.23, "half": -0.23, "popcorn": -0.23, "sly": -0.25,
    "photograph": -0.25, "stencil": -0.26, "trading": -0.26, "ice_cream": -0.27, "triboulet": -0.27,
    "superposition": -0.28, "seance": -0.29, "mime": -0.3, "loyalty_card": -0.31, "blue_joker": -0.31,
    "ride_the_bus": -0.34, "pareidolia": -0.4, "selzer": -0.43, "ring_master": -0.43, "brainstorm": -0.43,
    "bloodstone": -0.53,
}  # fmt: skip


def _by_joker(table: dict, otherwise: float = 0.0) -> np.ndarray:
    unknown = set(table) - {key.removeprefix("j_") for key in JOKERS.keys}
    assert not unknown, f"no such jokers: {sorted(unknown)}"
    return JOKERS.column(lambda row: table.get(row["key"].removeprefix("j_"), otherwise), np.float64)


def _config(key: str, *path: str) -> int:
    value = JOKERS.row(f"j_{key}")["config"]
    for part in path:
        value = value[part]
    return int(value)


# What jokers change about a round: hand size, hands, discards.
HAND_SIZE = _by_joker(
    {
        "juggler": _config("juggler", "h_size"),
        "troubadour": _config("troubadour", "extra", "h_size"),
        "merry_andy": _config("merry_andy", "h_size"),
        "stuntman": -_config("stuntman", "extra", "h_size"),
    }
).astype(np.int64)
HANDS = _by_joker({"troubadour": _config("troubadour", "extra", "h_plays")}).astype(np.int64)
DISCARDS = _by_joker({"drunkard": _config("drunkard", "d_size"), "merry_andy": _config("merry_andy", "d_size")}).astype(
    np.int64
)
GROWTH, LASTING, EARNINGS = _by_joker(_GROWS), _by_joker(_LASTS, 1.0), _by_joker(_EARNS)
FITTED = _by_joker(_FITTED)
JOKER_EARLY, JOKER_LATE = (_by_joker({key: pair[place] for key, pair in _EXTRA.items()}) for place in range(2))

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

# --- vouchers: what they are worth over a whole run; from the same fit, rounded where few games had one ---
_VOUCHER_WORTH = {
    "overstock_norm": 0.32, "overstock_plus": 0.1, "clearance_sale": 0.44, "liquidation": 0.42, "hone": 0.13,
    "glow_up": 0.0, "reroll_surplus": 0.0, "reroll_glut": 0.0, "crystal_ball": 0.0, "omen_globe": 0.0,
    "telescope": 0.18, "observatory": 0.13, "grabber": 0.4, "nacho_tong": 0.39, "wasteful": 0.11,
    "recyclomancy": 0.08, "tarot_merchant": 0.07, "tarot_tycoon": 0.0, "planet_merchant": 0.02, "planet_tycoon": 0.04,
    "seed_money": 0.1, "money_tree": 0.0, "blank": 0.05, "antimatter": 0.6, "magic_trick": 0.0, "illusion": 0.0,
    "hieroglyph": 0.1, "petroglyph": 0.1, "directors_cut": 0.03, "retcon": 0.0, "paint_brush": 0.47, "palette": 0.45,
}  # fmt: skip
VOUCHER_WORTH = VOUCHERS.column(lambda row: _VOUCHER_WORTH[row["key"].removeprefix("v_")], np.float64)

# --- boosters ---
ARCANA, CELESTIAL, SPECTRAL, BUFFOON = (
    PACK_KINDS.index(kind) for kind in ("Arcana", "Celestial", "Spectral", "Buffoon")
)
PACK_SIZE_WORTH = np.array([1.0, 1.3, 1.9])  # normal, jumbo, mega

# --- bosses: by how much (a logarithm) they lower what a round scores, beside the points they want ---
_BOSS_HARDNESS = {
    "needle": 0.9, "final_leaf": 0.7, "flint": 0.5, "plant": 0.5, "water": 0.5, "mark": 0.5, "eye": 0.3, "mouth": 0.3,
    "fish": 0.3, "final_heart": 0.4, "arm": 0.2, "house": 0.2, "club": 0.2, "goad": 0.2, "window": 0.2, "head": 0.2,
    "manacle": 0.2, "pillar": 0.2, "hook": 0.1, "psychic": 0.1, "final_bell": 0.1, "final_acorn": 0.1,
}  # fmt: skip
BOSS_HARDNESS = np.array([0.0] + [_BOSS_HARDNESS.get(key.removeprefix("bl_"), 0.0) for key in BLINDS.keys])

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
