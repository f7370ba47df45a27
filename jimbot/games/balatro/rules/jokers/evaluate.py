"""What the rows of the registry mean: whose rule a joker runs (Blueprint, Brainstorm), conditions, quantities, and the
effects on chips and Mult."""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.challenges import CHIPS_CAPPED_BY_MONEY
from jimbot.games.balatro.rules.chance.streams import roll
from jimbot.games.balatro.rules.content import JOKER_COPYABLE, JOKERS, RED_SEAL, WILD
from jimbot.games.balatro.rules.jokers import registry as r
from jimbot.games.balatro.rules.jokers.registry import define
from jimbot.games.balatro.rules.playing_cards.hands import is_face, is_flush_suit, is_printed_suit, is_suit, rank_of
from jimbot.games.balatro.rules.shop.prices import joker_sell_value
from jimbot.games.balatro.rules.state import DEBUFFED, IN_HAND

_BLUEPRINT, _BRAINSTORM = JOKERS.id("j_blueprint"), JOKERS.id("j_brainstorm")


@njit
def acts_as(g, i):
    """The place of the joker whose rule the joker in place `i` runs: itself, the one it copies, or -1 for none.

    Blueprint copies its right neighbour, Brainstorm the leftmost joker; chains are followed. A debuffed joker on the
    way or a joker that cannot be copied yields nothing, and so does a circle.
    """
    place = i
    for _ in range(g.joker_count + 2):
        if g.joker_flags[place] & DEBUFFED:
            return -1
        joker = g.joker_id[place]
        if joker == _BLUEPRINT:
            place += 1
            if place >= g.joker_count:
                return -1
        elif joker == _BRAINSTORM:
            if place == 0:
                return -1
            place = 0
        elif place != i and not JOKER_COPYABLE[joker]:
            return -1
        else:
            return place
    return -1


@njit
def resolve_copies(g, s):
    """Fills `s.acts_as` for all jokers held."""
    for i in range(g.joker_count):
        s.acts_as[i] = acts_as(g, i)


define("j_blueprint", passive="copy")
define("j_brainstorm", passive="copy")


_STENCIL, _MIME = JOKERS.id("j_stencil"), JOKERS.id("j_mime")
_SPADES, _HEARTS, _CLUBS, _DIAMONDS = range(4)
BOOTSTRAPS_DOLLARS = int(r.amount("j_bootstraps", "extra.dollars"))
_FLOWER_POT_ORDER = np.array([_HEARTS, _DIAMONDS, _SPADES, _CLUBS], np.int64)
_SEEING_DOUBLE_ORDER = np.array([_CLUBS, _DIAMONDS, _SPADES, _HEARTS], np.int64)


# --- effects ---


@njit
def add_chips(g, s, amount):
    """Adds chips; Rich get Richer caps them at the money held."""
    s.chips += amount
    if CHIPS_CAPPED_BY_MONEY[g.challenge]:
        s.chips = min(s.chips, max(0.0, np.float64(g.money)))


@njit
def chance(g, s, stream, one_in):
    """Rolls a listed chance of 1 in N; where only the certain counts, it fails unrolled."""
    return not s.certain and roll(g, stream) < s.odds / one_in


# --- conditions of the main pass ---


@njit
def _held_all_black(g, s):
    for place in range(g.hand_count):
        slot = g.hand[place]
        if g.card_place[slot] == IN_HAND:
            if not (is_flush_suit(g, s, slot, _SPADES) or is_flush_suit(g, s, slot, _CLUBS)):
                return False
    return True


@njit
def _suits_filled(g, s, order, as_printed):
    """Suits of the scoring cards, as bits. Plain cards come first: where they count `as_printed` (debuffed or not),
    each fills one suit, else every suit it passes. Then each Wild Card fills the first empty one of `order`."""
    filled = 0
    for wild in range(2):
        for index in range(s.scoring_count):
            slot = s.scoring[index]
            if (g.card_enhancement[slot] == WILD) == (wild == 1):
                printed = as_printed and wild == 0
                for place in range(4):
                    suit = order[place]
                    passes = is_printed_suit(g, s, slot, suit) if printed else is_suit(g, s, slot, suit)
                    if passes and not filled >> suit & 1:
                        filled |= 1 << suit
                        if as_printed or wild == 1:
                            break
    return filled


@njit
def _all_four_suits(g, s):
    """Flower Pot."""
    return _suits_filled(g, s, _FLOWER_POT_ORDER, True) == 15


@njit
def _club_and_other(g, s):
    """Seeing Double."""
    filled = _suits_filled(g, s, _SEEING_DOUBLE_ORDER, False)
    return (filled >> _CLUBS & 1) == 1 and filled != 1 << _CLUBS


@njit
def main_condition(g, s, i, condition, argument):
    """Whether a main row applies to this hand."""
    if condition == r.ALWAYS:
        return True
    if condition == r.CONTAINS:
        return (s.contains >> argument & 1) == 1
    if condition == r.PLAYED_AT_MOST:
        return s.played_count <= argument
    if condition == r.NO_DISCARDS_LEFT:
        return g.discards_left == 0
    if condition == r.LAST_HAND:
        return g.hands_left == 0
    if condition == r.PLAYED_THIS_ROUND:
        return g.hand_played_round[s.hand] > 1
    if condition == r.ENHANCED_AT_LEAST:
        return s.enhanced_tally >= argument
    if condition == r.HELD_ALL_BLACK:
        return _held_all_black(g, s)
    if condition == r.ALL_FOUR_SUITS:
        return _all_four_suits(g, s)
    if condition == r.CLUB_AND_OTHER:
        return _club_and_other(g, s)
    # EVERY_SIXTH_HAND: counted from the joker's creation; `argument` hands pass between two hits
    return (argument - 1 - (g.hands_played - g.joker_counter[i])) % (argument + 1) == argument


# --- quantities of the main pass ---


@njit
def _other_sell_values(g, i):
    total = 0
    for other in range(g.joker_count):
        if other != i:
            total += joker_sell_value(g, other)
    return total


@njit
def _empty_slots(g):
    stencils = 0
    for other in range(g.joker_count):
        if g.joker_id[other] == _STENCIL:
            stencils += 1
    return g.joker_slots - g.joker_count + stencils


@njit
def main_quantity(g, s, i, quantity):
    """The number a main row counts."""
    if quantity == r.ONE:
        return 1.0
    if quantity == r.VALUE:
        return g.joker_value[i]
    if quantity == r.DISCARDS_LEFT:
        return np.float64(g.discards_left)
    if quantity == r.JOKERS_HELD:
        return np.float64(g.joker_count)
    if quantity == r.PILE:
        return np.float64(g.pile_count)
    if quantity == r.STONE_CARDS:
        return np.float64(s.stone_tally)
    if quantity == r.STEEL_CARDS:
        return np.float64(s.steel_tally)
    if quantity == r.TAROTS_USED:
        return np.float64(g.tarots_used)
    if quantity == r.TIMES_PLAYED:
        return np.float64(g.hand_played[s.hand])
    if quantity == r.SKIPS:
        return np.float64(g.skips)
    if quantity == r.CARDS_LOST:
        return np.float64(max(0, g.starting_deck_size - g.card_count))
    if quantity == r.MONEY:
        return np.float64(max(0, g.money + s.dollars))
    if quantity == r.MONEY_FIVES:
        return np.float64(max(0, (g.money + s.dollars) // BOOTSTRAPS_DOLLARS))
    if quantity == r.OTHER_SELL_VALUES:
        return np.float64(_other_sell_values(g, i))
    return np.float64(_empty_slots(g))


@njit
def apply_main_row(g, s, i, joker):
    """Runs the main row of a joker whose state is in place `i`."""
    effect = r.MAIN_EFFECT[joker]
    if effect == 0 or not main_condition(g, s, i, r.MAIN_CONDITION[joker], r.MAIN_ARGUMENT[joker]):
        return
    value = r.MAIN_OFFSET[joker] + r.MAIN_FACTOR[joker] * main_quantity(g, s, i, r.MAIN_QUANTITY[joker])
    if effect == r.CHIPS:
        add_chips(g, s, value)
    elif effect == r.MULT:
        s.mult += value
    elif value > 1:
        s.mult *= value


# --- rows about single cards ---


@njit
def card_condition(g, s, slot, condition, argument):
    """Whether a card row applies to a card."""
    if condition == r.ANY_CARD:
        return True
    if condition == r.SUIT:
        return is_suit(g, s, slot, argument)
    if condition == r.RANKS:
        return (argument >> rank_of(g, slot) & 1) == 1
    if condition == r.FACE:
        return is_face(g, s, slot)
    if condition == r.FIRST_FACE:
        return slot == s.first_face
    if condition == r.FIRST_CARD:
        return slot == s.scoring[0]
    if condition == r.ENHANCEMENT:
        return g.card_enhancement[slot] == argument
    if condition == r.IDOL:
        return rank_of(g, slot) == g.idol_rank and is_suit(g, s, slot, g.idol_suit)
    if condition == r.ANCIENT_SUIT:
        return is_suit(g, s, slot, g.ancient_suit)
    return False


_SCORED_CONDITION, _SCORED_ARGUMENT, _SCORED_STREAM = r.SCORED.condition, r.SCORED.argument, r.SCORED.stream
_SCORED_CHIPS, _SCORED_MULT, _SCORED_X_MULT = r.SCORED.chips, r.SCORED.mult, r.SCORED.x_mult
_SCORED_DOLLARS, _SCORED_ODDS = r.SCORED.dollars, r.SCORED.odds
_HELD_CONDITION, _HELD_ARGUMENT = r.HELD.condition, r.HELD.argument
_HELD_MULT, _HELD_X_MULT = r.HELD.mult, r.HELD.x_mult


@njit
def apply_scored_row(g, s, joker, slot):
    """Runs a joker's row on one trigger of a scored card."""
    condition = _SCORED_CONDITION[joker]
    if condition == r.NEVER or not card_condition(g, s, slot, condition, _SCORED_ARGUMENT[joker]):
        return
    if _SCORED_STREAM[joker] >= 0 and not chance(g, s, _SCORED_STREAM[joker], _SCORED_ODDS[joker]):
        return
    if _SCORED_CHIPS[joker] != 0:
        add_chips(g, s, _SCORED_CHIPS[joker])
    s.mult += _SCORED_MULT[joker]
    s.dollars += _SCORED_DOLLARS[joker]
    if _SCORED_X_MULT[joker] != 0:
        s.mult *= _SCORED_X_MULT[joker]


@njit
def apply_held_row(g, s, joker, slot):
    """Runs a joker's row on one trigger of a card held in hand."""
    condition = _HELD_CONDITION[joker]
    if condition == r.NEVER or not card_condition(g, s, slot, condition, _HELD_ARGUMENT[joker]):
        return
    s.had_effect = True
    s.mult += _HELD_MULT[joker]
    if _HELD_X_MULT[joker] != 0:
        s.mult *= _HELD_X_MULT[joker]


@njit
def held_retriggers(g, s, slot):
    """Extra triggers of a held card that did something: one per Mime, one for a Red Seal."""
    times = 1 if g.card_seal[slot] == RED_SEAL else 0
    for i in range(g.joker_count):
        if s.acts_as[i] >= 0 and g.joker_id[s.acts_as[i]] == _MIME:
            times += 1
    return times


@njit
def row_retriggers(g, s, joker, slot):
    """Extra triggers a joker gives a scored card."""
    condition = r.RETRIGGER_CONDITION[joker]
    if condition == r.NEVER or (r.RETRIGGER_LAST_HAND[joker] and g.hands_left > 0):
        return 0
    if card_condition(g, s, slot, condition, r.RETRIGGER_ARGUMENT[joker]):
        return r.RETRIGGER_TIMES[joker]
    return 0
