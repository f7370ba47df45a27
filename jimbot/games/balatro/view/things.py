"""Cards, jokers and everything on sale as coloured text: the one place that knows how a thing looks.

Colours follow the game's own scheme (rarities, kinds of consumables, suits told apart by four colours) and never carry
a meaning alone: suits have signs, editions, enhancements and stickers have words or letters.
"""

from __future__ import annotations

from rich.text import Text

from jimbot.games.balatro.rules import content
from jimbot.games.balatro.seeds.finding import Item

SUIT_SIGNS = "♠♥♣♦"
SUIT_STYLES = ("#8fb3ff", "#ff5c7a", "#59d0a4", "#ffb454")  # Spades, Hearts, Clubs, Diamonds
RARITY_STYLES = ("", "#4aa8ff", "#4bc292", "#fe5f55", "bold #c77dff")  # Common .. Legendary
SET_STYLES = {"Tarot": "#b79bf0", "Planet": "#35c3e0", "Spectral": "#6f9bff"}
PACK_STYLES = {
    "Arcana": "#b79bf0", "Celestial": "#35c3e0", "Spectral": "#6f9bff", "Standard": "#e8c170", "Buffoon": "#fe5f55",
}  # fmt: skip
EDITION_STYLES = (
    "",
    "bold #7fd8ff",
    "bold #ff7ac6",
    "bold #ffe066",
    "bold reverse",
)  # none, Foil, Holo, Poly, Negative
EDITION_NAMES = tuple(content.EDITIONS.name(edition) for edition in range(len(content.EDITIONS)))
EDITION_MARKS = ("", "Foil", "Holo", "Poly", "Neg")
ENHANCEMENT_MARKS = ("", "bonus", "mult", "wild", "glass", "steel", "stone", "gold", "lucky")
ENHANCEMENT_STYLES = (
    "", "#7fb8ff", "#ff8f8f", "#d6a2ff", "#a8f0ff", "#c0c8d0", "#9a9a9a", "#ffd166", "#8fe388",
)  # fmt: skip
SEAL_STYLES = ("", "#ffd166", "#ff5c5c", "#5c9dff", "#b06bff")  # Gold, Red, Blue, Purple
VOUCHER_STYLE, TAG_STYLE, BOSS_STYLE, MONEY_STYLE = "#ffb454", "#8fe388", "bold #ff5c5c", "bold #ffd166"
_STICKERS = (
    ("eternal", "Eternal", "#ff9ecb"),
    ("perishable", "Perishable", "#7aa2ff"),
    ("rental", "Rental", "#e0c060"),
)


def rank_text(rank: int) -> str:
    """The rank as players write it: T is 10."""
    letter = content.LETTER_OF_RANK[rank]
    return "10" if letter == "T" else letter


def card_text(rank: int, suit: int) -> Text:
    """A playing card: its rank and the sign of its suit."""
    return Text(f"{rank_text(rank)}{SUIT_SIGNS[suit]}", style=f"bold {SUIT_STYLES[suit]}")


def joker_style(joker: int) -> str:
    return RARITY_STYLES[content.JOKERS.rows[joker]["rarity"]]


def consumable_style(consumable: int) -> str:
    return SET_STYLES[content.CONSUMABLES.rows[consumable]["set"]]


def pack_text(key: str) -> Text:
    """A booster pack by its display name."""
    row = content.PACKS.row(key)
    return Text(row["name"], style=PACK_STYLES[row["kind"]])


def item_text(item: Item) -> Text:
    """A shop or pack card: edition, enhancement, name, seal, stickers."""
    text = Text()
    if item.edition:
        edition = content.EDITIONS.id(f"e_{item.edition}")
        text.append(EDITION_NAMES[edition], style=EDITION_STYLES[edition]).append(" ")
    if item.card:
        if item.enhancement:
            enhancement = content.ENHANCEMENTS.id(item.enhancement)
            text.append(ENHANCEMENT_MARKS[enhancement].capitalize(), style=ENHANCEMENT_STYLES[enhancement]).append(" ")
        text.append_text(card_text(*content.parse_card(item.card)))
        if item.seal:
            text.append(f" {item.seal} Seal", style=SEAL_STYLES[content.SEALS.id(item.seal)])
    elif item.key in content.JOKERS:
        joker = content.JOKERS.id(item.key)
        text.append(content.JOKERS.name(joker), style=joker_style(joker))
    else:
        consumable = content.CONSUMABLES.id(item.key)
        text.append(content.CONSUMABLES.name(consumable), style=consumable_style(consumable))
    for name, word, style in _STICKERS:
        if getattr(item, name):
            text.append(f" {word}", style=style)
    return text
