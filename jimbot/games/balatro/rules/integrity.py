"""Whether a record can be a game at all: asked of every snapshot before it is accepted, and of games under test.

Compiled rules trust their record: a count or an id out of range would read or write beyond an array. So nothing that
comes from outside reaches them without this.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import content, state
from jimbot.games.balatro.rules.antes import NO_SUIT
from jimbot.games.balatro.rules.chance.streams import BANKS, RESAMPLE_CAPACITY, TEMPLATES

FAULTS = (
    "is in order",
    "has a number outside its range",
    "has more entries in a list than fit",
    "holds a joker or consumable that does not exist",
    "offers something that does not exist",
    "has a playing card that does not exist",
    "has a playing card in two places or in none",
    "has chosen or grabbed a card that is not there",
)
_SOUND, _RANGE, _COUNT, _HELD, _OFFER, _CARD, _PLACE, _CHOICE = range(len(FAULTS))
_MOST_ANTES = 1 << 20  # far beyond any game; streams count on it
_MOST_COUNTED, _MOST_MONEY = 1 << 30, 1 << 53  # likewise: no game counts on until a number wraps
_PHASES, _DECKS, _STAKES, _CHALLENGES = (
    len(state.PHASE_NAMES),
    len(content.DECKS),
    len(content.STAKES),
    len(content.CHALLENGES),
)
_BLINDS, _TAGS, _HANDS, _VOUCHERS, _PACKS = (
    len(content.BLINDS),
    len(content.TAGS),
    len(content.HANDS),
    len(content.VOUCHERS),
    len(content.PACKS),
)
_JOKERS, _CONSUMABLES, _EDITIONS, _SEALS = (
    len(content.JOKERS),
    len(content.CONSUMABLES),
    len(content.EDITIONS),
    len(content.SEALS),
)
_ENHANCEMENTS, _STREAMS = len(content.ENHANCEMENTS), len(TEMPLATES)
_TODO_LIST = content.JOKERS.id("j_todo_list")


@njit
def _within(value, least, most):
    return value >= least and value <= most


@njit
def _numbers_fit(g):
    if not (g.phase < _PHASES and g.deck < _DECKS and g.challenge <= _CHALLENGES and _within(g.stake, 1, _STAKES)):
        return False
    if g.pack_phase != state.BLIND_SELECT and g.pack_phase != state.SHOP:
        return False
    if not (_within(g.ante, -_MOST_ANTES, _MOST_ANTES) and g.win_ante >= 1):
        return False
    if not (_within(g.seed_length, 1, 8) and g.on_deck < 3 and g.boss < _BLINDS and g.blind < _BLINDS):
        return False
    if not (_within(g.last_hand, -1, _HANDS - 1) and _within(g.most_played_hand, -1, _HANDS - 1)):
        return False
    if not (_within(g.mouth_hand, -1, _HANDS - 1) and _within(g.last_tarot_planet, -1, _CONSUMABLES - 1)):
        return False
    if not (_within(g.ante_voucher, -1, _VOUCHERS - 1) and _within(g.pack_id, -1, _PACKS - 1)):
        return False
    if not (g.skip_tag[0] < _TAGS and g.skip_tag[1] < _TAGS and _within(g.money, -_MOST_MONEY, _MOST_MONEY)):
        return False
    if not (_within(g.steps, 0, _MOST_COUNTED) and _within(g.next_serial, 0, _MOST_COUNTED)):
        return False
    for hand in range(_HANDS):
        if not (_within(g.hand_level[hand], 1, _MOST_COUNTED) and _within(g.hand_played[hand], 0, _MOST_COUNTED)):
            return False
    if np.isnan(g.requirement) or np.isnan(g.score) or np.isnan(g.edition_rate):
        return False
    return g.phase != state.PACK or g.pack_id >= 0


@njit
def _targets_exist(g):
    """What the round's jokers look for, what Orbital Tags raise, and how far each blind is."""
    if not (_within(g.idol_rank, 2, 14) and _within(g.mail_rank, 2, 14) and g.idol_suit < 4 and g.castle_suit < 4):
        return False
    if g.ancient_suit >= 4 and g.ancient_suit != NO_SUIT:
        return False
    for place in range(3):
        if g.blind_state[place] > state.DEFEATED:
            return False
        for bank in range(BANKS):
            if not _within(g.orbital_hand[bank, place], -1, _HANDS - 1):
                return False
    return True


@njit
def _counts_fit(g):
    return (
        _within(g.joker_count, 0, state.MAX_JOKERS)
        and _within(g.consumable_count, 0, state.MAX_CONSUMABLES)
        and _within(g.card_count, 0, state.MAX_CARDS)
        and _within(g.pile_count, 0, g.card_count)
        and _within(g.hand_count, 0, min(state.MAX_HAND, g.card_count))
        and _within(g.tag_count, 0, state.MAX_TAGS)
        and _within(g.shop_slots, 0, state.MAX_SHOP_CARDS)
        and _within(g.shop_count, 0, state.MAX_SHOP_CARDS)
        and _within(g.pack_count, 0, state.MAX_PACK_CARDS)
        and _within(g.voucher_count, 0, state.MAX_SHOP_VOUCHERS)
        and _within(g.booster_count, 0, state.MAX_BOOSTERS)
        and _within(g.resample_count, 0, RESAMPLE_CAPACITY)
    )


@njit
def _joker_exists(joker, edition, counter):
    """A To Do List counts nothing: its counter is a poker hand."""
    if joker >= _JOKERS or edition >= _EDITIONS:
        return False
    return joker != _TODO_LIST or _within(counter, 0, _HANDS - 1)


@njit
def _held_exist(g):
    for index in range(g.joker_count):
        if not _joker_exists(g.joker_id[index], g.joker_edition[index], g.joker_counter[index]):
            return False
        if np.isnan(g.joker_value[index]):
            return False
    for index in range(g.consumable_count):
        if g.consumable_id[index] >= _CONSUMABLES or g.consumable_edition[index] >= _EDITIONS:
            return False
    for index in range(g.tag_count):
        if g.tag_id[index] >= _TAGS or not _within(g.tag_hand[index], -1, _HANDS - 1):
            return False
    for entry in range(g.resample_count):
        if (g.resample_key[entry] >> 16 & 0xFF) >= _STREAMS:
            return False
    return True


@njit
def _offer_exists(g, place):
    kind, identifier = g.offer_kind[place], g.offer_id[place]
    if kind == state.OFFER_JOKER:
        return _joker_exists(identifier, g.offer_edition[place], g.offer_counter[place])
    if g.offer_edition[place] >= _EDITIONS:
        return False
    if kind == state.OFFER_CONSUMABLE:
        return identifier < _CONSUMABLES
    if kind != state.OFFER_CARD or g.offer_enhancement[place] > _ENHANCEMENTS or g.offer_seal[place] > _SEALS:
        return False
    return _within(identifier, 2, 14) and g.offer_suit[place] < 4


@njit
def _offers_exist(g):
    for place in range(g.shop_count):
        if not _offer_exists(g, place):
            return False
    for place in range(state.FIRST_PACK_OFFER, state.FIRST_PACK_OFFER + g.pack_count):
        if not _offer_exists(g, place):
            return False
    for index in range(g.voucher_count):
        if g.shop_voucher[index] >= _VOUCHERS:
            return False
    for index in range(g.booster_count):
        if g.booster_id[index] >= _PACKS:
            return False
    return True


@njit
def _cards_exist(g):
    """Every owned card once, with a face; the tally of enhancements agrees."""
    tally = np.zeros(_ENHANCEMENTS + 1, np.int64)
    seen = np.zeros(state.MAX_CARDS, np.uint8)
    for index in range(g.card_count):
        slot = g.cards[index]
        if slot >= state.MAX_CARDS or seen[slot]:
            return False
        seen[slot] = 1
        if not _within(g.card_rank[slot], 2, 14) or g.card_suit[slot] >= 4 or g.card_first_suit[slot] >= 4:
            return False
        if g.card_enhancement[slot] > _ENHANCEMENTS or g.card_edition[slot] >= _EDITIONS or g.card_seal[slot] > _SEALS:
            return False
        tally[g.card_enhancement[slot]] += 1
    for enhancement in range(_ENHANCEMENTS + 1):
        if tally[enhancement] != g.enhancement_count[enhancement]:
            return False
    return True


@njit
def _listed_once(g, slots, count, place, seen):
    for index in range(count):
        slot = slots[index]
        if slot >= state.MAX_CARDS or seen[slot] or g.card_place[slot] != place:
            return False
        seen[slot] = 1
    return True


@njit
def _places_agree(g):
    """Every owned card is in the pile, in the hand or discarded, and only there."""
    seen = np.zeros(state.MAX_CARDS, np.uint8)
    if not _listed_once(g, g.pile, g.pile_count, state.IN_DECK, seen):
        return False
    if not _listed_once(g, g.hand, g.hand_count, state.IN_HAND, seen):
        return False
    discarded = 0
    placed = 0
    for slot in range(state.MAX_CARDS):
        placed += g.card_place[slot] != state.NOWHERE
        discarded += g.card_place[slot] == state.IN_DISCARD
    for index in range(g.card_count):
        if g.card_place[g.cards[index]] == state.NOWHERE:
            return False
    return placed == g.card_count and g.pile_count + g.hand_count + discarded == g.card_count


@njit
def _choice_is_there(g):
    if g.hand_count < state.MAX_HAND and g.selected >> np.uint64(g.hand_count) != np.uint64(0):
        return False
    if g.grabbed == state.NOTHING:
        return True
    count = np.int64(0)
    if g.grabbed == state.GRABBED_JOKER:
        count = np.int64(g.joker_count)
    elif g.grabbed == state.GRABBED_CONSUMABLE:
        count = np.int64(g.consumable_count)
    elif g.grabbed == state.GRABBED_HAND_CARD:
        count = np.int64(g.hand_count)
    return count > 1 and _within(g.grabbed_index, 0, count - 1)


@njit
def find_fault(g):
    """What is wrong with a record, as a number of `FAULTS`; 0 if nothing is."""
    if not (_numbers_fit(g) and _targets_exist(g)):
        return _RANGE
    if not _counts_fit(g):
        return _COUNT
    if not _held_exist(g):
        return _HELD
    if not _offers_exist(g):
        return _OFFER
    if not _cards_exist(g):
        return _CARD
    if not _places_agree(g):
        return _PLACE
    if not _choice_is_there(g):
        return _CHOICE
    return _SOUND
