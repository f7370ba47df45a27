"""The working space of a decision: one record, since kernels hand records on by their address."""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.encoding.fields import HAND_ROWS, STONE_ITEM
from jimbot.games.balatro.heuristic.preferences import Taste
from jimbot.games.balatro.rules.content import HANDS, SUITS

SAMPLES, MOST_DRAWN = 96, 14
FIRST_ITEM = HAND_ROWS  # cards 0..15 are the hand's, 16 + item those of the deck
CARDS = FIRST_ITEM + STONE_ITEM + 1
MOST_DECK = 200
TRIALS, TRIAL_CARDS = 20, 16  # hands drawn from the whole deck to judge a set of jokers
MOST_OWN = 16
MOST_KEPT = 32
OUTLOOK_COLUMNS = 7  # what the chance to win is told from, beside single jokers
MOST_CONSIDERED = 10  # cards of a hand that may leave it; those of a larger hand beyond these are kept

PLAN_DTYPE = np.dtype(
    (
        np.record,
        np.dtype(
            [
                *((name, np.float64) for name in Taste._fields),
                # by poker hand
                ("chips", np.float64, (len(HANDS),)),  # with the jokers
                ("mult", np.float64, (len(HANDS),)),
                ("times", np.float64, (len(HANDS),)),  # what multiplies, and the correction; 0 if a boss blocks it
                ("best", np.float64, (len(HANDS),)),  # the best guess among the cards judged last
                # by card
                ("rank", np.int64, (CARDS,)),  # 0 none
                ("suits", np.int64, (CARDS,)),  # bits
                ("card_chips", np.float64, (CARDS,)),
                ("card_mult", np.float64, (CARDS,)),
                ("card_log", np.float64, (CARDS,)),  # log of what the card multiplies
                ("again", np.float64, (CARDS,)),  # how often it triggers
                # the hand and the deck
                ("hand_count", np.int64),
                ("deck", np.int64, (MOST_DECK,)),  # unseen cards
                ("deck_count", np.int64),
                ("draws", np.int64, (SAMPLES, MOST_DRAWN)),
                ("most_drawn", np.int64),
                ("need", np.int64),  # cards a flush or straight needs
                ("power", np.float64),  # of the share of what is missing: how much only a hand that wins counts
                ("gaps", np.bool_),  # straights may have gaps
                # the set of jokers judged in shops, what it allows, and hands drawn for it
                ("own_count", np.int64),
                ("own_joker", np.int64, (MOST_OWN,)),
                ("own_value", np.float64, (MOST_OWN,)),
                ("own_edition", np.int64, (MOST_OWN,)),
                ("own_sells", np.float64, (MOST_OWN,)),
                ("own_rounds", np.float64, (MOST_OWN,)),  # until it perishes
                ("own_rental", np.int64, (MOST_OWN,)),
                ("own_row", np.int64, (MOST_OWN,)),  # its row in the observation, -1 if it is on offer
                ("levels", np.int64, (len(HANDS),)),  # more than the run has
                ("hand_size", np.int64),  # without what jokers add
                ("hands", np.int64),
                ("discards", np.int64),
                ("set_worth", np.float64),
                ("dollar_now", np.float64),
                ("seen", np.float64, (OUTLOOK_COLUMNS,)),
                ("trials", np.int64, (TRIALS, TRIAL_CARDS)),
                ("trial_cards", np.int64),
                # cards judged together
                ("cards", np.int64, (HAND_ROWS + MOST_DRAWN,)),
                ("by_rank", np.float64, (15, 4)),  # count, chips, mult, log
                ("of_suit", np.int64, (len(SUITS),)),  # how many
                ("rank_bits", np.int64, (len(SUITS) + 1,)),  # of each suit, then of all
                ("values", np.float64, (1 << MOST_CONSIDERED,)),  # of every choice of cards
                ("kept", np.int64, (MOST_KEPT,)),  # choices that are looked at again
            ],
            align=True,
        ),
    )
)


def new_plans(taste: Taste) -> np.ndarray:
    """One working space; take element 0."""
    plans = np.zeros(1, PLAN_DTYPE)
    for name in taste._fields:
        setattr(plans[0], name, getattr(taste, name))
    return plans
