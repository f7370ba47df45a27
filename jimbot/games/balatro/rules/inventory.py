"""Jokers and consumables held: adding, removing, slots, their order, and what a joker gives merely by being there.

Passive bonuses (hand size, hands, discards, interest, a free reroll) are applied when a joker comes or is revived and
withdrawn when it goes or is debuffed. What a passive joker changes about other rules (odds, debt floor, prices, hand
detection) is asked where it matters through `count_active`.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import state
from jimbot.games.balatro.rules.chance.pools import count_active
from jimbot.games.balatro.rules.chance.streams import draw, stream_id
from jimbot.games.balatro.rules.content import JOKERS, NEGATIVE, RATES
from jimbot.games.balatro.rules.playing_cards.cards import new_serial
from jimbot.games.balatro.rules.state import PINNED

_PERISH_ROUNDS = RATES["stickers"]["perish_rounds"]
_DEBT_PER_CREDIT_CARD = JOKERS.row("j_credit_card")["config"]["extra"]
_CREDIT_CARD = JOKERS.id("j_credit_card")
_OOPS = JOKERS.id("j_oops")
_OOPS_FACTOR = float(JOKERS.row("j_oops")["config"]["factor"])
_CHAOS = JOKERS.id("j_chaos")
_TURTLE_BEAN = JOKERS.id("j_turtle_bean")
_INVISIBLE = JOKERS.id("j_invisible")
_TODO_LIST = JOKERS.id("j_todo_list")
_TO_DO = stream_id("to_do")


def _passive(**amounts: int) -> np.ndarray:
    """(joker,) a bonus while held."""
    out = np.zeros(len(JOKERS), np.int64)
    for key, amount in amounts.items():
        out[JOKERS.id(key)] = amount
    return out


_HAND_SIZE = _passive(
    j_juggler=JOKERS.row("j_juggler")["config"]["h_size"],
    j_troubadour=JOKERS.row("j_troubadour")["config"]["extra"]["h_size"],
    j_merry_andy=JOKERS.row("j_merry_andy")["config"]["h_size"],
    j_stuntman=-JOKERS.row("j_stuntman")["config"]["extra"]["h_size"],
)
_HANDS = _passive(j_troubadour=JOKERS.row("j_troubadour")["config"]["extra"]["h_plays"])
_DISCARDS = _passive(
    j_drunkard=JOKERS.row("j_drunkard")["config"]["d_size"],
    j_merry_andy=JOKERS.row("j_merry_andy")["config"]["d_size"],
)
_INTEREST = _passive(j_to_the_moon=JOKERS.row("j_to_the_moon")["config"]["extra"])

# What a joker starts with: the number it grows or shrinks (`joker_value`) and its second counter (`joker_counter`).
_VALUE_NAMES = ("mult", "x_mult", "chips", "dollars", "h_size", "uses", "caino_xmult")
_COUNTER_NAMES = ("yorick_discards", "invis_rounds")


def _start(names: tuple[str, ...]) -> np.ndarray:
    def value(row: dict) -> float:
        return next((row["start"][name] for name in names if name in row.get("start", {})), 0)

    return JOKERS.column(value, np.float64)


START_VALUE = _start(_VALUE_NAMES)
START_COUNTER = _start(_COUNTER_NAMES).astype(np.int64)


@njit
def _apply_passives(g, index, sign):
    joker = g.joker_id[index]
    size = _HAND_SIZE[joker]
    if joker == _TURTLE_BEAN:
        size = np.int64(g.joker_value[index])
    g.hand_size += sign * size
    g.hands_per_round += sign * _HANDS[joker]
    g.discards_per_round += sign * _DISCARDS[joker]
    if g.blind_state[g.on_deck] == state.CURRENT:  # otherwise the next round starts from the new number
        g.discards_left = max(0, g.discards_left + sign * _DISCARDS[joker])
    g.interest_per_five += sign * _INTEREST[joker]
    if joker == _CHAOS:
        g.free_rerolls = max(0, g.free_rerolls + sign)


@njit
def has_joker_room(g):
    """Whether a joker without Negative edition may be added."""
    return g.joker_count < g.joker_slots and g.joker_count < state.MAX_JOKERS


@njit
def has_consumable_room(g):
    """Whether a consumable without Negative edition may be added."""
    return g.consumable_count < g.consumable_slots and g.consumable_count < state.MAX_CONSUMABLES


@njit
def _append_joker(g, joker, edition, flags, counter, serial, value):
    if g.joker_count >= state.MAX_JOKERS:
        return -1
    index = g.joker_count
    g.joker_id[index] = joker
    g.joker_edition[index] = edition
    g.joker_flags[index] = flags
    g.joker_perish[index] = _PERISH_ROUNDS if flags & state.PERISHABLE else 0
    g.joker_extra_value[index] = 0
    g.joker_serial[index] = serial
    g.joker_value[index] = value
    g.joker_counter[index] = counter
    g.joker_count += 1
    g.used[joker] = 1
    if edition == NEGATIVE:
        g.joker_slots += 1
    if not flags & state.DEBUFFED:
        _apply_passives(g, index, 1)
    return index


@njit
def add_joker(g, joker, edition, flags, counter, serial):
    """Puts a new joker at the right end; the caller has checked for room. Returns its place, or -1 at the cap."""
    return _append_joker(g, joker, edition, flags, counter, serial, START_VALUE[joker])


@njit
def copy_joker(g, source, edition):
    """Puts a copy of a held joker at the right end with the given edition; returns its place, or -1 at the cap."""
    joker = g.joker_id[source]
    if joker == _TODO_LIST:
        draw(g, _TO_DO)  # every To Do List draws a hand when it is made; the copy then takes over the original's
    counter = START_COUNTER[joker] if joker == _INVISIBLE else g.joker_counter[source]
    flags = g.joker_flags[source] & (0xFF ^ (state.DOOMED | state.FACE_DOWN))
    place = _append_joker(g, joker, edition, flags, counter, new_serial(g), g.joker_value[source])
    if place >= 0:
        g.joker_perish[place] = g.joker_perish[source]
        g.joker_extra_value[place] = g.joker_extra_value[source]
    return place


@njit
def set_joker_debuff(g, index, debuffed):
    """Debuffs or revives a joker; its passive bonuses go and come with it."""
    if debuffed and not g.joker_flags[index] & state.DEBUFFED:
        _apply_passives(g, index, -1)
        g.joker_flags[index] |= state.DEBUFFED
    elif not debuffed and g.joker_flags[index] & state.DEBUFFED:
        g.joker_flags[index] &= ~state.DEBUFFED & 0xFF
        _apply_passives(g, index, 1)


@njit
def _has_expired(g, index):
    """Whether a Perishable joker's rounds are over: nothing revives it."""
    return (g.joker_flags[index] & state.PERISHABLE) != 0 and g.joker_perish[index] <= 0


@njit
def revive_jokers(g):
    """Lifts every joker's debuff that can be lifted."""
    for index in range(g.joker_count):
        if not _has_expired(g, index):
            set_joker_debuff(g, index, False)


@njit
def turn_jokers_up(g):
    """Turns all jokers face up."""
    for index in range(g.joker_count):
        g.joker_flags[index] &= 0xFF ^ state.FACE_DOWN


@njit
def release_key(g, key):
    """Frees a joker or consumable key for the pools when no copy of it is held any more."""
    if key < state.FIRST_CONSUMABLE_KEY:
        for index in range(g.joker_count):
            if g.joker_id[index] == key:
                return
    else:
        for index in range(g.consumable_count):
            if g.consumable_id[index] == key - state.FIRST_CONSUMABLE_KEY:
                return
    g.used[key] = 0


@njit
def move_joker(g, source, target):
    """Copies all fields of one joker place to another."""
    g.joker_id[target] = g.joker_id[source]
    g.joker_edition[target] = g.joker_edition[source]
    g.joker_flags[target] = g.joker_flags[source]
    g.joker_perish[target] = g.joker_perish[source]
    g.joker_extra_value[target] = g.joker_extra_value[source]
    g.joker_serial[target] = g.joker_serial[source]
    g.joker_value[target] = g.joker_value[source]
    g.joker_counter[target] = g.joker_counter[source]


@njit
def remove_joker(g, index):
    """Takes a joker away (sold or destroyed); those to its right move up."""
    joker = g.joker_id[index]
    if not g.joker_flags[index] & state.DEBUFFED:
        _apply_passives(g, index, -1)
    if g.joker_edition[index] == NEGATIVE:
        g.joker_slots -= 1
    g.joker_count -= 1
    for place in range(index, g.joker_count):
        move_joker(g, place + 1, place)
    release_key(g, joker)


@njit
def add_consumable(g, consumable, edition, serial):
    """Puts a consumable at the right end; the caller has checked for room. Returns its place, or -1 at the cap."""
    if g.consumable_count >= state.MAX_CONSUMABLES:
        return -1
    index = g.consumable_count
    g.consumable_id[index] = consumable
    g.consumable_edition[index] = edition
    g.consumable_extra_value[index] = 0
    g.consumable_serial[index] = serial
    g.consumable_count += 1
    g.used[state.FIRST_CONSUMABLE_KEY + consumable] = 1
    if edition == NEGATIVE:
        g.consumable_slots += 1
    return index


@njit
def remove_consumable(g, index):
    """Takes a consumable away (used or sold); those to its right move up."""
    consumable = g.consumable_id[index]
    if g.consumable_edition[index] == NEGATIVE:
        g.consumable_slots -= 1
    g.consumable_count -= 1
    for place in range(index, g.consumable_count):
        g.consumable_id[place] = g.consumable_id[place + 1]
        g.consumable_edition[place] = g.consumable_edition[place + 1]
        g.consumable_extra_value[place] = g.consumable_extra_value[place + 1]
        g.consumable_serial[place] = g.consumable_serial[place + 1]
    release_key(g, state.FIRST_CONSUMABLE_KEY + consumable)


@njit
def give_consumable(g, consumable):
    """A new copy of a consumable with no edition (start of run, Blue Seal, The Fool, created Tarots)."""
    return add_consumable(g, consumable, 0, new_serial(g))


@njit
def odds_numerator(g):
    """1, doubled by every active Oops! All 6s: a chance of 1 in N succeeds when roll < numerator / N."""
    return _OOPS_FACTOR ** count_active(g, _OOPS)


@njit
def debt_floor(g):
    """The balance purchases may go down to."""
    return -_DEBT_PER_CREDIT_CARD * count_active(g, _CREDIT_CARD)


@njit
def doom(g, index):
    """Marks a joker for destruction; it stays in its place until `remove_doomed`, so positions hold during a phase."""
    g.joker_flags[index] |= state.DOOMED


@njit
def remove_doomed(g):
    """Takes all doomed jokers away."""
    for index in range(g.joker_count - 1, -1, -1):
        if g.joker_flags[index] & state.DOOMED:
            remove_joker(g, index)


@njit
def nth_joker(g, number, wanted):
    """The place of a joker by age among those in the bit set `wanted`: the order in which random choices see jokers."""
    for _ in range(number):
        wanted ^= 1 << _oldest(g, wanted)
    return _oldest(g, wanted)


@njit
def _oldest(g, wanted):
    oldest = -1
    for index in range(g.joker_count):
        if wanted >> index & 1 and (oldest < 0 or g.joker_serial[index] < g.joker_serial[oldest]):
            oldest = index
    return oldest


@njit
def swap_jokers(g, a, b):
    """Exchanges two joker places."""
    g.joker_id[a], g.joker_id[b] = g.joker_id[b], g.joker_id[a]
    g.joker_edition[a], g.joker_edition[b] = g.joker_edition[b], g.joker_edition[a]
    g.joker_flags[a], g.joker_flags[b] = g.joker_flags[b], g.joker_flags[a]
    g.joker_perish[a], g.joker_perish[b] = g.joker_perish[b], g.joker_perish[a]
    g.joker_extra_value[a], g.joker_extra_value[b] = g.joker_extra_value[b], g.joker_extra_value[a]
    g.joker_serial[a], g.joker_serial[b] = g.joker_serial[b], g.joker_serial[a]
    g.joker_value[a], g.joker_value[b] = g.joker_value[b], g.joker_value[a]
    g.joker_counter[a], g.joker_counter[b] = g.joker_counter[b], g.joker_counter[a]


@njit
def _swap_consumables(g, a, b):
    g.consumable_id[a], g.consumable_id[b] = g.consumable_id[b], g.consumable_id[a]
    g.consumable_edition[a], g.consumable_edition[b] = g.consumable_edition[b], g.consumable_edition[a]
    g.consumable_extra_value[a], g.consumable_extra_value[b] = g.consumable_extra_value[b], g.consumable_extra_value[a]
    g.consumable_serial[a], g.consumable_serial[b] = g.consumable_serial[b], g.consumable_serial[a]


@njit
def keep_pinned_left(g):
    """A pinned joker (On a Knife's Edge) always lies at the left end."""
    for index in range(1, g.joker_count):
        if g.joker_flags[index] & PINNED:
            place = index
            while place > 0 and not g.joker_flags[place - 1] & PINNED:
                swap_jokers(g, place, place - 1)
                place -= 1


@njit
def move_joker_to(g, source, target):
    """Moves a joker to another place; those between shift by one."""
    step = 1 if target > source else -1
    for place in range(source, target, step):
        swap_jokers(g, place, place + step)
    keep_pinned_left(g)


@njit
def move_consumable_to(g, source, target):
    """Moves a consumable to another place."""
    step = 1 if target > source else -1
    for place in range(source, target, step):
        _swap_consumables(g, place, place + step)


@njit
def move_hand_card_to(g, source, target):
    """Moves a hand card to another position."""
    step = 1 if target > source else -1
    for place in range(source, target, step):
        g.hand[place], g.hand[place + step] = g.hand[place + step], g.hand[place]
