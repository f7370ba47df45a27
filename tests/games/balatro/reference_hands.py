"""The part of the second scorer that reads cards: which poker hand lies on the table, who copies whom.

Written from the rule text alone, like `reference_scorer.py`; nothing here comes from the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

HANDS = {  # chips, Mult, chips per level, Mult per level; strongest first
    "Flush Five": (160, 16, 50, 3), "Flush House": (140, 14, 40, 4), "Five of a Kind": (120, 12, 35, 3),
    "Straight Flush": (100, 8, 40, 4), "Four of a Kind": (60, 7, 30, 3), "Full House": (40, 4, 25, 2),
    "Flush": (35, 4, 15, 2), "Straight": (30, 4, 30, 3), "Three of a Kind": (30, 3, 20, 2),
    "Two Pair": (20, 2, 20, 1), "Pair": (10, 2, 15, 1), "High Card": (5, 1, 10, 1),
}  # fmt: skip
SUIT_NAMES = {"S": "Spades", "H": "Hearts", "C": "Clubs", "D": "Diamonds"}
RED = ("Hearts", "Diamonds")
RANKS = {letter: rank for rank, letter in enumerate("23456789TJQKA", 2)}
NOT_COPIED = """
four_fingers credit_card chaos delayed_grat pareidolia egg splash sixth_sense shortcut cloud_9 rocket midas_mask
gift turtle_bean to_the_moon juggler drunkard golden trading mr_bones troubadour smeared ring_master merry_andy
oops invisible satellite astronomer chicot
""".split()  # noqa: SIM905 - as in a table


@dataclass
class Card:
    rank: int
    suit: str
    enhancement: str
    edition: str
    seal: str
    extra_chips: int
    debuffed: bool

    @property
    def stone(self) -> bool:
        return self.enhancement == "m_stone"

    @property
    def id(self) -> int:
        """The rank other cards compare with; a Stone Card has none."""
        return 0 if self.stone else self.rank

    @property
    def printed_chips(self) -> int:
        return 11 if self.rank == 14 else min(self.rank, 10)


@dataclass
class Joker:
    name: str
    edition: str
    sell: int
    debuffed: bool
    value: float
    hand: str
    hands_since_bought: int


@dataclass
class Hand:
    """One hand being scored."""

    scenario: dict[str, Any]
    played: list[Card]
    held: list[Card]
    jokers: list[Joker]
    name: str = ""
    present: set[str] = field(default_factory=set)
    scoring: list[Card] = field(default_factory=list)
    chips: float = 0.0
    mult: float = 0.0
    dollars: int = 0
    triggered: bool = False
    blocked: bool = False
    level: int = 1

    def has(self, name: str) -> bool:
        return any(joker.name == name and not joker.debuffed for joker in self.jokers)

    def actors(self) -> list[tuple[Joker, Joker]]:
        """(joker whose turn it is, joker whose rule runs), left to right."""
        pairs = []
        for place, joker in enumerate(self.jokers):
            target, seen = place, set()
            while target is not None and target not in seen:
                seen.add(target)
                current = self.jokers[target]
                if current.debuffed or (target != place and current.name in NOT_COPIED):
                    target = None
                elif current.name == "blueprint":
                    target = target + 1 if target + 1 < len(self.jokers) else None
                elif current.name == "brainstorm":
                    target = 0 if target != 0 else None
                else:
                    pairs.append((joker, current))
                    break
        return pairs


# --- reading cards ---


def same_colour(hand: Hand, own: str, wanted: str) -> bool:
    return own == wanted or (hand.has("smeared") and (own in RED) == (wanted in RED))


def counts_as(hand: Hand, card: Card, suit: str) -> bool:
    if card.debuffed or card.stone:
        return False
    return card.enhancement == "m_wild" or same_colour(hand, card.suit, suit)


def flush_counts_as(hand: Hand, card: Card, suit: str) -> bool:
    if card.stone:
        return False
    return (card.enhancement == "m_wild" and not card.debuffed) or same_colour(hand, card.suit, suit)


def is_face(hand: Hand, card: Card) -> bool:
    return not card.debuffed and (card.id in (11, 12, 13) or hand.has("pareidolia"))


# --- which hand it is ---


def groups(cards: list[Card], size: int) -> list[list[Card]]:
    found = []
    for rank in range(14, 1, -1):
        same = [card for card in cards if card.id == rank]
        if len(same) == size:
            found.append(same)
    return found


def flush_of(hand: Hand) -> list[Card]:
    need = 4 if hand.has("four_fingers") else 5
    for suit in ("Spades", "Hearts", "Clubs", "Diamonds"):
        cards = [card for card in hand.played if flush_counts_as(hand, card, suit)]
        if len(cards) >= need:
            return cards
    return []


def straight_of(hand: Hand) -> list[Card]:
    need, gaps = (4 if hand.has("four_fingers") else 5), hand.has("shortcut")
    run: list[Card] = []
    length, gap, done = 0, False, False
    for position in range(1, 15):
        here = [card for card in hand.played if card.id == (14 if position == 1 else position)]
        if here:
            length, gap = length + 1, False
            run += [card for card in here if card not in run]
        elif gaps and not gap and position < 14:
            gap = True
        else:
            if done:
                break
            length, gap, run = 0, False, []
        done = done or length >= need
    return run if done else []


def detect(hand: Hand) -> None:
    """Names the hand, lists all hands present and the cards that score."""
    fives, fours, threes, pairs = (groups(hand.played, size) for size in (5, 4, 3, 2))
    flush, straight = flush_of(hand), straight_of(hand)
    full = bool(threes and pairs)
    makers: dict[str, list[Card]] = {
        "Flush Five": fives[0] if fives and flush else [],
        "Flush House": threes[0] + pairs[0] if full and flush else [],
        "Five of a Kind": fives[0] if fives else [],
        "Straight Flush": flush + straight if flush and straight else [],
        "Four of a Kind": fours[0] if fours else [],
        "Full House": threes[0] + pairs[0] if full else [],
        "Flush": flush,
        "Straight": straight,
        "Three of a Kind": threes[0] if threes else [],
        "Two Pair": pairs[0] + pairs[1] if len(pairs) == 2 else threes[0] + pairs[0] if full else [],
        "Pair": pairs[0] if pairs else [],
        "High Card": [max(hand.played, key=lambda card: card.id)],
    }
    hand.present = {name for name, cards in makers.items() if cards}
    for larger, smaller in (
        ("Five of a Kind", "Four of a Kind"),
        ("Four of a Kind", "Three of a Kind"),
        ("Three of a Kind", "Pair"),
    ):
        if larger in hand.present:
            hand.present.add(smaller)
    hand.name = next(name for name in HANDS if makers[name])
    chosen = [id(card) for card in makers[hand.name]]
    hand.scoring = [card for card in hand.played if id(card) in chosen or hand.has("splash") or card.stone]
