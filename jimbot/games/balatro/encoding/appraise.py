"""What a joker or a Planet would do for typical hands: the helper of the shop.

A few hands that every deck sees (`TYPICAL`) are played with the real rules on a copy of the game, once as things are,
once with each offered joker or Planet, once without each joker held. The worth is the ratio of the scores as a
logarithm: 0.7 doubles the score. As in `candidates`, only what is certain counts and no stream is looked at. What
grows, pays or changes cards is not seen here; a player has to learn that part.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.compiling.record_copies import keep_game, put_back
from jimbot.games.balatro.encoding.fields import JOKER_ROWS, PACK_ROWS, SHOP_ROWS, places, stride
from jimbot.games.balatro.rules import state
from jimbot.games.balatro.rules.content import BLINDS, FIRST_PLANET, FIRST_SPECTRAL, HANDS, PLANET_HAND, parse_card
from jimbot.games.balatro.rules.inventory import add_joker, remove_joker
from jimbot.games.balatro.rules.rounds import put_forward
from jimbot.games.balatro.rules.scratch import TYPICAL_HANDS

# (poker hand, how often it is what a round is won with, five cards played); three cards are held beside them
TYPICAL = (
    ("High Card", 1, "S_A H_K D_9 C_6 S_3"),
    ("Pair", 4, "S_K H_K D_9 C_6 S_3"),
    ("Two Pair", 4, "S_Q H_Q D_8 C_8 S_A"),
    ("Three of a Kind", 2, "S_T H_T D_T C_7 S_4"),
    ("Straight", 2, "S_9 H_8 D_7 C_6 S_5"),
    ("Flush", 4, "H_A H_J H_8 H_6 H_3"),
    ("Full House", 2, "S_J H_J D_J C_4 H_4"),
)
HELD = "D_K C_Q H_5"
_CARDS = len(TYPICAL[0][2].split()) + len(HELD.split())
_PLAYED_BITS = (1 << len(TYPICAL[0][2].split())) - 1
_HANDS_LEFT, _DISCARDS_LEFT = 3, 2  # of the round it is played in


_ROWS = [[parse_card(card) for card in f"{played} {HELD}".split()] for _, _, played in TYPICAL]
_RANK = np.array([[rank for rank, _ in row] for row in _ROWS], np.int64)
_SUIT = np.array([[suit for _, suit in row] for row in _ROWS], np.int64)
_OFTEN = np.array([often for _, often, _ in TYPICAL], np.float64)
_HAND = np.array([HANDS.id(name) for name, _, _ in TYPICAL], np.int64)
_COUNT = len(TYPICAL)
assert _COUNT == TYPICAL_HANDS
_SMALL_BLIND = BLINDS.id("bl_small")
_JOKER_TYPICAL, _JOKER_BEST = places("joker_worth")
_SHOP_TYPICAL, _SHOP_BEST = places("shop_worth")
_PACK_TYPICAL, _PACK_BEST = places("pack_worth")
_STRIDE = stride("shop_worth")
_LARGEST = 20.0  # of a logarithm; scores may be infinite


@njit
def _deal(g, which):
    """Puts a typical hand into the player's hand, in a quiet round of a Small Blind."""
    for place in range(_CARDS):
        slot = g.cards[place]
        g.card_rank[slot] = _RANK[which, place]
        g.card_suit[slot] = _SUIT[which, place]
        g.card_enhancement[slot] = 0
        g.card_edition[slot] = 0
        g.card_seal[slot] = 0
        g.card_flags[slot] = 0
        g.card_extra_chips[slot] = 0
        g.card_place[slot] = state.IN_HAND
        g.hand[place] = slot
    g.hand_count = _CARDS
    g.blind = _SMALL_BLIND
    g.blind_disabled = False
    g.hands_left = _HANDS_LEFT
    g.discards_left = _DISCARDS_LEFT
    g.discards_used = 1
    g.hands_played_round = 1
    g.consumable_slots = 0  # nothing a joker creates in this moment can change the score


@njit
def _empty_hand(g):
    """An open pack may have dealt cards: they lie in the deck while hands are tried out."""
    for place in range(g.hand_count):
        g.card_place[g.hand[place]] = state.IN_DECK


@njit
def _try_hand(g, s, which):
    """log(1 + score) of a typical hand, as the game is now; the caller puts the game back."""
    _empty_hand(g)
    _deal(g, which)
    s.certain = True
    put_forward(g, s, np.uint64(_PLAYED_BITS))
    s.certain = False
    return min(np.log1p(max(0.0, s.score)), 1e3) if s.score == s.score else 1e3


@njit
def _change(g, joker_away, offer):
    """Takes a held joker away, or hands over an offer; False if the offer is neither joker nor Planet."""
    if joker_away >= 0:
        remove_joker(g, joker_away)
    if offer < 0:
        return True
    if g.offer_kind[offer] == state.OFFER_JOKER:
        if g.joker_count >= state.MAX_JOKERS:
            return False
        edition, flags, counter = g.offer_edition[offer], g.offer_flags[offer], g.offer_counter[offer]
        add_joker(g, g.offer_id[offer], edition, flags & (0xFF ^ state.FACE_DOWN), counter, g.next_serial)
        return True
    planet = np.int64(g.offer_id[offer])
    if g.offer_kind[offer] != state.OFFER_CONSUMABLE or planet < FIRST_PLANET or planet >= FIRST_SPECTRAL:
        return False
    g.hand_level[PLANET_HAND[planet]] += 1
    return True


@njit
def _play_all(g, s, joker_away, offer, scores):
    """log-scores of all typical hands after a change, into `scores`; False if there is nothing to try."""
    for which in range(_COUNT):
        known = _change(g, joker_away, offer)
        if known:
            scores[which] = _try_hand(g, s, which)
        put_back(g, s.kept)
        if not known:
            return False
    return True


@njit
def _often(g, which):
    """How much a typical hand counts: its rate, more if the run plays it."""
    return _OFTEN[which] + np.float64(g.hand_played[_HAND[which]])


@njit
def _typical_gain(g, before, after):
    total, weights = 0.0, 0.0
    for which in range(_COUNT):
        weight = _often(g, which)
        total += weight * (after[which] - before[which])
        weights += weight
    return max(-_LARGEST, min(_LARGEST, total / weights))


@njit
def _best_gain(before, after):
    top_before, top_after = 0.0, 0.0
    for which in range(_COUNT):
        top_before = max(top_before, before[which])
        top_after = max(top_after, after[which])
    return max(-_LARGEST, min(_LARGEST, top_after - top_before))


@njit
def play_typical(g, s):
    """The typical hands as things are, into `s.worth[0]` as log-scores; False where the deck is too small for them."""
    if g.card_count < _CARDS:
        return False
    keep_game(g, s.kept)
    return _play_all(g, s, -1, -1, s.worth[0])


@njit
def typical_score(g, scores):
    """The mean of log-scores, each as often as it is played, and the highest."""
    total, weights, best = 0.0, 0.0, 0.0
    for which in range(_COUNT):
        weight = _often(g, which)
        total += weight * scores[which]
        weights += weight
        best = max(best, scores[which])
    return total / weights, best


@njit
def write_worths(g, s, out):
    """Writes what every offer would add, and every joker held adds now."""
    if not play_typical(g, s):
        return
    before, after = s.worth[0], s.worth[1]
    for row in range(min(g.joker_count, JOKER_ROWS)):
        if not g.joker_flags[row] & state.FACE_DOWN and _play_all(g, s, row, -1, after):
            out[_JOKER_TYPICAL + row * _STRIDE] = _typical_gain(g, after, before)
            out[_JOKER_BEST + row * _STRIDE] = _best_gain(after, before)
    for row in range(min(g.shop_count, SHOP_ROWS)):
        if _play_all(g, s, -1, row, after):
            out[_SHOP_TYPICAL + row * _STRIDE] = _typical_gain(g, before, after)
            out[_SHOP_BEST + row * _STRIDE] = _best_gain(before, after)
    for row in range(min(g.pack_count, PACK_ROWS)):
        if _play_all(g, s, -1, state.FIRST_PACK_OFFER + row, after):
            out[_PACK_TYPICAL + row * _STRIDE] = _typical_gain(g, before, after)
            out[_PACK_BEST + row * _STRIDE] = _best_gain(before, after)
