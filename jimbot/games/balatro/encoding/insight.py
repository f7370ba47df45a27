"""What a good player works out from what is shown: more helper fields, behind all others (`fields.INSIGHT`).

- `cards`: of every hand card how many others of its rank and suit are in the hand and left in the deck.
- `prices`: dollars left after each purchase, and the interest it costs.
- `build`: what typical hands score, and how a round of them compares with the coming blind, the boss and the next ante.
- `draws`: for each poker hand the chance to have it after one discard, and the share of the missing score it may bring.

Cards and chances are read from the finished observation, so nothing hidden can come in. Chances are those of the best
single aim (one rank, one suit, one window of a straight), drawing up to five cards; Wild Cards, Stone Cards, Smeared
Joker and Shortcut are not looked at. A learner has to find out what a feature is worth; none of them decides anything.
"""

from __future__ import annotations

from math import comb

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.encoding.appraise import play_typical, typical_score
from jimbot.games.balatro.encoding.fields import HAND_ROWS, STONE_ITEM, VOUCHER_ROWS, WIDTH, WITH_INSIGHT, places, start
from jimbot.games.balatro.encoding.fields import stride as stride_of
from jimbot.games.balatro.encoding.scaling import count_log
from jimbot.games.balatro.rules.antes import base_requirement, requirement_of
from jimbot.games.balatro.rules.bosses.blind import blind_on_deck
from jimbot.games.balatro.rules.content import HANDS, STAKE_SCALING
from jimbot.games.balatro.rules.payout import interest_on
from jimbot.games.balatro.rules.scoring import level_chips, level_mult
from jimbot.games.balatro.rules.shop.prices import booster_price, offer_price, reroll_price, voucher_price
from jimbot.games.balatro.rules.state import BLIND_SELECT, PACK, SELECTING_HAND, SHOP

PARTS = ("cards", "prices", "build", "draws")
_CARDS, _PRICES, _BUILD, _DRAWS = (1 << bit for bit in range(len(PARTS)))

_END = WITH_INSIGHT.size
_HAND_CARD, _LEFT = start("hand_card"), start("deck_left")
_KIN, _KIN_STRIDE = start("hand_kin"), stride_of("hand_kin")
_AFTER_STRIDE = stride_of("shop_after")
_SHOP_AFTER, _VOUCHER_AFTER, _BOOSTER_AFTER, _REROLL_AFTER = (
    start(f"{name}_after") for name in ("shop", "voucher", "booster", "reroll")
)
_TYPICAL, _BEST, _COMING, _BOSS, _NEXT_ANTE, _NEXT_BOSS = places("build")
_CHANCE, _EXPECTED = places("draws")
_DRAW_STRIDE = stride_of("draws")
_HANDS = len(HANDS)
_PAIR, _TWO_PAIR, _THREE, _STRAIGHT, _FLUSH, _FULL_HOUSE, _FOUR, _STRAIGHT_FLUSH, _FIVE = (
    HANDS.id(name)
    for name in (
        "Pair",
        "Two Pair",
        "Three of a Kind",
        "Straight",
        "Flush",
        "Full House",
        "Four of a Kind",
        "Straight Flush",
        "Five of a Kind",
    )
)
_HIGH_CARD = HANDS.id("High Card")
_RANKS, _SUITS, _MOST_DRAWN, _NEED = 13, 4, 5, 5
_CELL = 4.0  # cards a whole cell of `deck_left` stands for
_MOST_CARDS = 256
_CHOOSE = np.array([[comb(n, k) for k in range(_MOST_DRAWN + 1)] for n in range(_MOST_CARDS)], np.float64)
_CARD_CHIPS = 30.0  # of the scoring cards of a hand, about
_MARGIN_SCALE, _LARGEST_MARGIN = 1 / 4, 5.0
_BOSS_TIMES = 2.0  # of most bosses; who the next one will be is not known


# --- cards ---


@njit
def _count_hand(out, ranks, suits):
    """How many of the hand's cards have each rank and suit; returns the number of cards that have either."""
    for rank in range(_RANKS):
        ranks[rank] = 0
    for suit in range(_SUITS):
        suits[suit] = 0
    known = 0
    for row in range(HAND_ROWS):
        item = np.int64(out[_HAND_CARD + row])
        if 0 < item < STONE_ITEM:
            ranks[(item - 1) // _SUITS] += 1
            suits[(item - 1) % _SUITS] += 1
            known += 1
    return known


@njit
def _left(out, rank, suit):
    """Cards of a rank and suit not seen since the shuffle; -1 stands for any."""
    first_rank, last_rank = (0, _RANKS - 1) if rank < 0 else (rank, rank)
    first_suit, last_suit = (0, _SUITS - 1) if suit < 0 else (suit, suit)
    total = 0.0
    for r in range(first_rank, last_rank + 1):
        for c in range(first_suit, last_suit + 1):
            total += out[_LEFT + r * _SUITS + c]
    return np.int64(total * _CELL + 0.5)


@njit
def _write_kin(out, ranks, suits):
    for row in range(HAND_ROWS):
        item = np.int64(out[_HAND_CARD + row])
        if 0 < item < STONE_ITEM:
            rank, suit = (item - 1) // _SUITS, (item - 1) % _SUITS
            at = _KIN + row * _KIN_STRIDE
            out[at] = (ranks[rank] - 1) / _SUITS
            out[at + 1] = (suits[suit] - 1) / _NEED
            out[at + 2] = _left(out, rank, -1) / _SUITS
            out[at + 3] = _left(out, -1, suit) / _RANKS


# --- prices ---


@njit
def _after(g, price, at, out):
    left = np.int64(g.money - price)
    out[at] = count_log(left)
    out[at + 1] = (interest_on(g, np.int64(g.money)) - interest_on(g, left)) / 5.0


@njit
def _write_prices(g, out):
    for row in range(g.shop_count):
        _after(g, offer_price(g, row), _SHOP_AFTER + row * _AFTER_STRIDE, out)
    for row in range(min(g.voucher_count, VOUCHER_ROWS)):
        _after(g, voucher_price(g, g.shop_voucher[row]), _VOUCHER_AFTER + row * _AFTER_STRIDE, out)
    for row in range(g.booster_count):
        _after(g, booster_price(g, row), _BOOSTER_AFTER + row * _AFTER_STRIDE, out)
    _after(g, reroll_price(g), _REROLL_AFTER, out)


# --- the build ---


@njit
def _margin(round_score, requirement):
    """How much a round of typical hands is above what is asked for, as a logarithm."""
    margin = (round_score - np.log(max(1.0, requirement))) * _MARGIN_SCALE
    return max(-_LARGEST_MARGIN, min(_LARGEST_MARGIN, margin))


@njit
def _write_build(g, s, out):
    """`s.worth[0]` holds the log-scores of the typical hands."""
    typical, best = typical_score(g, s.worth[0])
    out[_TYPICAL] = min(typical / 8, 10.0)
    out[_BEST] = min(best / 8, 10.0)
    a_round = typical + np.log(max(1.0, np.float64(g.hands_per_round)))
    out[_COMING] = _margin(a_round, requirement_of(g, np.int64(blind_on_deck(g))))
    out[_BOSS] = _margin(a_round, requirement_of(g, g.boss))
    following = base_requirement(g.ante + 1, STAKE_SCALING[g.stake])
    out[_NEXT_ANTE] = _margin(a_round, following)
    out[_NEXT_BOSS] = _margin(a_round, following * _BOSS_TIMES)


# --- draws ---


@njit
def _none_of(deck, wanted, drawn):
    """The chance that none of `wanted` cards is among `drawn` of `deck`."""
    return _CHOOSE[deck - wanted, drawn] / _CHOOSE[deck, drawn]


@njit
def _at_least(need, deck, wanted, drawn):
    """The chance that at least `need` of `wanted` cards are among `drawn` of `deck`."""
    if need <= 0:
        return 1.0
    if need > drawn or need > wanted:
        return 0.0
    chance = 0.0
    for hit in range(need, min(drawn, wanted) + 1):
        if drawn - hit <= deck - wanted:
            chance += _CHOOSE[wanted, hit] * _CHOOSE[deck - wanted, drawn - hit]
    return chance / _CHOOSE[deck, drawn]


@njit
def _each_of(first, second, deck, drawn):
    """The chance that a card of each of two kinds (so many cards; -1: not needed) is among `drawn` of `deck`."""
    if first < 0:
        return 1.0
    if second < 0:
        return 1.0 - _none_of(deck, first, drawn)
    both = _none_of(deck, first + second, drawn)
    return max(0.0, 1.0 - _none_of(deck, first, drawn) - _none_of(deck, second, drawn) + both)


@njit
def _of_a_kind(out, ranks, rank, need, deck, most):
    drawn = min(most, _MOST_DRAWN)
    return _at_least(need - ranks[rank], deck, _left(out, rank, -1), drawn)


@njit
def _write_kinds(out, ranks, known, deck, chances):
    """Hands made of equal ranks: the best single rank, or the best two of them."""
    for first in range(_RANKS):
        if ranks[first] == 0:
            continue
        rest = min(known - ranks[first], deck)
        two = _of_a_kind(out, ranks, first, 2, deck, rest)
        three = _of_a_kind(out, ranks, first, 3, deck, rest)
        chances[_PAIR] = max(chances[_PAIR], two)
        chances[_THREE] = max(chances[_THREE], three)
        chances[_FOUR] = max(chances[_FOUR], _of_a_kind(out, ranks, first, 4, deck, rest))
        chances[_FIVE] = max(chances[_FIVE], _of_a_kind(out, ranks, first, 5, deck, rest))
        for second in range(_RANKS):
            if second != first and ranks[second] > 0:
                beside = _of_a_kind(out, ranks, second, 2, deck, max(0, rest - ranks[second]))
                chances[_TWO_PAIR] = max(chances[_TWO_PAIR], two * beside)
                chances[_FULL_HOUSE] = max(chances[_FULL_HOUSE], three * beside)


@njit
def _has(out, rank, suit):
    for row in range(HAND_ROWS):
        item = np.int64(out[_HAND_CARD + row]) - 1
        if 0 <= item < STONE_ITEM - 1 and item // _SUITS == rank and (suit < 0 or item % _SUITS == suit):
            return True
    return False


@njit
def _window(out, low, suit, known, deck):
    """The chance of the straight from a rank on (-1: the Ace below), of one suit or any, with at most two missing."""
    first, second, missing = -1, -1, 0
    for step in range(_NEED):
        rank = (low + step + _RANKS) % _RANKS
        if not _has(out, rank, suit):
            missing += 1
            left = _left(out, rank, suit)
            if missing == 1:
                first = left
            elif missing == 2:
                second = left
            else:
                return 0.0
    return _each_of(first, second, deck, min(_MOST_DRAWN, min(known - _NEED + missing, deck)))


@njit
def _write_straights(out, known, deck, chances):
    for low in range(-1, _RANKS - _NEED + 1):
        any_suit = _window(out, low, -1, known, deck)
        if any_suit > 0:
            chances[_STRAIGHT] = max(chances[_STRAIGHT], any_suit)
            for suit in range(_SUITS):
                chances[_STRAIGHT_FLUSH] = max(chances[_STRAIGHT_FLUSH], _window(out, low, suit, known, deck))


@njit
def _write_draws(g, s, out, ranks, suits, known):
    deck = min(_left(out, -1, -1), _MOST_CARDS - 1)
    if g.discards_left <= 0 or deck < _MOST_DRAWN or known == 0:
        return
    chances = s.chances
    for hand in range(_HANDS):
        chances[hand] = 0.0
    chances[_HIGH_CARD] = 1.0
    _write_kinds(out, ranks, known, deck, chances)
    for suit in range(_SUITS):
        drawn = min(_MOST_DRAWN, known - suits[suit])
        chances[_FLUSH] = max(
            chances[_FLUSH], _at_least(_NEED - suits[suit], deck, min(_left(out, -1, suit), deck), drawn)
        )
    _write_straights(out, known, deck, chances)
    factor = _joker_factor(g, s)
    missing = max(1.0, g.requirement - g.score)
    for hand in range(_HANDS):
        out[_CHANCE + hand * _DRAW_STRIDE] = chances[hand]
        expected = factor * (level_chips(g, hand) + _CARD_CHIPS) * level_mult(g, hand)
        out[_EXPECTED + hand * _DRAW_STRIDE] = chances[hand] * min(1.0, expected / missing)


@njit
def _joker_factor(g, s):
    """How much more the best play at hand scores than its level alone would: what jokers and cards bring, about."""
    factor = 1.0
    for hand in range(_HANDS):
        if s.best_score[hand] > 0:
            factor = max(factor, s.best_score[hand] / ((level_chips(g, hand) + _CARD_CHIPS) * level_mult(g, hand)))
    return min(factor, 1e12)


@njit
def write(g, s, parts, out):
    """Writes the chosen parts into a row that `observation.write` has just filled, with helpers; `s` still holds what
    these found."""
    for place in range(WIDTH, _END):
        out[place] = 0.0
    if g.phase == SELECTING_HAND or g.phase == PACK:
        known = _count_hand(out, s.hand_ranks, s.hand_suits)
        if parts & _CARDS:
            _write_kin(out, s.hand_ranks, s.hand_suits)
        if parts & _DRAWS and g.phase == SELECTING_HAND:
            _write_draws(g, s, out, s.hand_ranks, s.hand_suits, known)
    in_shop = g.phase == SHOP or (g.phase == PACK and g.pack_phase == SHOP)
    if parts & _PRICES and in_shop:
        _write_prices(g, out)
    if parts & _BUILD and (in_shop or g.phase == PACK or g.phase == BLIND_SELECT) and play_typical(g, s):
        _write_build(g, s, out)
