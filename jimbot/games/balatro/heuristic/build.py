"""What a set of jokers, levels and cards would score: the player's own look ahead in shops and packs.

Hands are drawn from the whole deck and judged as in `estimate`, so the poker hand that pays is found by itself, and a
joker or a level is worth what it does for hands this deck makes. The set is judged twice: as it is now, and some rounds
ahead, when growing jokers have grown, fading ones have faded and other purchases have added chips and Mult. So what
multiplies is worth more than what adds while much of the run still lies ahead.

Everything is a logarithm of points in a round: 0.7 more doubles the score.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.encoding.fields import FIRST_JOKER_ITEM, JOKER_ROWS, STONE_ITEM
from jimbot.games.balatro.heuristic import estimate, sight
from jimbot.games.balatro.heuristic import preferences as like
from jimbot.games.balatro.heuristic.workspace import FIRST_ITEM, MOST_OWN, TRIAL_CARDS, TRIALS
from jimbot.games.balatro.rules import content
from jimbot.games.balatro.rules.inventory import START_VALUE
from jimbot.games.balatro.rules.jokers import registry as r
from jimbot.games.balatro.rules.jokers.evaluate import BOOTSTRAPS_DOLLARS
from jimbot.games.balatro.rules.state import PERISHABLE, RENTAL

(
    _FOUR_FINGERS, _SHORTCUT, _SMEARED, _PAREIDOLIA, _BLUEPRINT, _BRAINSTORM, _BASEBALL, _MIME, _RAISED_FIST, _MISPRINT,
    _BURGLAR, _TURTLE_BEAN, _SELTZER, _SPLASH, _SPACE, _BURNT, _HIKER,
) = (
    content.JOKERS.id(f"j_{key}")
    for key in (
        "four_fingers", "shortcut", "smeared", "pareidolia", "blueprint", "brainstorm", "baseball", "mime",
        "raised_fist", "misprint", "burglar", "turtle_bean", "selzer", "splash", "space", "burnt", "hiker",
    )
)  # fmt: skip
_FOIL_CHIPS = float(content.EDITIONS.row("e_foil")["values"]["chips"])
_HOLOGRAPHIC_MULT = float(content.EDITIONS.row("e_holo")["values"]["mult"])
_POLYCHROME_X = float(content.EDITIONS.row("e_polychrome")["values"]["x_mult"])
_BASEBALL_X = r.amount("j_baseball", "extra")
_MISPRINT_MEAN = 0.5 * (r.amount("j_misprint", "extra.min") + r.amount("j_misprint", "extra.max"))
_WIN_ANTE = content.RATES["starting"]["win_ante"]
_UNCOMMON = 2
_BLINDS = 3.0  # of an ante
_HELD_CONDITION, _HELD_ARGUMENT = r.HELD.condition, r.HELD.argument
_HELD_MULT, _HELD_X = r.HELD.mult, r.HELD.x_mult
_SCORED_CONDITION, _SCORED_ARGUMENT, _SCORED_ODDS = r.SCORED.condition, r.SCORED.argument, r.SCORED.odds
_SCORED_CHIPS, _SCORED_MULT, _SCORED_X = r.SCORED.chips, r.SCORED.mult, r.SCORED.x_mult
_SCORED_STREAM = r.SCORED.stream
PERISH_ROUNDS = float(content.RATES["stickers"]["perish_rounds"])
FOREVER = 99.0
_CARDS_SCORED = 2.5
_FIRST_CARD_SHARE = 0.3
_LAST_HAND_SHARE = 0.2
_FIST_MULT = 9.0  # twice the lowest of the few cards held
_SPREAD = 1.5  # enhanced cards are played more often than their share of the deck


# --- the set ---


@njit
def read_set(o, p):
    """The jokers held, and the whole deck to draw from."""
    count = 0
    for row in range(JOKER_ROWS):
        joker = np.int64(o[sight.JOKER_ID + row]) - FIRST_JOKER_ITEM
        if joker >= 0:
            at = row * sight.JOKER_STRIDE
            p.own_joker[count] = joker
            p.own_value[count] = sight.amount(o[sight.JOKER_VALUE + at])
            p.own_edition[count] = np.int64(o[sight.JOKER_EDITION + row])
            p.own_sells[count] = sight.count(o[sight.JOKER_SELLS + at])
            perishable = o[sight.JOKER_PERISHABLE + at] > 0
            p.own_rounds[count] = PERISH_ROUNDS * o[sight.JOKER_ROUNDS + at] if perishable else FOREVER
            p.own_rental[count] = 1 if o[sight.JOKER_RENTAL + at] > 0 else 0
            p.own_row[count] = row
            count += 1
    p.own_count = count
    p.hand_size = sight.count(o[sight.HAND_LIMIT])
    p.hands = sight.count(o[sight.HANDS_PER_ROUND])
    p.discards = sight.count(o[sight.DISCARDS_PER_ROUND])
    for index in range(count):
        _change_limits(p, index, -1)
    for hand in range(estimate.TYPES):
        p.levels[hand] = 0
    _draw_trials(o, p)


@njit
def _change_limits(p, index, sign):
    joker = p.own_joker[index]
    size = like.HAND_SIZE[joker]
    if joker == _TURTLE_BEAN:
        size = np.int64(p.own_value[index])
    p.hand_size += sign * size
    p.hands += sign * like.HANDS[joker]
    p.discards += sign * like.DISCARDS[joker]


@njit
def add_joker(p, joker, edition, sells, stickers):
    """Adds a joker to the set."""
    if p.own_count < MOST_OWN:
        index = p.own_count
        p.own_joker[index], p.own_value[index], p.own_edition[index] = joker, START_VALUE[joker], edition
        p.own_sells[index] = sells
        p.own_rental[index] = 1 if stickers & RENTAL else 0
        p.own_rounds[index] = PERISH_ROUNDS if stickers & PERISHABLE else FOREVER
        p.own_row[index] = -1
        p.own_count += 1


@njit
def drop_last(p):
    """Takes back what `add_joker` added."""
    p.own_count -= 1


@njit
def _exchange(p, one, other):
    p.own_joker[one], p.own_joker[other] = p.own_joker[other], p.own_joker[one]
    p.own_value[one], p.own_value[other] = p.own_value[other], p.own_value[one]
    p.own_edition[one], p.own_edition[other] = p.own_edition[other], p.own_edition[one]
    p.own_sells[one], p.own_sells[other] = p.own_sells[other], p.own_sells[one]
    p.own_rounds[one], p.own_rounds[other] = p.own_rounds[other], p.own_rounds[one]
    p.own_rental[one], p.own_rental[other] = p.own_rental[other], p.own_rental[one]
    p.own_row[one], p.own_row[other] = p.own_row[other], p.own_row[one]


@njit
def take_out(p, index):
    """Takes a joker out of the set; it waits behind its end."""
    p.own_count -= 1
    _exchange(p, index, p.own_count)


@njit
def bring_back(p, index):
    """Undoes `take_out`."""
    _exchange(p, index, p.own_count)
    p.own_count += 1


@njit
def put_instead(p, index, joker, edition, sells, stickers):
    """Puts another joker in the place of one, which waits behind the end of the set."""
    add_joker(p, joker, edition, sells, stickers)
    _exchange(p, index, p.own_count - 1)
    p.own_count -= 1


@njit
def put_back(p, index):
    """Undoes `put_instead`."""
    _exchange(p, index, p.own_count)


@njit
def _draw_trials(o, p):
    """Trial hands from the whole deck, with the same draws for equal decks."""
    total = p.deck_count = estimate.list_deck(o, p, sight.DECK_TOTAL)
    p.trial_cards = min(TRIAL_CARDS, total)
    state = np.uint64(88172645463325252)
    for trial in range(TRIALS):
        for place in range(p.trial_cards):
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            other = place + np.int64((state >> np.uint64(11)) % np.uint64(total - place))
            p.deck[place], p.deck[other] = p.deck[other], p.deck[place]
            p.trials[trial, place] = p.deck[place]


# --- what jokers give ---


@njit
def _has(p, joker):
    for index in range(p.own_count):
        if p.own_joker[index] == joker:
            return True
    return False


@njit
def _grown(p, index, rounds):
    joker = p.own_joker[index]
    value = p.own_value[index] + like.GROWTH[joker] * rounds
    return max(0.0, value)


@njit
def _quantity(o, p, index, quantity, hand, rounds):
    """What a joker's main row will count in a typical round."""
    grows = like.GROWTH[p.own_joker[index]] * rounds
    if quantity == r.ONE:
        return 1.0
    if quantity == r.VALUE:
        return _grown(p, index, rounds)
    if quantity == r.DISCARDS_LEFT:
        return 0.35 * p.discards
    if quantity == r.JOKERS_HELD:
        return np.float64(p.own_count)
    if quantity == r.PILE:
        return 0.65 * p.deck_count
    if quantity == r.STONE_CARDS:
        return np.float64(sight.count(o[sight.STONES]))
    if quantity == r.STEEL_CARDS:
        return np.float64(sight.count(o[sight.STEELS]))
    if quantity == r.TAROTS_USED:
        return sight.count(o[sight.TAROTS_USED]) + grows
    if quantity == r.TIMES_PLAYED:
        return sight.count(o[sight.HAND_PLAYED + hand * sight.HAND_STRIDE]) + grows
    if quantity == r.SKIPS:
        return np.float64(sight.count(o[sight.SKIPS]))
    if quantity == r.CARDS_LOST:
        return max(0, sight.count(o[sight.CARDS_LOST])) + grows
    if quantity == r.MONEY:
        return min(25.0, max(5.0, 0.8 * sight.count(o[sight.MONEY])))
    if quantity == r.MONEY_FIVES:
        return min(25.0, max(5.0, 0.8 * sight.count(o[sight.MONEY]))) // BOOTSTRAPS_DOLLARS
    if quantity == r.OTHER_SELL_VALUES:
        total = 0.0
        for other in range(p.own_count):
            if other != index:
                total += p.own_sells[other]
        return total
    return 1.0 + (sight.count(o[sight.JOKER_SLOTS]) - p.own_count if rounds == 0 else 0.3)


@njit
def _enhanced(o):
    total = 0
    for kind in range(sight.BONUSES, sight.LUCKIES + 1):
        total += sight.count(o[kind])
    return total


@njit
def _share(o, p, condition, argument, hand):
    """How often a main row's condition is met when this poker hand is played."""
    if condition == r.ALWAYS:
        return 1.0
    if condition == r.CONTAINS:
        return 1.0 if estimate.CONTAINS[hand] >> argument & 1 else 0.0
    if condition == r.PLAYED_AT_MOST:
        return 1.0 if hand == estimate.HIGH or hand == estimate.PAIR or hand == estimate.THREE else 0.0
    if condition == r.NO_DISCARDS_LEFT:
        return 1.0 if p.discards == 0 else p.no_discards_share
    if condition == r.LAST_HAND:
        return _LAST_HAND_SHARE
    if condition == r.PLAYED_THIS_ROUND:
        return p.again_share
    if condition == r.ENHANCED_AT_LEAST:
        return 1.0 if _enhanced(o) >= argument else 0.0
    if condition == r.HELD_ALL_BLACK:
        return 0.2
    if condition == r.ALL_FOUR_SUITS:
        return 0.3 if hand < estimate.THREE and hand != estimate.FLUSH else 0.1 if hand == estimate.TWO_PAIR else 0.0
    if condition == r.CLUB_AND_OTHER:
        return 0.1 if hand == estimate.FLUSH else 0.3 if hand == estimate.HIGH or hand == estimate.PAIR else 0.6
    return 1.0 / 6.0  # every sixth hand


@njit
def _strongest(o, p, rounds):
    """The joker of the set a Blueprint should copy: a rough order is enough."""
    best, most = -1, 0.0
    for index in range(p.own_count):
        joker = p.own_joker[index]
        if not content.JOKER_COPYABLE[joker] or joker == _BLUEPRINT or joker == _BRAINSTORM:
            continue
        value = 0.05
        effect = r.MAIN_EFFECT[joker]
        if effect != 0:
            given = r.MAIN_OFFSET[joker] + r.MAIN_FACTOR[joker] * _quantity(
                o, p, index, r.MAIN_QUANTITY[joker], estimate.TWO_PAIR, rounds
            )
            often = 0.8
            if r.MAIN_CONDITION[joker] != r.ALWAYS and r.MAIN_CONDITION[joker] != r.CONTAINS:
                often = _share(o, p, r.MAIN_CONDITION[joker], r.MAIN_ARGUMENT[joker], estimate.TWO_PAIR)
            weight = 0.4 * (given - 1.0) if effect == r.X_MULT else given / 40.0 if effect == r.MULT else given / 300.0
            value += often * weight
        value += 0.4 * _SCORED_X[joker] + _SCORED_MULT[joker] / 15.0 + _SCORED_CHIPS[joker] / 100.0
        value += 0.3 * r.RETRIGGER_TIMES[joker] + (0.4 if joker == _BASEBALL else 0.0)
        if value > most:
            best, most = index, value
    return best


@njit
def _lasts(p, index, rounds):
    """The chance that a joker is still there so many rounds ahead."""
    return like.LASTING[p.own_joker[index]] ** rounds if rounds < p.own_rounds[index] else 0.0


@njit
def _add_main(o, p, index, rounds):
    joker = p.own_joker[index]
    lasts = _lasts(p, index, rounds)
    effect = r.MAIN_EFFECT[joker]
    if effect != 0:
        for hand in range(estimate.TYPES):
            share = lasts * _share(o, p, r.MAIN_CONDITION[joker], r.MAIN_ARGUMENT[joker], hand)
            if share > 0:
                count = _quantity(o, p, index, r.MAIN_QUANTITY[joker], hand, rounds)
                _give(p, hand, effect, share, r.MAIN_OFFSET[joker] + r.MAIN_FACTOR[joker] * count)
    if joker == _MISPRINT:
        _give_all(p, r.MULT, 1.0, _MISPRINT_MEAN)
    elif joker == _RAISED_FIST:
        _give_all(p, r.MULT, 1.0, _FIST_MULT)
    elif joker == _BASEBALL:
        for other in range(p.own_count):
            if content.JOKER_RARITY[p.own_joker[other]] == _UNCOMMON:
                _give_all(p, r.X_MULT, 1.0, _BASEBALL_X)
    elif joker == _SPLASH:
        _give_all(p, r.CHIPS, 1.0, 10.0)
    elif _SCORED_CONDITION[joker] == r.FIRST_FACE:
        _add_first_face(p, joker)
    if _HELD_CONDITION[joker] != r.NEVER:
        _add_held(p, joker)


@njit
def _add_first_face(p, joker):
    """Photograph: multiplies where a face card scores at all."""
    faces, every_face = 0, _has(p, _PAREIDOLIA)
    for index in range(p.deck_count):
        if estimate.touches(p, p.deck[index], r.FACE, 0, every_face, 0, 0):
            faces += 1
    share = 1.0 - (1.0 - faces / max(1, p.deck_count)) ** _CARDS_SCORED
    _give_all(p, r.X_MULT, share, _SCORED_X[joker])


@njit
def _add_held(p, joker):
    """Kings for Baron, Queens for Shoot the Moon: so many as are held on average."""
    fitting = 0
    for index in range(p.deck_count):
        if estimate.touches(p, p.deck[index], _HELD_CONDITION[joker], _HELD_ARGUMENT[joker], False, 0, 0):
            fitting += 1
    held = max(0.0, p.hand_size - 4.5) * fitting / max(1, p.deck_count) * (2.0 if _has(p, _MIME) else 1.0)
    if _HELD_X[joker] > 0:
        _give_all(p, r.X_MULT, 1.0, _HELD_X[joker] ** held)
    else:
        _give_all(p, r.MULT, 1.0, held * _HELD_MULT[joker])


@njit
def _give(p, hand, effect, share, value):
    if effect == r.CHIPS:
        p.chips[hand] += share * value
    elif effect == r.MULT:
        p.mult[hand] += share * value
    elif value > 1:
        p.times[hand] *= 1.0 + share * (value - 1.0)


@njit
def _give_all(p, effect, share, value):
    for hand in range(estimate.TYPES):
        _give(p, hand, effect, share, value)


@njit
def _add_edition(p, edition):
    if edition == content.FOIL:
        _give_all(p, r.CHIPS, 1.0, _FOIL_CHIPS)
    elif edition == content.HOLOGRAPHIC:
        _give_all(p, r.MULT, 1.0, _HOLOGRAPHIC_MULT)
    elif edition == content.POLYCHROME:
        _give_all(p, r.X_MULT, 1.0, _POLYCHROME_X)


@njit
def _retrigger(p, joker, card, every_face, share):
    condition = r.RETRIGGER_CONDITION[joker]
    if condition == r.NEVER:
        return
    if r.RETRIGGER_LAST_HAND[joker]:
        share *= _LAST_HAND_SHARE
    if condition == r.FIRST_CARD:
        p.again[card] += share * _FIRST_CARD_SHARE * r.RETRIGGER_TIMES[joker]
    elif estimate.touches(p, card, condition, r.RETRIGGER_ARGUMENT[joker], every_face, 0, 0):
        p.again[card] += share * r.RETRIGGER_TIMES[joker]


@njit
def _score_card(o, p, joker, card, every_face, share):
    condition = _SCORED_CONDITION[joker]
    if condition == r.NEVER:
        return
    if condition == r.FIRST_FACE:  # once in a hand: see `_add_first_face`
        return
    if condition == r.IDOL or condition == r.ANCIENT_SUIT:  # another card every round
        share *= 1.0 / 40.0 if condition == r.IDOL else 0.25
    elif not estimate.touches(p, card, condition, _SCORED_ARGUMENT[joker], every_face, 0, 0):
        return
    if _SCORED_STREAM[joker] >= 0 and _SCORED_ODDS[joker] > 0:
        share /= _SCORED_ODDS[joker]
    p.card_chips[card] += p.again[card] * share * _SCORED_CHIPS[joker]
    p.card_mult[card] += p.again[card] * share * _SCORED_MULT[joker]
    if _SCORED_X[joker] > 0:
        p.card_log[card] += p.again[card] * np.log(1.0 + share * (_SCORED_X[joker] - 1.0))


@njit
def _set_cards(o, p, copied, copies, rounds):
    """What every card of a deck gives when it scores; enhancements are spread over all cards."""
    smeared, every_face = _has(p, _SMEARED), _has(p, _PAREIDOLIA)
    spread = _SPREAD / max(1, p.deck_count)
    chips = spread * (30.0 * sight.count(o[sight.BONUSES]))
    mult = spread * (4.0 * sight.count(o[sight.MULTS]) + 4.0 * sight.count(o[sight.LUCKIES]))
    log = spread * 0.6 * sight.count(o[sight.GLASSES])
    for item in range(1, STONE_ITEM):
        card = FIRST_ITEM + item
        estimate.set_card(p, card, item, smeared)
        p.again[card] = 1.0
        for index in range(p.own_count):
            share = _lasts(p, index, rounds) * (1.0 + (copies if index == copied else 0))
            _retrigger(p, p.own_joker[index], card, every_face, share)
        p.card_chips[card] = p.again[card] * (p.card_chips[card] + chips)
        p.card_mult[card] = p.again[card] * mult
        p.card_log[card] = p.again[card] * log
        for index in range(p.own_count):
            _score_card(o, p, p.own_joker[index], card, every_face, 1.0)
        if copied >= 0:
            for _ in range(copies):
                _score_card(o, p, p.own_joker[copied], card, every_face, 1.0)


# --- the judgement ---


@njit
def _set_hands(o, p, rounds):
    """Levels; and what the purchases to come will add until then."""
    for hand in range(estimate.TYPES):
        at = hand * sight.HAND_STRIDE
        levels = p.levels[hand]
        p.chips[hand] = sight.count(o[at + sight.HAND_CHIPS]) + levels * content.HAND_LEVEL_CHIPS[hand]
        p.mult[hand] = sight.count(o[at + sight.HAND_MULT]) + levels * content.HAND_LEVEL_MULT[hand]
        p.chips[hand] += p.future_chips * rounds
        p.mult[hand] += p.future_mult * rounds
        p.times[hand] = 1.0
    if _has(p, _SPACE):
        for hand in range(estimate.TYPES):
            p.chips[hand] += 0.4 * rounds * content.HAND_LEVEL_CHIPS[hand]
            p.mult[hand] += 0.4 * rounds * content.HAND_LEVEL_MULT[hand]


@njit
def _points(o, p, rounds):
    """The logarithm of the points of a round, so many rounds ahead."""
    _set_hands(o, p, rounds)
    copies = 0
    for index in range(p.own_count):
        if p.own_joker[index] == _BLUEPRINT or p.own_joker[index] == _BRAINSTORM:
            copies += 1
    copied = _strongest(o, p, rounds) if copies > 0 else -1
    for index in range(p.own_count):
        _add_main(o, p, index, rounds)
        if rounds < p.own_rounds[index]:
            _add_edition(p, p.own_edition[index])
    if copied >= 0:
        for _ in range(copies):
            _add_main(o, p, copied, rounds)
    _set_cards(o, p, copied, copies, rounds)
    steels = sight.count(o[sight.STEELS])
    if steels > 0:
        held = max(0.0, p.hand_size - 4.5) * steels / max(1, p.deck_count)
        _give_all(p, r.X_MULT, 1.0, 1.5 ** (held * (2.0 if _has(p, _MIME) else 1.0)))
    p.need = 4 if _has(p, _FOUR_FINGERS) else 5
    p.gaps = _has(p, _SHORTCUT)
    hands, discards, size = np.float64(p.hands), np.float64(p.discards), np.float64(p.hand_size)
    for index in range(p.own_count):
        joker = p.own_joker[index]
        hands += like.HANDS[joker]
        discards += like.DISCARDS[joker]
        size += like.HAND_SIZE[joker]
        if joker == _TURTLE_BEAN:
            size += max(0.0, p.own_value[index] - rounds)
    if _has(p, _BURGLAR):
        hands, discards = hands + 3.0, 0.0
    return np.log(max(1.0, _mean(p, size + p.seen_per_discard * max(0.0, discards)) * max(1.0, hands)))


@njit
def _mean(p, seen):
    """The mean of the best hands among so many cards of each trial; between whole numbers of cards, between both."""
    seen = max(1.0, min(seen, np.float64(p.trial_cards)))
    fewer = np.int64(seen)
    more = min(fewer + 1, p.trial_cards)
    part = seen - fewer
    total = 0.0
    for trial in range(TRIALS):
        for place in range(more):
            p.cards[place] = p.trials[trial, place]
        total += (1.0 - part) * estimate.judge(p, fewer)
        if part > 0.01 and more > fewer:
            total += part * estimate.judge(p, more)
    return total / TRIALS


@njit
def shops_left(o):
    """How many shops follow this one in the run."""
    blinds_beaten = 1.0 if o[sight.BIG_UP] > 0 else 2.0 if o[sight.BOSS_UP] > 0 else 0.0
    return max(0.0, _BLINDS * (_WIN_ANTE - sight.ante(o)) + _BLINDS - 1.0 - blinds_beaten)


@njit
def strength(o, p):
    """(now, ahead): the logarithms of a round's points of the set, as it is and some rounds ahead."""
    ahead = min(p.ahead, shops_left(o))
    return _points(o, p, 0.0), _points(o, p, ahead)


@njit
def mixed(p, now, ahead):
    """One number for a set."""
    return (1.0 - p.ahead_share) * now + p.ahead_share * ahead


@njit
def worth(o, p):
    """What a set is worth: the points of a round now and ahead."""
    now, ahead = strength(o, p)
    return mixed(p, now, ahead)
