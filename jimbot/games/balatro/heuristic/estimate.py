"""A quick guess of what hands not yet drawn would score, for choosing discards.

The observation tells exactly what the hand on the table scores. What a hand after a discard would score is guessed: the
poker hand's chips and Mult, the cards, and the jokers as far as the registry's rows describe them. The guess is then
set right per poker hand by the exact scores known. Draws are sampled from the cards not seen yet, with a fixed seed.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.encoding.fields import FIRST_JOKER_ITEM, HAND_ROWS, JOKER_ROWS, STONE_ITEM
from jimbot.games.balatro.heuristic import sight
from jimbot.games.balatro.heuristic.workspace import CARDS, FIRST_ITEM, MOST_DECK, MOST_DRAWN, SAMPLES
from jimbot.games.balatro.rules import content
from jimbot.games.balatro.rules.jokers import registry as r
from jimbot.games.balatro.rules.jokers.evaluate import BOOTSTRAPS_DOLLARS

TYPES = len(content.HANDS)
(
    FLUSH_FIVE, FLUSH_HOUSE, FIVE, STRAIGHT_FLUSH, FOUR, FULL_HOUSE, FLUSH, STRAIGHT, THREE, TWO_PAIR, PAIR, HIGH,
) = range(TYPES)  # fmt: skip
# By poker hand: the poker hands it contains, as bits.
CONTAINS = np.zeros(TYPES, np.int64)
for _hand, _parts in {
    FLUSH_FIVE: (FLUSH, FIVE, FOUR, THREE, PAIR), FLUSH_HOUSE: (FLUSH, FULL_HOUSE, TWO_PAIR, THREE, PAIR),
    FIVE: (FOUR, THREE, PAIR), STRAIGHT_FLUSH: (STRAIGHT, FLUSH), FOUR: (THREE, PAIR),
    FULL_HOUSE: (THREE, TWO_PAIR, PAIR), FLUSH: (), STRAIGHT: (), THREE: (PAIR,), TWO_PAIR: (PAIR,), PAIR: (), HIGH: (),
}.items():  # fmt: skip
    CONTAINS[_hand] = sum(1 << part for part in {*_parts, _hand, HIGH})

_BEYOND = 0.01  # what a point beyond the missing ones counts: enough to choose between two ways to win
_FOUR_FINGERS, _SHORTCUT, _SMEARED, _PAREIDOLIA = (
    content.JOKERS.id(key) for key in ("j_four_fingers", "j_shortcut", "j_smeared", "j_pareidolia")
)
_BONUS_CHIPS = float(content.ENHANCEMENTS.row("m_bonus")["config"]["bonus"])
_CARD_MULT = float(content.ENHANCEMENTS.row("m_mult")["config"]["mult"])
_FOIL_CHIPS = float(content.EDITIONS.row("e_foil")["values"]["chips"])
_HOLOGRAPHIC_MULT = float(content.EDITIONS.row("e_holo")["values"]["mult"])
_FACES = 1 << 11 | 1 << 12 | 1 << 13
_SCORED_CONDITION, _SCORED_ARGUMENT, _SCORED_ODDS = r.SCORED.condition, r.SCORED.argument, r.SCORED.odds
_SCORED_CHIPS, _SCORED_MULT, _SCORED_X = r.SCORED.chips, r.SCORED.mult, r.SCORED.x_mult
_SCORED_STREAM = r.SCORED.stream
_SUITS = len(content.SUITS)


# --- jokers ---


@njit
def has_joker(o, joker):
    for row in range(JOKER_ROWS):
        at = row * sight.JOKER_STRIDE
        if np.int64(o[sight.JOKER_ID + row]) == FIRST_JOKER_ITEM + joker and o[at + sight.JOKER_WEAK] == 0:
            return True
    return False


@njit
def _quantity(o, row, quantity, hand):
    if quantity == r.ONE:
        return 1.0
    if quantity == r.VALUE:
        return sight.amount(o[sight.JOKER_VALUE + row * sight.JOKER_STRIDE])
    if quantity == r.DISCARDS_LEFT:
        return np.float64(max(0, sight.count(o[sight.DISCARDS_LEFT]) - 1))
    if quantity == r.JOKERS_HELD:
        return np.float64(sight.count(o[sight.JOKER_COUNT]))
    if quantity == r.PILE:
        return np.float64(sight.count(o[sight.PILE_COUNT]))
    if quantity == r.TAROTS_USED:
        return np.float64(sight.count(o[sight.TAROTS_USED]))
    if quantity == r.TIMES_PLAYED:
        return 1.0 + sight.count(o[sight.HAND_PLAYED + hand * sight.HAND_STRIDE])
    if quantity == r.SKIPS:
        return np.float64(sight.count(o[sight.SKIPS]))
    if quantity == r.CARDS_LOST:
        return np.float64(max(0, sight.count(o[sight.CARDS_LOST])))
    if quantity == r.MONEY:
        return np.float64(max(0, sight.count(o[sight.MONEY])))
    if quantity == r.MONEY_FIVES:
        return np.float64(max(0, sight.count(o[sight.MONEY])) // BOOTSTRAPS_DOLLARS)
    if quantity == r.OTHER_SELL_VALUES:
        total = 0.0
        for other in range(JOKER_ROWS):
            if other != row:
                total += sight.count(o[sight.JOKER_SELLS + other * sight.JOKER_STRIDE])
        return total
    if quantity == r.EMPTY_SLOTS:
        return 1.0 + sight.count(o[sight.JOKER_SLOTS]) - sight.count(o[sight.JOKER_COUNT])
    return 0.0


@njit
def _applies(o, condition, argument, hand):
    if condition == r.ALWAYS:
        return True
    if condition == r.CONTAINS:
        return (CONTAINS[hand] >> argument & 1) == 1
    if condition == r.PLAYED_AT_MOST:
        return hand >= THREE and hand != TWO_PAIR
    if condition == r.NO_DISCARDS_LEFT:
        return sight.count(o[sight.DISCARDS_LEFT]) <= 1
    if condition == r.LAST_HAND:
        return sight.count(o[sight.HANDS_LEFT]) == 1
    if condition == r.PLAYED_THIS_ROUND:
        return o[sight.HAND_THIS_ROUND + hand * sight.HAND_STRIDE] > 0
    return False


@njit
def _add_joker(o, p, row, joker):
    """What a joker gives in the main pass, by poker hand."""
    effect = r.MAIN_EFFECT[joker]
    for hand in range(TYPES):
        if effect == 0 or not _applies(o, r.MAIN_CONDITION[joker], r.MAIN_ARGUMENT[joker], hand):
            continue
        value = r.MAIN_OFFSET[joker] + r.MAIN_FACTOR[joker] * _quantity(o, row, r.MAIN_QUANTITY[joker], hand)
        if effect == r.CHIPS:
            p.chips[hand] += value
        elif effect == r.MULT:
            p.mult[hand] += value
        elif value > 1:
            p.times[hand] *= value


@njit
def touches(p, card, condition, argument, every_face, idol, ancient):
    """Whether a joker's rule about single cards fits a card."""
    if condition == r.ANY_CARD:
        return True
    if condition == r.SUIT:
        return (p.suits[card] >> argument & 1) == 1
    if condition == r.RANKS:
        return (argument >> p.rank[card] & 1) == 1
    if condition == r.FACE:
        return every_face or (_FACES >> p.rank[card] & 1) == 1
    if condition == r.IDOL:
        return idol > 0 and p.rank[card] == 2 + (idol - 1) // 4 and (p.suits[card] >> ((idol - 1) % 4) & 1) == 1
    if condition == r.ANCIENT_SUIT:
        return ancient > 0 and (p.suits[card] >> (ancient - 1) & 1) == 1
    return False


@njit
def _add_joker_to_card(o, p, joker, card, every_face):
    idol, ancient = np.int64(o[sight.IDOL]), np.int64(o[sight.ANCIENT])
    if r.RETRIGGER_CONDITION[joker] != r.NEVER and not r.RETRIGGER_LAST_HAND[joker]:
        if touches(p, card, r.RETRIGGER_CONDITION[joker], r.RETRIGGER_ARGUMENT[joker], every_face, idol, ancient):
            again = 1.0 + r.RETRIGGER_TIMES[joker]
            p.card_chips[card] *= again
            p.card_mult[card] *= again
    condition = _SCORED_CONDITION[joker]
    if condition == r.NEVER or not touches(p, card, condition, _SCORED_ARGUMENT[joker], every_face, idol, ancient):
        return
    chance = 1.0 / _SCORED_ODDS[joker] if _SCORED_STREAM[joker] >= 0 and _SCORED_ODDS[joker] > 0 else 1.0
    p.card_chips[card] += chance * _SCORED_CHIPS[joker]
    p.card_mult[card] += chance * _SCORED_MULT[joker]
    if _SCORED_X[joker] > 0:
        p.card_log[card] += np.log(1.0 + chance * (_SCORED_X[joker] - 1.0))


# --- cards ---


@njit
def set_card(p, card, item, smeared):
    p.card_mult[card], p.card_log[card] = 0.0, 0.0
    if item < 1 or item >= STONE_ITEM:
        p.rank[card], p.suits[card] = 0, 0
        p.card_chips[card] = 0.0
        return
    rank, suit = 2 + (item - 1) // 4, (item - 1) % 4
    p.rank[card] = rank
    p.suits[card] = 1 << suit
    if smeared:
        p.suits[card] |= 1 << (suit ^ 2)  # Spades with Clubs, Hearts with Diamonds
    p.card_chips[card] = content.RANK_CHIPS[rank]


@njit
def _set_hand_card(o, p, card, smeared):
    set_card(p, card, np.int64(o[sight.HAND_CARD + card]), smeared)
    at = card * sight.CARD_STRIDE
    if o[at + sight.CARD_WEAK] > 0:
        p.card_chips[card] = 0.0
        return
    enhancement = np.int64(o[sight.HAND_ENHANCEMENT + card])
    p.card_chips[card] += sight.count(o[at + sight.CARD_CHIPS])
    if enhancement == content.BONUS:
        p.card_chips[card] += _BONUS_CHIPS
    elif enhancement == content.MULT or enhancement == content.LUCKY:
        p.card_mult[card] += _CARD_MULT
    elif enhancement == content.GLASS:
        p.card_log[card] += 0.7
    elif enhancement == content.WILD:
        p.suits[card] = 15
    edition = np.int64(o[sight.HAND_EDITION + card])
    if edition == content.FOIL:
        p.card_chips[card] += _FOIL_CHIPS
    elif edition == content.HOLOGRAPHIC:
        p.card_mult[card] += _HOLOGRAPHIC_MULT
    elif edition == content.POLYCHROME:
        p.card_log[card] += 0.4


# --- judging cards ---


@njit
def _guess(p, hand, chips, mult, log):
    value = (p.chips[hand] + chips) * (p.mult[hand] + mult) * p.times[hand]
    if log != 0.0:
        value *= np.exp(log)
    if value > p.best[hand]:
        p.best[hand] = value


@njit
def _guess_straight(p, bits, hand, need):
    """The best straight among ranks (bit 1 is the low ace)."""
    for top in range(14, need - 1, -1):
        if not bits >> top & 1:
            continue
        place, length = top, 1
        chips, mult, log = 0.0, 0.0, 0.0
        while True:
            rank = 14 if place == 1 else place
            number = max(1.0, p.by_rank[rank, 0])
            chips += p.by_rank[rank, 1] / number
            mult += p.by_rank[rank, 2] / number
            log += p.by_rank[rank, 3] / number
            if length == need:
                _guess(p, hand, chips, mult, log)
                return
            if place > 1 and bits >> (place - 1) & 1:
                place -= 1
            elif p.gaps and place > 2 and bits >> (place - 2) & 1:
                place -= 2
            else:
                break
            length += 1


@njit
def _guess_flush(p, count, suit):
    """A flush of the suit's cards; of more than five, five average ones."""
    chips, mult, log = 0.0, 0.0, 0.0
    for index in range(count):
        card = p.cards[index]
        if p.suits[card] >> suit & 1:
            chips += p.card_chips[card]
            mult += p.card_mult[card]
            log += p.card_log[card]
    share = min(1.0, 5.0 / p.of_suit[suit])
    _guess(p, FLUSH, share * chips, share * mult, share * log)


@njit
def judge(p, count):
    """The best guess of a score among the first `count` of `p.cards`; per poker hand in `p.best`."""
    for rank in range(15):
        for column in range(4):
            p.by_rank[rank, column] = 0.0
    for suit in range(_SUITS):
        p.of_suit[suit] = 0
        p.rank_bits[suit] = 0
    p.rank_bits[_SUITS] = 0
    for hand in range(TYPES):
        p.best[hand] = 0.0
    need = p.need
    for index in range(count):
        card = p.cards[index]
        rank = p.rank[card]
        if rank == 0:
            continue
        p.by_rank[rank, 0] += 1.0
        p.by_rank[rank, 1] += p.card_chips[card]
        p.by_rank[rank, 2] += p.card_mult[card]
        p.by_rank[rank, 3] += p.card_log[card]
        bit = 1 << rank | (2 if rank == 14 else 0)
        p.rank_bits[_SUITS] |= bit
        for suit in range(_SUITS):
            if p.suits[card] >> suit & 1:
                p.of_suit[suit] += 1
                p.rank_bits[suit] |= bit
    pair, three = 0, 0  # the highest ranks so far
    for rank in range(14, 1, -1):
        number = p.by_rank[rank, 0]
        if number == 0:
            continue
        chips, mult, log = p.by_rank[rank, 1] / number, p.by_rank[rank, 2] / number, p.by_rank[rank, 3] / number
        _guess(p, HIGH, chips, mult, log)
        if number < 2:
            continue
        _guess(p, PAIR, 2 * chips, 2 * mult, 2 * log)
        if pair > 0:
            other = p.by_rank[pair, 0]
            pair_chips, pair_mult, pair_log = (
                p.by_rank[pair, 1] / other,
                p.by_rank[pair, 2] / other,
                p.by_rank[pair, 3] / other,
            )
            _guess(p, TWO_PAIR, 2 * (chips + pair_chips), 2 * (mult + pair_mult), 2 * (log + pair_log))
            if number >= 3:
                _guess(p, FULL_HOUSE, 3 * chips + 2 * pair_chips, 3 * mult + 2 * pair_mult, 3 * log + 2 * pair_log)
        if three > 0:
            other = p.by_rank[three, 0]
            _guess(
                p,
                FULL_HOUSE,
                2 * chips + 3 * p.by_rank[three, 1] / other,
                2 * mult + 3 * p.by_rank[three, 2] / other,
                2 * log + 3 * p.by_rank[three, 3] / other,
            )
        if pair == 0:
            pair = rank
        if number >= 3:
            _guess(p, THREE, 3 * chips, 3 * mult, 3 * log)
            if three == 0:
                three = rank
        if number >= 4:
            _guess(p, FOUR, 4 * chips, 4 * mult, 4 * log)
        if number >= 5:
            _guess(p, FIVE, 5 * chips, 5 * mult, 5 * log)
    for suit in range(_SUITS):
        if p.of_suit[suit] >= need:
            _guess_flush(p, count, suit)
            _guess_straight(p, p.rank_bits[suit], STRAIGHT_FLUSH, need)
    _guess_straight(p, p.rank_bits[_SUITS], STRAIGHT, need)
    best = 0.0
    for hand in range(TYPES):
        best = max(best, p.best[hand])
    return best


# --- the plan of a decision ---


@njit
def _set_right(o, p, hand_count):
    """Corrects the guesses by the exact scores of the hand on the table."""
    for card in range(hand_count):
        p.cards[card] = card
    judge(p, hand_count)
    top, ratio = 0.0, 1.0
    for hand in range(TYPES):
        exact = sight.score(o[sight.BEST_PLAYS + hand * sight.BEST_STRIDE])
        if exact > top and p.best[hand] > 0:
            top = exact
            ratio = max(0.1, min(10.0, exact / p.best[hand]))
    for hand in range(TYPES):
        exact = sight.score(o[sight.BEST_PLAYS + hand * sight.BEST_STRIDE])
        if exact > 0 and p.best[hand] > 0:
            p.times[hand] *= max(0.05, min(20.0, exact / p.best[hand]))
        else:
            p.times[hand] *= ratio


@njit
def list_deck(o, p, column):
    """Fills the workspace's deck with the cards that a column counts; how many they are."""
    total = 0
    for cell in range(52):
        for _ in range(np.int64(np.round(4.0 * o[column + cell]))):
            if total < MOST_DECK:
                p.deck[total] = FIRST_ITEM + 1 + cell
                total += 1
    return total


@njit
def _sample_draws(p, total):
    """Shuffles the first cards of the deck again and again; the same draws for equal decks."""
    state = np.uint64(88172645463325252)
    most = min(MOST_DRAWN, total)
    for sample in range(min(SAMPLES, np.int64(p.samples))):
        for place in range(most):
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            other = place + np.int64((state >> np.uint64(11)) % np.uint64(total - place))
            p.deck[place], p.deck[other] = p.deck[other], p.deck[place]
            p.draws[sample, place] = p.deck[place]
    return most


@njit
def make_plan(o, p):
    """Reads hand, deck, jokers and poker hands."""
    smeared, every_face = has_joker(o, _SMEARED), has_joker(o, _PAREIDOLIA)
    p.gaps = has_joker(o, _SHORTCUT)
    hand_count = 0
    for card in range(HAND_ROWS):
        if o[sight.CARD_PRESENT + card * sight.CARD_STRIDE] > 0:
            hand_count += 1
        _set_hand_card(o, p, card, smeared)
    for item in range(STONE_ITEM):
        set_card(p, FIRST_ITEM + item, item, smeared)
    for hand in range(TYPES):
        at = hand * sight.HAND_STRIDE
        p.chips[hand] = sight.count(o[at + sight.HAND_CHIPS])
        p.mult[hand] = sight.count(o[at + sight.HAND_MULT])
        p.times[hand] = 0.0 if o[at + sight.HAND_BLOCKED] > 0 else 1.0
    for row in range(JOKER_ROWS):
        joker = np.int64(o[sight.JOKER_ID + row]) - FIRST_JOKER_ITEM
        if joker < 0 or o[sight.JOKER_WEAK + row * sight.JOKER_STRIDE] > 0:
            continue
        _add_joker(o, p, row, joker)
        for card in range(CARDS):
            if p.rank[card] > 0 and not (card < HAND_ROWS and o[sight.CARD_WEAK + card * sight.CARD_STRIDE] > 0):
                _add_joker_to_card(o, p, joker, card, every_face)
    p.hand_count = hand_count
    p.need = 4 if has_joker(o, _FOUR_FINGERS) else 5
    p.deck_count = list_deck(o, p, sight.DECK_LEFT)
    p.most_drawn = _sample_draws(p, p.deck_count)
    _set_right(o, p, hand_count)


@njit
def expect(p, gone, drawn, most, first, last):
    """The mean guess over samples first..last-1 when the cards `gone` (bits) leave and `drawn` new ones come.

    Points beyond `most` count next to nothing; if it has to be this hand (`p.power` above 1), neither does half of it.
    """
    kept = 0
    for card in range(p.hand_count):
        if not gone >> card & 1:
            p.cards[kept] = card
            kept += 1
    drawn = min(drawn, p.most_drawn)
    total = 0.0
    for sample in range(first, last):
        for place in range(drawn):
            p.cards[kept + place] = p.draws[sample, place]
        score = judge(p, kept + drawn)
        counted = min(most, score)
        if p.power > 1.0 and score < most:
            counted = most * (score / most) ** p.power
        total += counted + _BEYOND * score
    return total / (last - first)


@njit
def score_of(p, played):
    """The guess for playing exactly these cards (bits): their strongest poker hand counts, not the best paid."""
    count = 0
    for card in range(p.hand_count):
        if played >> card & 1:
            p.cards[count] = card
            count += 1
    judge(p, count)
    for hand in range(TYPES):
        if p.best[hand] > 0:
            return p.best[hand]
    return 0.0
