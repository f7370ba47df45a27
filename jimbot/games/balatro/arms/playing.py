"""Plays arms: the same starts with other jokers. One compiled door for everything that is measured here.

A start (`synergy/worlds.py`) is a game at its blind selection, kept as bytes. An arm is a row of jokers, left to
right. What a hand may score is asked with chance in it: the best certain play is chosen and then played with several
lucks, the same for all arms.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.arms.script import choose_play, goes_on, play_round, visit_shop
from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.compiling.record_copies import keep_game, put_back
from jimbot.games.balatro.rules import decisions as d
from jimbot.games.balatro.rules.chance.create import start_counter
from jimbot.games.balatro.rules.chance.streams import set_seed_number, start_streams
from jimbot.games.balatro.rules.content import CONSUMABLE_COST, HANDS
from jimbot.games.balatro.rules.inventory import add_joker
from jimbot.games.balatro.rules.playing_cards.cards import new_serial
from jimbot.games.balatro.rules.rounds import put_forward
from jimbot.games.balatro.rules.state import SELECTING_HAND

MOST_JOKERS = 4  # of an arm
START, HAND, RUN = range(3)  # tasks
# What is written per arm and start: of a hand, …
LOG_SCORE, DOLLARS, FIRST_HAND = 0, 1, 2
HAND_COLUMNS = FIRST_HAND + len(HANDS)  # … and the best certain log-score of every poker hand
# … and of a run
BEFORE, AFTER, EARNED, FIRST_VALUE = range(4)
RUN_COLUMNS = FIRST_VALUE + MOST_JOKERS  # what each joker has grown to at the end; nan where it is gone
ROUNDS = 3  # one ante
_LUCKS = 3
_DEALS = 3
_GONE = np.nan
_HANDS = len(HANDS)


@njit
def _expect(g, s, number, kept, out):
    """Mean log-score and dollars of the best play over several lucks, seeds from `number` on; the game stays."""
    play = choose_play(g, s)
    keep_game(g, kept)
    log_score, dollars = 0.0, 0.0
    for luck in range(_LUCKS):
        set_seed_number(g, number + luck)
        start_streams(g)
        put_forward(g, s, play)
        log_score += np.log1p(max(0.0, min(s.score, 1e300)))
        dollars += s.dollars
        put_back(g, kept)
    out[LOG_SCORE] = log_score / _LUCKS
    out[DOLLARS] = dollars / _LUCKS


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
        set_seed_number(g, number + _LUCKS * deal)
        start_streams(g)
        g.ante = 1
        d.apply(g, s, d.SELECT, 0, np.uint64(0))
        if g.phase == SELECTING_HAND:
            _expect(g, s, number + _LUCKS * deal, kept, hand)
            total += hand[LOG_SCORE]
        put_back(g, inner)
    return total / _DEALS


@njit
def _run(g, s, situation, arm, kept, inner, hand, out):
    """An ante by the script: what a hand scored before and after it, and what was earned."""
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
def work(task, worlds, situations, arms, values, g, s, kept, inner, hand, out):
    """Does a task for every arm and every start.

    worlds: (W, bytes) uint8; situations: (W, 5) int64: hands left, discards left, hands played before, style, the first
    seed number of its luck; arms: (N, MOST_JOKERS) int64, -1 for none; values: (W, jokers) what they have grown to, nan
    for how they come; out: (N, W, columns). START makes fresh runs of the seed numbers and writes them into `worlds`.
    """
    for arm in range(arms.shape[0]):
        for world in range(worlds.shape[0]):
            if task == START:
                set_seed_number(g, situations[world, 4])
                d.apply(g, s, d.START, 0, np.uint64(0))
                keep_game(g, worlds[world])
                continue
            put_back(g, worlds[world])
            _give(g, arms[arm], values[world])
            if task == HAND:
                _hand(g, s, situations[world], kept, out[arm, world])
            else:
                _run(g, s, situations[world], arms[arm], kept, inner, hand, out[arm, world])
