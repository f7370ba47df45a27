"""Poker hands: what the cards on the table form, and which of them score.

The card tests at the top (rank, suit, face) are the ones every joker and boss uses.
"""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.chance.pools import count_active
from jimbot.games.balatro.rules.content import HAND_VISIBLE_AT_START, HANDS, JOKERS, STONE, WILD
from jimbot.games.balatro.rules.inventory import odds_numerator
from jimbot.games.balatro.rules.playing_cards.piles import count_bits
from jimbot.games.balatro.rules.state import CARD_DEBUFFED

(
    FLUSH_FIVE, FLUSH_HOUSE, FIVE_OF_A_KIND, STRAIGHT_FLUSH, FOUR_OF_A_KIND, FULL_HOUSE, FLUSH, STRAIGHT,
    THREE_OF_A_KIND, TWO_PAIR, PAIR, HIGH_CARD,
) = range(len(HANDS))  # fmt: skip
_FOUR_FINGERS, _SHORTCUT, _SMEARED, _SPLASH, _PAREIDOLIA = (
    JOKERS.id(key) for key in ("j_four_fingers", "j_shortcut", "j_smeared", "j_splash", "j_pareidolia")
)
_SUIT_COUNT = 4
_HAND_COUNT = len(HANDS)


@njit
def read_jokers(g, s):
    """Looks up the jokers that change how cards are read; before each detection and scoring."""
    s.four_fingers = count_active(g, _FOUR_FINGERS)
    s.shortcut = count_active(g, _SHORTCUT)
    s.smeared = count_active(g, _SMEARED)
    s.splash = count_active(g, _SPLASH)
    s.pareidolia = count_active(g, _PAREIDOLIA)
    s.odds = odds_numerator(g)


@njit
def is_debuffed(g, slot):
    """Whether a card is debuffed."""
    return (g.card_flags[slot] & CARD_DEBUFFED) != 0


@njit
def rank_of(g, slot):
    """A card's rank 2..14; 0 for a Stone Card, which has none."""
    if g.card_enhancement[slot] == STONE:
        return 0
    return g.card_rank[slot]


@njit
def _same_suit(s, own, suit):
    # Suits are Spades, Hearts, Clubs, Diamonds: black ones are even, red ones odd.
    return own == suit or (s.smeared > 0 and own % 2 == suit % 2)


@njit
def is_suit(g, s, slot, suit):
    """Whether a card counts as a suit: not while debuffed, never a Stone Card, always a Wild Card."""
    if is_debuffed(g, slot) or g.card_enhancement[slot] == STONE:
        return False
    return g.card_enhancement[slot] == WILD or _same_suit(s, g.card_suit[slot], suit)


@njit
def is_printed_suit(g, s, slot, suit):
    """Whether a card that is neither Wild nor Stone counts as a suit, debuffed or not (Flower Pot)."""
    return g.card_enhancement[slot] != STONE and _same_suit(s, g.card_suit[slot], suit)


@njit
def is_flush_suit(g, s, slot, suit):
    """The suit test of flushes and Blackboard: a debuff only takes a Wild Card's wildness."""
    if g.card_enhancement[slot] == STONE:
        return False
    if g.card_enhancement[slot] == WILD and not is_debuffed(g, slot):
        return True
    return _same_suit(s, g.card_suit[slot], suit)


@njit
def is_face(g, s, slot):
    """Whether a card counts as a face card: not while debuffed; any card at all with Pareidolia."""
    if is_debuffed(g, slot):
        return False
    rank = rank_of(g, slot)
    return s.pareidolia > 0 or (rank >= 11 and rank <= 13)


@njit
def _find_flush(g, s):
    s.flush_mask = 0
    need = 4 if s.four_fingers > 0 else 5
    if s.played_count < need:
        return
    for suit in range(_SUIT_COUNT):
        mask = 0
        count = 0
        for place in range(s.played_count):
            if is_flush_suit(g, s, s.played[place], suit):
                mask |= 1 << place
                count += 1
        if count >= need:
            s.flush_mask = mask
            return


@njit
def _mask_of_rank(g, s, rank):
    mask = 0
    for place in range(s.played_count):
        if rank_of(g, s.played[place]) == rank:
            mask |= 1 << place
    return mask


@njit
def _find_straight(g, s):
    """Walks the ranks from the Ace as low to the Ace as high; Shortcut tolerates single gaps inside the run."""
    s.straight_mask = 0
    need = 4 if s.four_fingers > 0 else 5
    if s.played_count < need:
        return
    mask = 0
    length = 0
    long_enough = False
    skipped = False
    for position in range(1, 15):
        rank = 14 if position == 1 else position
        if s.rank_count[rank] > 0:
            length += 1
            skipped = False
            mask |= _mask_of_rank(g, s, rank)
        elif s.shortcut > 0 and not skipped and position != 14:
            skipped = True
        else:
            length = 0
            skipped = False
            if long_enough:
                break
            mask = 0
        if length >= need:
            long_enough = True
    if long_enough:
        s.straight_mask = mask


@njit
def _masks_by_count(g, s):
    """Table positions of all cards whose rank occurs exactly five, four, three and two times."""
    fives, fours, threes, pairs = 0, 0, 0, 0
    for place in range(s.played_count):
        count = s.rank_count[rank_of(g, s.played[place])]  # Stone Cards are counted under no rank
        if count == 2:
            pairs |= 1 << place
        elif count == 3:
            threes |= 1 << place
        elif count == 4:
            fours |= 1 << place
        elif count == 5:
            fives |= 1 << place
    return fives, fours, threes, pairs


@njit
def _highest_mask(g, s):
    """The single highest card; Stone Cards are below everything."""
    best = 0
    for place in range(1, s.played_count):
        if rank_of(g, s.played[place]) > rank_of(g, s.played[best]):
            best = place
    return 1 << best


@njit
def _find_contained(s, fives, fours, threes, pairs, pair_groups):
    """The set of poker hands present; a larger group of a kind also counts as the smaller ones."""
    contains = 1 << HIGH_CARD
    flush = s.flush_mask != 0
    if flush:
        contains |= 1 << FLUSH
    if s.straight_mask != 0:
        contains |= 1 << STRAIGHT
        if flush:
            contains |= 1 << STRAIGHT_FLUSH
    if fives:
        contains |= 1 << FIVE_OF_A_KIND
        if flush:
            contains |= 1 << FLUSH_FIVE
    if fives or fours:
        contains |= 1 << FOUR_OF_A_KIND
    if fives or fours or threes:
        contains |= 1 << THREE_OF_A_KIND
    if fives or fours or threes or pairs:
        contains |= 1 << PAIR
    if threes and pairs:
        contains |= 1 << FULL_HOUSE | 1 << TWO_PAIR
        if flush:
            contains |= 1 << FLUSH_HOUSE
    if pair_groups == 2:
        contains |= 1 << TWO_PAIR
    s.contains = contains


@njit
def _scoring_mask(g, s, fives, fours, threes, pairs):
    """Table positions of the cards that make up the hand."""
    hand = s.hand
    if hand == FLUSH_FIVE or hand == FIVE_OF_A_KIND:
        return fives
    if hand == FLUSH_HOUSE or hand == FULL_HOUSE:
        return threes | pairs
    if hand == STRAIGHT_FLUSH:
        return s.flush_mask | s.straight_mask
    if hand == FOUR_OF_A_KIND:
        return fours
    if hand == FLUSH:
        return s.flush_mask
    if hand == STRAIGHT:
        return s.straight_mask
    if hand == THREE_OF_A_KIND:
        return threes
    if hand == TWO_PAIR or hand == PAIR:
        return pairs
    return _highest_mask(g, s)


@njit
def detect_hand(g, s):
    """Finds the poker hand of `s.played` and lists the cards that score, left to right. `read_jokers` comes first."""
    for rank in range(15):
        s.rank_count[rank] = 0
    for place in range(s.played_count):
        rank = rank_of(g, s.played[place])
        if rank > 0:
            s.rank_count[rank] += 1
    _find_flush(g, s)
    _find_straight(g, s)
    fives, fours, threes, pairs = _masks_by_count(g, s)
    _find_contained(s, fives, fours, threes, pairs, count_bits(pairs) // 2)
    s.hand = 0
    while not s.contains >> s.hand & 1:
        s.hand += 1
    mask = _scoring_mask(g, s, fives, fours, threes, pairs)
    s.scoring_count = 0
    for place in range(s.played_count):
        slot = s.played[place]
        if mask >> place & 1 or s.splash > 0 or g.card_enhancement[slot] == STONE:
            s.scoring[s.scoring_count] = slot
            s.scoring_count += 1


# --- the list of poker hands ---


@njit
def hand_visible(g, hand):
    """Whether a poker hand is listed: the three secret ones only after being played."""
    return HAND_VISIBLE_AT_START[hand] or g.hand_played[hand] > 0


@njit
def most_played_hand(g):
    """The visible poker hand played most often in the run, the stronger one on ties; -1 if none was played."""
    best = -1
    most = 0
    for hand in range(_HAND_COUNT):
        if hand_visible(g, hand) and g.hand_played[hand] > most:
            best = hand
            most = g.hand_played[hand]
    return best
