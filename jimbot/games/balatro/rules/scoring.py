"""Scoring a played hand, in the exact order of the game.

`score_hand` covers everything from detection to the `after` phase; moving cards to the discard pile, paying and ending
the round belong to the state machine. `s.played` holds the cards in table order, the game's `hand` the cards held.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import content
from jimbot.games.balatro.rules.bosses import dispatch as bosses
from jimbot.games.balatro.rules.chance.streams import stream_id
from jimbot.games.balatro.rules.inventory import remove_doomed
from jimbot.games.balatro.rules.jokers import dispatch, evaluate
from jimbot.games.balatro.rules.jokers.evaluate import resolve_copies
from jimbot.games.balatro.rules.playing_cards.hands import detect_hand, is_debuffed, is_face, rank_of, read_jokers
from jimbot.games.balatro.rules.shop.vouchers import OBSERVATORY
from jimbot.games.balatro.rules.state import DEBUFFED, IN_HAND

_LUCKY_MULT_STREAM, _LUCKY_MONEY_STREAM = stream_id("lucky_mult"), stream_id("lucky_money")
_GLASS_STREAM = stream_id("glass")
_PLASMA = content.DECKS.id("b_plasma")


def _enhancement(name: str) -> np.ndarray:
    return content.ENHANCEMENTS.column(lambda row: row["config"].get(name, 0), np.float64)


_BONUS_CHIPS = _enhancement("bonus")
_CARD_MULT = float(_enhancement("mult")[content.MULT])
_LUCKY_MULT, _LUCKY_DOLLARS = float(_enhancement("mult")[content.LUCKY]), int(_enhancement("p_dollars")[content.LUCKY])
_GLASS_X, _GLASS_ODDS = float(_enhancement("Xmult")[content.GLASS]), float(_enhancement("extra")[content.GLASS])
_STEEL_X = float(_enhancement("h_x_mult")[content.STEEL])
_LUCKY_MULT_ODDS, _LUCKY_MONEY_ODDS = (
    float(_enhancement("mult_odds")[content.LUCKY]),
    float(_enhancement("dollars_odds")[content.LUCKY]),
)
_FOIL_CHIPS = float(content.EDITIONS.row("e_foil")["values"]["chips"])
_HOLOGRAPHIC_MULT = float(content.EDITIONS.row("e_holo")["values"]["mult"])
_POLYCHROME_X = float(content.EDITIONS.row("e_polychrome")["values"]["x_mult"])
_GOLD_SEAL_DOLLARS = content.SEALS.row("Gold")["config"]["dollars"]
_OBSERVATORY_X = float(content.VOUCHERS.row("v_observatory")["config"]["extra"])


@njit
def level_chips(g, hand):
    """Chips of a poker hand at its level."""
    return max(0.0, content.HAND_CHIPS[hand] + content.HAND_LEVEL_CHIPS[hand] * (g.hand_level[hand] - 1))


@njit
def level_mult(g, hand):
    """Mult of a poker hand at its level."""
    return max(1.0, content.HAND_MULT[hand] + content.HAND_LEVEL_MULT[hand] * (g.hand_level[hand] - 1))


# --- the poker hand ---


@njit
def _count_enhanced_cards(g, s):
    """Stone Joker, Steel Joker and Driver's License count the full deck as it was when the hand was played."""
    s.stone_tally = g.enhancement_count[content.STONE]
    s.steel_tally = g.enhancement_count[content.STEEL]
    s.enhanced_tally = g.card_count - g.enhancement_count[0]


@njit
def _set_base(g, s):
    s.chips = 0.0
    s.mult = level_mult(g, s.hand)
    evaluate.add_chips(g, s, level_chips(g, s.hand))
    bosses.on_base(g, s)


# --- scored cards ---


@njit
def _apply_edition(g, s, edition):
    if edition == content.FOIL:
        evaluate.add_chips(g, s, _FOIL_CHIPS)
    elif edition == content.HOLOGRAPHIC:
        s.mult += _HOLOGRAPHIC_MULT
    elif edition == content.POLYCHROME:
        s.mult *= _POLYCHROME_X


@njit
def _score_own(g, s, slot):
    """What a scored card gives by itself: chips, Mult, dollars, X Mult, then its edition."""
    enhancement = g.card_enhancement[slot]
    chips = _BONUS_CHIPS[enhancement] + g.card_extra_chips[slot]
    if enhancement != content.STONE:
        chips += content.RANK_CHIPS[g.card_rank[slot]]
    evaluate.add_chips(g, s, chips)
    s.lucky_hit = False
    if enhancement == content.MULT:
        s.mult += _CARD_MULT
    elif enhancement == content.LUCKY:
        if evaluate.chance(g, s, _LUCKY_MULT_STREAM, _LUCKY_MULT_ODDS):
            s.mult += _LUCKY_MULT
            s.lucky_hit = True
        if evaluate.chance(g, s, _LUCKY_MONEY_STREAM, _LUCKY_MONEY_ODDS):
            s.dollars += _LUCKY_DOLLARS
            s.lucky_hit = True
    elif enhancement == content.GLASS:
        s.mult *= _GLASS_X
    if g.card_seal[slot] == content.GOLD_SEAL:
        s.dollars += _GOLD_SEAL_DOLLARS
    _apply_edition(g, s, g.card_edition[slot])


@njit
def _score_card(g, s, slot):
    """All triggers of one scored card; their number is fixed before the first."""
    triggers = 1
    if g.card_seal[slot] == content.RED_SEAL:
        triggers += 1
    for i in range(g.joker_count):
        if s.acts_as[i] >= 0:
            triggers += evaluate.row_retriggers(g, s, g.joker_id[s.acts_as[i]], slot)
    for _ in range(triggers):
        _score_own(g, s, slot)
        for i in range(g.joker_count):
            source = s.acts_as[i]
            if source >= 0:
                joker = g.joker_id[source]
                evaluate.apply_scored_row(g, s, joker, slot)
                dispatch.run_score_card(joker, g, s, source, source != i, slot)


@njit
def _score_cards(g, s):
    s.first_face = -1
    for index in range(s.scoring_count):
        if s.first_face < 0 and is_face(g, s, s.scoring[index]):
            s.first_face = s.scoring[index]
    for index in range(s.scoring_count):
        slot = s.scoring[index]
        if is_debuffed(g, slot):
            g.blind_triggered = True
        else:
            _score_card(g, s, slot)


# --- held cards ---


@njit
def _trigger_held(g, s, slot):
    """One trigger of a card held in hand."""
    if is_debuffed(g, slot):
        return
    if g.card_enhancement[slot] == content.STEEL:
        s.mult *= _STEEL_X
        s.had_effect = True
    for i in range(g.joker_count):
        source = s.acts_as[i]
        if source >= 0:
            joker = g.joker_id[source]
            evaluate.apply_held_row(g, s, joker, slot)
            dispatch.run_held_card(joker, g, s, source, source != i, slot)


@njit
def _find_lowest_held(g, s):
    """The rightmost held card of the lowest rank, Stone Cards ignored."""
    s.lowest_held = -1
    lowest = 15
    for place in range(g.hand_count):
        slot = g.hand[place]
        rank = rank_of(g, slot)
        if g.card_place[slot] == IN_HAND and rank > 0 and rank <= lowest:
            lowest = rank
            s.lowest_held = slot


@njit
def _score_held_cards(g, s):
    _find_lowest_held(g, s)
    for place in range(g.hand_count):
        slot = g.hand[place]
        if g.card_place[slot] != IN_HAND:
            continue
        s.had_effect = False
        _trigger_held(g, s, slot)
        if s.had_effect:
            for _ in range(evaluate.held_retriggers(g, s, slot)):
                _trigger_held(g, s, slot)


# --- jokers and consumables ---


@njit
def _main_pass(g, s):
    for i in range(g.joker_count):
        edition = 0 if g.joker_flags[i] & DEBUFFED else g.joker_edition[i]
        if edition != content.POLYCHROME:
            _apply_edition(g, s, edition)
        source = s.acts_as[i]
        if source >= 0:
            joker = g.joker_id[source]
            evaluate.apply_main_row(g, s, source, joker)
            dispatch.run_main(joker, g, s, source, source != i)
        for other in range(g.joker_count):
            reacting = s.acts_as[other]
            if reacting >= 0:
                dispatch.run_other_joker(g.joker_id[reacting], g, s, reacting, reacting != other, i)
        if edition == content.POLYCHROME:
            _apply_edition(g, s, edition)
    if g.voucher_owned[OBSERVATORY]:
        for index in range(g.consumable_count):
            consumable = g.consumable_id[index]
            if (
                consumable >= content.FIRST_PLANET
                and consumable < content.FIRST_SPECTRAL
                and content.PLANET_HAND[consumable] == s.hand
            ):
                s.mult *= _OBSERVATORY_X


@njit
def _destroy_cards(g, s):
    """Sixth Sense, then glass: Glass Cards that scored may break, one chance each. Jokers then see all destroyed."""
    s.glass_counts = True
    for index in range(s.scoring_count):
        slot = s.scoring[index]
        dispatch.destroy_check(g, s, slot)
        if g.card_enhancement[slot] == content.GLASS and not is_debuffed(g, slot):
            if evaluate.chance(g, s, _GLASS_STREAM, _GLASS_ODDS):
                for place in range(s.played_count):
                    if s.played[place] == slot:
                        s.destroyed |= 1 << place
    if s.destroyed != 0:
        dispatch.cards_removed(g, s)


@njit
def score_hand(g, s):
    """Scores `s.played`: fills hand, chips, mult, dollars, score, destroyed; grows and dooms jokers.

    The caller has lowered `hands_left`, applied what bosses do on play (Hook, Tooth) and cleared `blind_triggered`.
    """
    read_jokers(g, s)
    resolve_copies(g, s)
    detect_hand(g, s)
    g.hand_played[s.hand] += 1
    g.hand_played_round[s.hand] += 1
    g.last_hand = s.hand
    s.dollars = 0
    s.destroyed = 0
    s.chips = 0.0
    s.mult = 0.0
    g.blind_triggered = False
    s.blocked = bosses.vetoes(g, s.hand, s.played_count)
    if s.blocked:
        g.blind_triggered = True
        dispatch.debuffed_hand(g, s)
    else:
        bosses.before_scoring(g, s)
        s.money_before = g.money
        s.cards_added = 0
        _count_enhanced_cards(g, s)
        dispatch.before(g, s)
        if s.cards_added > 0:
            dispatch.card_added(g, s, s.cards_added)
        _set_base(g, s)
        _score_cards(g, s)
        _score_held_cards(g, s)
        _main_pass(g, s)
        if g.deck == _PLASMA:
            s.chips = np.floor((s.chips + s.mult) / 2)
            s.mult = s.chips
        _destroy_cards(g, s)
    s.score = np.floor(s.chips * s.mult)
    dispatch.after(g, s)
    remove_doomed(g)
