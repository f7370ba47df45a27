"""A player who only knows fixed rules, compiled: what a build is worth is what it does in the same simple hands.

A start (`synergy/shared_starts.py`) is a game at its blind selection, kept as bytes. An arm is a row of jokers, left to
right. Every arm of a measurement (with neither joker, with one, with both) is played alike from the same start, so that
what differs is the jokers. What a hand may score is asked with chance in it: the best certain play is chosen and then
played with several seeds, the same for all arms. This package calls the rules and the rules do not call it, so it
compiles by itself (`kernels.APART`).

The player plays the hand that scores most for certain, never buys or sells a joker, and
plays every hand of a round: the blind asks for nothing until the last one, so that strong builds do not grow less for
winning early. Habits that builds differ in are bits of a style.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.compiling.record_copies import keep_game, put_back
from jimbot.games.balatro.encoding.candidates import best_plays
from jimbot.games.balatro.rules import content, state
from jimbot.games.balatro.rules import decisions as d
from jimbot.games.balatro.rules.chance.create import start_counter
from jimbot.games.balatro.rules.chance.streams import set_seed_number, start_streams
from jimbot.games.balatro.rules.content import CONSUMABLE_COST, HANDS
from jimbot.games.balatro.rules.inventory import add_joker
from jimbot.games.balatro.rules.playing_cards.cards import new_serial
from jimbot.games.balatro.rules.rounds import put_forward
from jimbot.games.balatro.rules.scratch import MAX_PLAYED
from jimbot.games.balatro.rules.shop.prices import booster_price, offer_price
from jimbot.games.balatro.rules.state import SELECTING_HAND

# Habits
DISCARDS, ONE_CARD_FIRST, SHOPS, SKIPS_PACKS, SELLS = 1, 2, 4, 8, 16
_NEVER = 1e300  # points no hand scores
_MOST_STEPS = 60  # of a phase: a rule that never ends would be a bug, not a long wait
_SAVINGS = 5  # dollars the player does not spend
_BY_ITSELF = content.CONSUMABLES.column(
    lambda row: row["condition"] != "joker_slot" and row["set"] != "Spectral", np.bool_
)
"""Consumables the player uses: Tarots and Planets that make no joker."""


@njit
def _first_cards(g, count):
    """The leftmost cards of the hand, those that are forced into every choice among them."""
    targets, chosen = np.uint64(0), 0
    for place in range(g.hand_count):
        if g.card_flags[g.hand[place]] & state.CARD_FORCED:
            targets |= np.uint64(1) << np.uint64(place)
            chosen += 1
    for place in range(g.hand_count):
        bit = np.uint64(1) << np.uint64(place)
        if chosen < count and not targets & bit:
            targets |= bit
            chosen += 1
    return targets


@njit
def choose_play(g, s):
    """The hand positions that score most for certain; anything where nothing is known."""
    best = best_plays(g, s)
    return s.best_cards[best] if best >= 0 else _first_cards(g, min(MAX_PLAYED, np.int64(g.hand_count)))


@njit
def _cards_beside(g, play, most):
    """Cards that the best hand does not need, from the right; forced ones in any case."""
    targets, chosen = np.uint64(0), 0
    for back in range(g.hand_count):
        place = g.hand_count - 1 - back
        bit = np.uint64(1) << np.uint64(place)
        forced = (g.card_flags[g.hand[place]] & state.CARD_FORCED) != 0
        if forced or (chosen < most and not play & bit):
            targets |= bit
            chosen += 1
    return targets


@njit
def _use_up(g, s, style):
    """Uses what is held, or sells it; dollars' worth of what was used."""
    worth = 0
    index = 0
    for _ in range(_MOST_STEPS):
        if index >= g.consumable_count or (g.phase != state.SELECTING_HAND and g.phase != state.SHOP):
            break
        consumable = np.int64(g.consumable_id[index])
        targets = _first_cards(g, min(content.CONSUMABLE_MAX_TARGETS[consumable], np.int64(g.hand_count)))
        if content.CONSUMABLE_MAX_TARGETS[consumable] == 0:
            targets = np.uint64(0)
        if not style & SELLS and _BY_ITSELF[consumable] and d.apply(g, s, d.USE, index, targets):
            worth += content.CONSUMABLE_COST[consumable]
        elif style & SELLS or not _BY_ITSELF[consumable]:
            d.apply(g, s, d.SELL_CONSUMABLE, index, np.uint64(0))
        else:
            index += 1
    return worth


@njit
def play_round(g, s, style):
    """Selects the blind and plays all hands; dollars' worth of consumables used on the way."""
    worth = 0
    d.apply(g, s, d.SELECT, 0, np.uint64(0))
    for _ in range(_MOST_STEPS):
        if g.phase != state.SELECTING_HAND:
            break
        g.requirement = _NEVER
        worth += _use_up(g, s, style)
        if g.phase != state.SELECTING_HAND or g.hand_count == 0:
            break
        first = g.hands_played_round == 0
        play = choose_play(g, s)
        if style & DISCARDS and g.discards_left > 0:
            most = 1 if style & ONE_CARD_FIRST and g.discards_used == 0 else MAX_PLAYED
            if d.apply(g, s, d.DISCARD, 0, _cards_beside(g, play, most)):
                continue
        if first and style & ONE_CARD_FIRST and not style & DISCARDS:
            play = _first_cards(g, 1)
        if g.hands_left <= 1:
            g.requirement = -1.0
        d.apply(g, s, d.PLAY, 0, play)
    return worth


@njit
def _leave_pack(g, s, style):
    """Takes what the player would use from an open pack, or nothing."""
    for _ in range(_MOST_STEPS):
        if g.phase != state.PACK:
            break
        taken = False
        for index in range(g.pack_count):
            place = state.FIRST_PACK_OFFER + index
            if taken or style & SKIPS_PACKS or g.offer_kind[place] == state.OFFER_JOKER:
                continue
            targets = np.uint64(0)
            if g.offer_kind[place] == state.OFFER_CONSUMABLE:
                consumable = np.int64(g.offer_id[place])
                if not _BY_ITSELF[consumable]:
                    continue
                most = min(content.CONSUMABLE_MAX_TARGETS[consumable], np.int64(g.hand_count))
                targets = _first_cards(g, most) if content.CONSUMABLE_MAX_TARGETS[consumable] > 0 else targets
            taken = d.apply(g, s, d.PICK, index, targets)
        if not taken:
            d.apply(g, s, d.SKIP_PACK, 0, np.uint64(0))


@njit
def _buy_consumables(g, s):
    index = 0
    for _ in range(_MOST_STEPS):
        if index >= g.shop_count:
            break
        wanted = g.offer_kind[index] == state.OFFER_CONSUMABLE and g.offer_id[index] < content.FIRST_SPECTRAL
        affordable = g.money >= _SAVINGS or offer_price(g, index) == 0
        if not (wanted and affordable and d.apply(g, s, d.BUY, index, np.uint64(0))):
            index += 1


@njit
def _open_packs(g, s, style):
    """Opens one pack for money, and all that are free."""
    paid = False
    index = 0
    for _ in range(_MOST_STEPS):
        if index >= g.booster_count or g.phase != state.SHOP:
            break
        free = booster_price(g, index) == 0
        if (free or (not paid and g.money >= 2 * _SAVINGS)) and d.apply(g, s, d.OPEN, index, np.uint64(0)):
            paid = paid or not free
            _leave_pack(g, s, style)
        else:
            index += 1


@njit
def visit_shop(g, s, style):
    """Cashes out and leaves the shop, after a reroll or two, consumables and a pack where the style wants them."""
    if g.phase == state.ROUND_EVAL:
        d.apply(g, s, d.CASH_OUT, 0, np.uint64(0))
    if style & SHOPS and g.phase == state.SHOP:
        _buy_consumables(g, s)
        paid = False
        while g.free_rerolls > 0 or (not paid and g.money >= 2 * _SAVINGS):
            paid = paid or g.free_rerolls == 0
            if not d.apply(g, s, d.REROLL, 0, np.uint64(0)):
                break
            _buy_consumables(g, s)
        _open_packs(g, s, style)
    if g.phase == state.SHOP:
        d.apply(g, s, d.NEXT, 0, np.uint64(0))
    if g.phase == state.PACK:  # of a tag
        _leave_pack(g, s, style)


@njit
def goes_on(g):
    """Whether the run stands where the next blind is chosen."""
    return g.phase == state.BLIND_SELECT


MOST_JOKERS = 4  # of an arm
START, HAND, RUN = range(3)  # tasks
# What is written per arm and start: of a hand, …
LOG_SCORE, DOLLARS, FIRST_HAND = 0, 1, 2
HAND_COLUMNS = FIRST_HAND + len(HANDS)  # … and the best certain log-score of every poker hand
# … and of a run
BEFORE, AFTER, EARNED, FIRST_VALUE = range(4)
RUN_COLUMNS = FIRST_VALUE + MOST_JOKERS  # what each joker has grown to at the end; nan where it is gone
ROUNDS = 3  # one ante
_SEEDS = 3
_DEALS = 3
_GONE = np.nan
_HANDS = len(HANDS)


@njit
def _expect(g, s, number, kept, out):
    """Mean log-score and dollars of the best play over several seeds, from `number` on; the game stays."""
    play = choose_play(g, s)
    keep_game(g, kept)
    log_score, dollars = 0.0, 0.0
    for offset in range(_SEEDS):
        set_seed_number(g, number + offset)
        start_streams(g)
        put_forward(g, s, play)
        log_score += np.log1p(max(0.0, min(s.score, 1e300)))
        dollars += s.dollars
        put_back(g, kept)
    out[LOG_SCORE] = log_score / _SEEDS
    out[DOLLARS] = dollars / _SEEDS


@njit
def _give(g, arm, values):
    """Hands over the jokers of an arm, grown to `values` where those are numbers."""
    for joker in arm:
        if joker >= 0:
            place = add_joker(g, joker, 0, 0, start_counter(g, joker), new_serial(g))
            if values[joker] == values[joker]:
                g.joker_value[place] = values[joker]


@njit
def _set_situation(g, hands_left, discards_left, played):
    """A later moment of the round: fewer hands and discards left, hands played before."""
    if hands_left > 0:
        g.hands_left = min(g.hands_left, hands_left)
        g.hands_played_round = played
        for hand in range(g.hand_played_round.shape[0]):
            g.hand_played_round[hand] = played
    if discards_left >= 0:
        g.discards_used = max(0, g.discards_left - discards_left)
        g.discards_left = min(g.discards_left, discards_left)


@njit
def _hand(g, s, situation, kept, out):
    """One hand of a round, in the situation of the start."""
    d.apply(g, s, d.SELECT, 0, np.uint64(0))
    for column in range(HAND_COLUMNS):
        out[column] = 0.0
    if g.phase != SELECTING_HAND:
        return
    _set_situation(g, situation[0], situation[1], situation[2])
    _expect(g, s, situation[4], kept, out)
    for hand in range(_HANDS):
        out[FIRST_HAND + hand] = np.log1p(max(0.0, min(s.best_score[hand], 1e300)))


@njit
def _outlook(g, s, number, kept, inner, hand):
    """Mean log-score of the opening hand over several deals of what the deck is now, seeds from `number` on.

    Shuffles are drawn by ante, so all of it happens in the first: before and after an ante the deals are the same.
    """
    keep_game(g, inner)
    total = 0.0
    for deal in range(_DEALS):
        set_seed_number(g, number + _SEEDS * deal)
        start_streams(g)
        g.ante = 1
        d.apply(g, s, d.SELECT, 0, np.uint64(0))
        if g.phase == SELECTING_HAND:
            _expect(g, s, number + _SEEDS * deal, kept, hand)
            total += hand[LOG_SCORE]
        put_back(g, inner)
    return total / _DEALS


@njit
def _run(g, s, situation, arm, kept, inner, hand, out):
    """An ante by the rules above: what a hand scored before and after it, and what was earned."""
    style, number = situation[3], situation[4]
    out[BEFORE] = _outlook(g, s, number, kept, inner, hand)
    out[AFTER] = out[BEFORE]
    money, worth = g.money, 0
    for _ in range(ROUNDS):
        if goes_on(g):
            worth += play_round(g, s, style)
            visit_shop(g, s, style)
    for index in range(g.consumable_count):
        worth += CONSUMABLE_COST[g.consumable_id[index]] + g.consumable_extra_value[index]
    for place in range(g.joker_count):
        worth += g.joker_extra_value[place]  # what an Egg has become
    out[EARNED] = g.money + worth - money
    if goes_on(g):
        out[AFTER] = _outlook(g, s, number, kept, inner, hand)
    for index in range(len(arm)):
        out[FIRST_VALUE + index] = _GONE
        for place in range(g.joker_count):
            if arm[index] >= 0 and g.joker_id[place] == arm[index]:
                out[FIRST_VALUE + index] = g.joker_value[place]


@njit
def work(task, starts, situations, arms, values, g, s, kept, inner, hand, out):
    """Does a task for every arm and every start.

    starts: (W, bytes) uint8; situations: (W, 5) int64: hands left, discards left, hands played before, style, the first
    seed number; arms: (N, MOST_JOKERS) int64, -1 for none; values: (W, jokers) what they have grown to, nan
    for how they come; out: (N, W, columns). START makes fresh runs of the seed numbers and writes them into `starts`.
    """
    for arm in range(arms.shape[0]):
        for start in range(starts.shape[0]):
            if task == START:
                set_seed_number(g, situations[start, 4])
                d.apply(g, s, d.START, 0, np.uint64(0))
                keep_game(g, starts[start])
                continue
            put_back(g, starts[start])
            _give(g, arms[arm], values[start])
            if task == HAND:
                _hand(g, s, situations[start], kept, out[arm, start])
            else:
                _run(g, s, situations[start], arms[arm], kept, inner, hand, out[arm, start])
