"""The working space of scoring a hand: one record per thread, passed along with the game record.

Nothing in it outlives a decision; the game record stays free of it.
"""

from __future__ import annotations

from math import comb

import numpy as np

from jimbot.games.balatro.rules.content import HANDS, RATES
from jimbot.games.balatro.rules.state import BYTES_PER_GAME, MAX_JOKERS

MAX_PLAYED: int = RATES["starting"]["max_selected_cards"]
TYPICAL_HANDS = 7  # hands that offers are tried out on
MAX_CANDIDATES = 12  # hand cards whose combinations are tried out
MAX_CHOICES = sum(comb(MAX_CANDIDATES, size) for size in range(1, MAX_PLAYED + 1))

SCRATCH_DTYPE = np.dtype(
    (
        np.record,
        np.dtype(
            [
                # the cards on the table, left to right, by slot
                ("played", np.uint8, (MAX_PLAYED,)),
                ("played_count", np.int64),
                ("scoring", np.uint8, (MAX_PLAYED,)),  # those that score
                ("scoring_count", np.int64),
                # what was found in them
                ("hand", np.int64),  # poker hand id
                ("contains", np.int64),  # bit set of all poker hands present
                ("flush_mask", np.int64),  # bit sets over table positions
                ("straight_mask", np.int64),
                ("rank_count", np.int64, (15,)),
                # jokers that change how cards are read, looked up once per hand
                ("four_fingers", np.int64),
                ("shortcut", np.int64),
                ("smeared", np.int64),
                ("splash", np.int64),
                ("pareidolia", np.int64),
                ("acts_as", np.int64, (MAX_JOKERS,)),  # whose rule each joker runs: its own place, a copied one, or -1
                ("odds", np.float64),  # numerator of all chances: 1, doubled per Oops! All 6s
                # the running score
                ("chips", np.float64),
                ("mult", np.float64),
                ("dollars", np.int64),  # earned by this hand so far; paid when it is done
                ("money_before", np.int64),  # the balance when scoring began
                ("blocked", np.bool_),  # the boss lets the hand score nothing
                # owned cards by enhancement as they were before Vampire and Midas Mask acted
                ("stone_tally", np.int64),
                ("steel_tally", np.int64),
                ("enhanced_tally", np.int64),
                # of the card being triggered
                ("lucky_hit", np.bool_),  # one of a Lucky Card's two chances came true
                ("had_effect", np.bool_),  # the held card did something, so it may be triggered again
                ("first_face", np.int64),  # slot of the first face card that scores, -1 for none
                ("lowest_held", np.int64),  # slot Raised Fist looks at, -1 for none
                # after scoring
                ("destroyed", np.int64),  # bit set over table positions
                ("score", np.float64),
                ("glass_counts", np.bool_),  # Glass Joker counts the cards being destroyed (not a Spectral card's)
                ("jokers_promised", np.int64),  # by Riff-raff while a blind is set
                ("jokers_sliced", np.int64),  # by Ceremonial Daggers likewise: their slots count as free
                ("boss_to_disable", np.bool_),  # by Chicot likewise
                ("cards_added", np.int64),  # playing cards jokers made in this phase; Hologram sees them after it
                # trying out what a hand could score (candidates.py)
                ("certain", np.bool_),  # nothing is left to chance: every roll fails and no stream moves
                ("kept", np.uint8, (BYTES_PER_GAME,)),  # the game as it was before the trial
                ("candidates", np.int64, (MAX_CANDIDATES,)),  # hand positions that are combined
                ("candidate_count", np.int64),
                ("watched", np.int64),  # bit set of the candidates that matter to the score while they are held
                ("counted", np.bool_),  # how many cards are played matters
                ("tried", np.int64, (MAX_CHOICES,)),  # what the trials so far were about, see `_outcome_of`
                ("tried_count", np.int64),
                ("best_score", np.float64, (len(HANDS),)),  # per poker hand, -1 if it cannot be formed
                ("best_cards", np.uint64, (len(HANDS),)),  # the hand positions that score it
                # what a joker does for typical hands (appraise.py)
                ("worth", np.float64, (2, TYPICAL_HANDS)),  # their log-scores before and after a change
                # what the hand may become (insight.py)
                ("hand_ranks", np.int64, (13,)),  # cards of the hand by rank
                ("hand_suits", np.int64, (4,)),  # and by suit
                ("chances", np.float64, (len(HANDS),)),  # of each poker hand after a discard
            ],
            align=True,
        ),
    )
)


def new_scratch() -> np.ndarray:
    """One working space; take element 0."""
    return np.zeros(1, SCRATCH_DTYPE)
