"""What the versions of the protocol call things: one table per dialect, and the names all of them share.

`1.x` is every release up to 1.5.3; `dev` is the branch that becomes 2.0, which spells enums as the game's own keys and
shows more. A real server is told apart by its `rpc.discover`, never by a version number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jimbot.errors import UnknownNameError
from jimbot.games.balatro.rules import content

VERSION = "1.5.2"  # what both dialects say of themselves
OPENRPC = "1.3.2"

# --- states ---

MENU, BLIND_SELECT, SELECTING_HAND, ROUND_EVAL = "MENU", "BLIND_SELECT", "SELECTING_HAND", "ROUND_EVAL"
SHOP, PACK, GAME_OVER = "SHOP", "SMODS_BOOSTER_OPENED", "GAME_OVER"
STATE_OF_PHASE = (BLIND_SELECT, SELECTING_HAND, ROUND_EVAL, SHOP, PACK, GAME_OVER, ROUND_EVAL)  # the last one: won
RUN_STATES = (BLIND_SELECT, SELECTING_HAND, ROUND_EVAL, SHOP, PACK, GAME_OVER)
PASSING_STATES = (
    "HAND_PLAYED", "DRAW_TO_HAND", "NEW_ROUND", "PLAY_TAROT", "SMODS_REDEEM_VOUCHER", "SPLASH", "TUTORIAL",
    "TAROT_PACK", "PLANET_PACK", "SPECTRAL_PACK", "STANDARD_PACK", "BUFFOON_PACK",
)  # fmt: skip
"""States the game passes through by itself; nothing is decided in them."""
STATUS = ("UPCOMING", "SELECT", "CURRENT", "SKIPPED", "DEFEATED")  # by `blind_state`
PLACES = ("small", "big", "boss")

# --- names the game has for itself where our tables have the shown ones ---

_OTHER_TAG_NAMES = {"tag_skip": "Skip Tag"}
_OTHER_JOKER_NAMES = {"j_caino": "Caino", "j_seance": "Seance"}
TAG_NAMES = tuple(
    _OTHER_TAG_NAMES.get(key, name) for key, name in zip(content.TAGS.keys, content.TAGS.names, strict=True)
)
JOKER_NAMES = tuple(
    _OTHER_JOKER_NAMES.get(key, name) for key, name in zip(content.JOKERS.keys, content.JOKERS.names, strict=True)
)
TAG_OF_NAME = {name: number for names in (content.TAGS.names, TAG_NAMES) for number, name in enumerate(names)}
BLIND_OF_NAME = {name: number for number, name in enumerate(content.BLINDS.names)}
HAND_OF_NAME = {name: number for number, name in enumerate(content.HANDS.keys)}
SETS = {"Tarot": "TAROT", "Planet": "PLANET", "Spectral": "SPECTRAL"}

EXAMPLES: dict[str, str] = {  # cards that make the hand; those in brackets do not score
    "Flush Five": "S_A S_A S_A S_A S_A",
    "Flush House": "D_7 D_7 D_7 D_4 D_4",
    "Five of a Kind": "S_A H_A H_A C_A D_A",
    "Straight Flush": "S_Q S_J S_T S_9 S_8",
    "Four of a Kind": "S_J H_J C_J D_J (C_3)",
    "Full House": "H_K C_K D_K S_2 D_2",
    "Flush": "H_A H_K H_T H_5 H_4",
    "Straight": "D_J C_T C_9 S_8 H_7",
    "Three of a Kind": "S_T C_T D_T (H_6) (D_5)",
    "Two Pair": "H_A D_A (C_Q) H_4 C_4",
    "Pair": "(S_K) S_9 D_9 (H_6) (D_3)",
    "High Card": "S_A (D_Q) (D_9) (C_4) (D_3)",
}

# --- what 1.x shows as the "enhancement" of cards that have none: the game's inner word for what they do ---

_JUNK: dict[str, str] = {
    "MULT": "j_joker",
    "SUIT MULT": "j_greedy_joker j_lusty_joker j_wrathful_joker j_gluttenous_joker",
    "TYPE MULT": "j_jolly j_zany j_mad j_crazy j_droll",
    "HAND SIZE MULT": "j_stencil",
    "HAND CARD DOUBLE": "j_mime",
    "CREDIT": "j_credit_card",
    "DISCARD CHIPS": "j_banner",
    "NO DISCARD MULT": "j_mystic_summit",
    "STONE CARD HANDS": "j_marble",
    "1 IN 10 MULT": "j_loyalty_card",
    "SPAWN TAROT": "j_8_ball",
    "RANDOM MULT": "j_misprint",
    "BONUS REROLLS": "j_chaos",
    "CARD MULT": "j_fibonacci",
    "STEEL CARD BUFF": "j_steel_joker",
    "SCARY FACE CARDS": "j_scary_face",
    "JOKER MULT": "j_abstract",
    "DISCARD DOLLARS": "j_delayed_grat",
    "LOW CARD DOUBLE": "j_hack",
    "ALL FACE CARDS": "j_pareidolia",
    "EVEN CARD BUFF": "j_even_steven",
    "ODD CARD BUFF": "j_odd_todd",
    "ACE BUFF": "j_scholar",
    "X1.5 MULT": "j_duo",
    "X2 MULT": "j_tribe",
    "X3 MULT": "j_trio j_order",
    "X4 MULT": "j_family",
    "ENHANCE": "c_magician c_empress c_heirophant c_lovers c_chariot c_justice c_devil c_tower",
    "SUIT CONVERSION": "c_star c_moon c_sun c_world",
    "ROUND UP": "c_strength",
    "ROUND BONUS": "c_high_priestess c_emperor c_wheel_of_fortune",
    "DISABLE BLIND EFFECT": "c_fool",
    "DOLLAR DOUBLER": "c_hermit",
    "CARD REMOVAL": "c_hanged_man",
    "CARD CONVERSION": "c_death",
    "JOKER PAYOUT": "c_temperance",
    "RANDOM JOKER": "c_judgement",
    "HAND UPGRADE": " ".join(row["key"] for row in content.CONSUMABLES if row["set"] == "Planet"),
}
JUNK = {key: word for word, keys in _JUNK.items() for key in keys.split()}
JUNK_OF_JOKERS = tuple(JUNK.get(key, "") for key in content.JOKERS.keys)
JUNK_OF_CONSUMABLES = tuple(JUNK.get(key) for key in content.CONSUMABLES.keys)  # none on Spectrals


def _upper(table: content.ContentTable, prefix: str) -> tuple[str, ...]:
    """Enum values of 1.x by id; entries below the first id are empty."""
    return ("",) * table.first + tuple(key.removeprefix(prefix).upper() for key in table.keys)


def _keys(table: content.ContentTable) -> tuple[str, ...]:
    return ("",) * table.first + table.keys


@dataclass(frozen=True)
class Dialect:
    """How one version spells things; tuples are indexed by our ids."""

    name: str
    decks: tuple[str, ...]
    stakes: tuple[str, ...]
    seals: tuple[str, ...]
    editions: tuple[str, ...]
    enhancements: tuple[str, ...]
    shows_more: bool
    """Keys of blinds and tags, held tags, the Fool's card, the most played hand: what dev adds."""
    junk: bool
    """Whether cards without an enhancement show an inner word in its place."""

    @cached_property
    def ids(self) -> dict[str, dict[str, int]]:
        """Ids by kind of enum and spelling."""
        kinds: dict[str, tuple[str, ...]] = {
            "deck": self.decks,
            "stake": self.stakes,
            "seal": self.seals,
            "edition": self.editions,
            "enhancement": self.enhancements,
        }
        return {kind: {text: number for number, text in enumerate(names) if text} for kind, names in kinds.items()}

    def id(self, kind: str, text: Any) -> int:
        """The id of an enum value; a value of a mod is an error that names it."""
        if not isinstance(text, str) or text not in self.ids[kind]:
            raise UnknownNameError(f"{kind} in the live state", str(text), self.ids[kind])
        return self.ids[kind][text]


ONE = Dialect(
    "1.x",
    decks=_upper(content.DECKS, "b_"),
    stakes=_upper(content.STAKES, "stake_"),
    seals=_upper(content.SEALS, ""),
    editions=("", *_upper(content.EDITIONS, "e_")[1:]),
    enhancements=_upper(content.ENHANCEMENTS, "m_"),
    shows_more=False,
    junk=True,
)
DEV = Dialect(
    "dev",
    decks=_keys(content.DECKS),
    stakes=_keys(content.STAKES),
    seals=_keys(content.SEALS),
    editions=("", *_keys(content.EDITIONS)[1:]),
    enhancements=_keys(content.ENHANCEMENTS),
    shows_more=True,
    junk=False,
)
DIALECTS = {dialect.name: dialect for dialect in (ONE, DEV)}


def find_dialect(name: str) -> Dialect:
    """A dialect by name."""
    if name not in DIALECTS:
        raise UnknownNameError("dialect", name, DIALECTS)
    return DIALECTS[name]


def dialect_of(discovered: Any) -> Dialect:
    """The dialect of the server whose `rpc.discover` answered with this document."""
    methods = discovered.get("methods") if isinstance(discovered, dict) else None
    names = (
        {method.get("name") for method in methods if isinstance(method, dict)} if isinstance(methods, list) else set()
    )
    if "gamestate" not in names:
        raise UnknownNameError("server", "rpc.discover without the method 'gamestate'", DIALECTS, "Is it balatrobot?")
    return DEV if names & {"buy_and_use", "sort", "reroll_boss"} else ONE


def dialect_of_state(state: Any) -> Dialect | None:
    """The dialect a state is written in, by the spelling of its deck; None where it does not say."""
    deck = state.get("deck") if isinstance(state, dict) else None
    return next((dialect for dialect in DIALECTS.values() if str(deck) in dialect.ids["deck"]), None)
