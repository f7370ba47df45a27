"""Tarots, Planets and Spectrals: when each may be used and what it does.

The regular ones are columns of the table: an enhancement, a suit or a seal put on the chosen hand cards, a poker hand
raised. The rest are small functions, one per card, at the end joined by `use_effect`.

A used card has left its slot when its effect runs, but its key is not free yet and a Negative one still lends its slot:
The Emperor cannot create itself, and a Negative Emperor finds room for one card in full slots.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jimbot.games.balatro import hooks
from jimbot.games.balatro.boss_effects import disable_blind
from jimbot.games.balatro.bosses import refresh_card
from jimbot.games.balatro.cards import add_card, copy_card, new_serial, remove_card, set_enhancement
from jimbot.games.balatro.compile import njit
from jimbot.games.balatro.content import (
    BONUS,
    CONSUMABLE_MAX_TARGETS,
    CONSUMABLE_MIN_TARGETS,
    CONSUMABLES,
    ENHANCEMENTS,
    FIRST_PLANET,
    FIRST_SPECTRAL,
    GLASS,
    GOLD,
    HANDS,
    JOKERS,
    LUCKY,
    MULT,
    NEGATIVE,
    PLANET_HAND,
    POLYCHROME,
    SEALS,
    STEEL,
    SUITS,
    WILD,
)
from jimbot.games.balatro.create import draw_planet, draw_tarot, guaranteed_edition, make_joker
from jimbot.games.balatro.inventory import (
    copy_joker,
    doom,
    give_consumable,
    has_consumable_room,
    has_joker_room,
    nth_joker,
    odds_numerator,
    remove_doomed,
)
from jimbot.games.balatro.piles import (
    count_chosen,
    is_chosen,
    leaves_out_forced_card,
    nth_in_hand,
    put_in_hand,
    take_from_hand,
)
from jimbot.games.balatro.pools import EMPEROR, HIGH_PRIESTESS, JUDGEMENT, SOUL, WRAITH
from jimbot.games.balatro.prices import joker_sell_value
from jimbot.games.balatro.state import ETERNAL, IN_HAND, PACK, SELECTING_HAND
from jimbot.games.balatro.streams import pick, roll, shuffle, stream_id


def _config(row: dict[str, Any], name: str) -> Any:
    return row.get("config", {}).get(name)


# By consumable id: what the regular ones put on the chosen cards; 0 or -1 for the others.
_ENHANCEMENT = CONSUMABLES.column(
    lambda row: ENHANCEMENTS.id(_config(row, "mod_conv")) if str(_config(row, "mod_conv")).startswith("m_") else 0,
    np.int64,
)
_SUIT = CONSUMABLES.column(
    lambda row: SUITS.index(_config(row, "suit_conv")) if _config(row, "suit_conv") else -1, np.int64
)
_SEAL = CONSUMABLES.column(
    lambda row: SEALS.id(_config(row, "extra")) if isinstance(_config(row, "extra"), str) else 0, np.int64
)
_CONDITIONS = (
    "always", "select", "select_editionless", "consumable_slot", "joker_slot", "editionless_joker", "any_joker",
    "hand_gt_1",
)  # fmt: skip
(
    _ALWAYS, _SELECT, _SELECT_EDITIONLESS, _CONSUMABLE_SLOT, _JOKER_SLOT, _EDITIONLESS_JOKER, _ANY_JOKER, _HAND,
) = range(len(_CONDITIONS))  # fmt: skip
_CONDITION = CONSUMABLES.column(lambda row: _CONDITIONS.index(row["condition"]), np.int64)

FOOL = CONSUMABLES.id("c_fool")
(
    _HIGH_PRIESTESS, _EMPEROR, _HERMIT, _WHEEL, _STRENGTH, _HANGED_MAN, _DEATH, _TEMPERANCE, _JUDGEMENT, _FAMILIAR,
    _GRIM, _INCANTATION, _AURA, _WRAITH, _SIGIL, _OUIJA, _ECTOPLASM, _IMMOLATE, _ANKH, _HEX, _CRYPTID, _SOUL,
    _BLACK_HOLE,
) = (
    CONSUMABLES.id(f"c_{name}")
    for name in (
        "high_priestess", "emperor", "hermit", "wheel_of_fortune", "strength", "hanged_man", "death", "temperance",
        "judgement", "familiar", "grim", "incantation", "aura", "wraith", "sigil", "ouija", "ectoplasm", "immolate",
        "ankh", "hex", "cryptid", "soul", "black_hole",
    )
)  # fmt: skip
_CHICOT = JOKERS.id("j_chicot")


def _number(key: str, *path: str) -> int:
    value = CONSUMABLES.row(key)["config"]
    for part in path:
        value = value[part]
    return int(value)


_PRIESTESS_CARDS, _EMPEROR_CARDS = _number("c_high_priestess", "planets"), _number("c_emperor", "tarots")
_HERMIT_MOST, _TEMPERANCE_MOST = _number("c_hermit", "extra"), _number("c_temperance", "extra")
_WHEEL_ODDS = _number("c_wheel_of_fortune", "extra")
_FAMILIAR_CARDS, _GRIM_CARDS, _INCANTATION_CARDS = (
    _number(key, "extra") for key in ("c_familiar", "c_grim", "c_incantation")
)
_IMMOLATE_CARDS, _IMMOLATE_DOLLARS = (
    _number("c_immolate", "extra", "destroy"),
    _number("c_immolate", "extra", "dollars"),
)
_CRYPTID_COPIES = _number("c_cryptid", "extra")

_WHEEL_STREAM, _AURA_STREAM, _ECTOPLASM_STREAM = (
    stream_id("wheel_of_fortune"),
    stream_id("aura"),
    stream_id("ectoplasm"),
)
_HEX_STREAM, _ANKH_STREAM, _IMMOLATE_STREAM = stream_id("hex"), stream_id("ankh_choice"), stream_id("immolate")
_SIGIL_STREAM, _OUIJA_STREAM, _DESTROY_STREAM = stream_id("sigil"), stream_id("ouija"), stream_id("random_destroy")
_FAMILIAR_STREAM, _GRIM_STREAM = stream_id("familiar_create"), stream_id("grim_create")
_INCANTATION_STREAM, _ENHANCEMENT_STREAM = stream_id("incantation_create"), stream_id("spe_card")
# Spectrals list the suits as Spades, Hearts, Diamonds, Clubs, and every enhancement but Stone.
_SUIT_ORDER = np.array([0, 1, 3, 2], np.int64)
_ENHANCEMENT_ORDER = np.array([BONUS, MULT, WILD, GLASS, STEEL, GOLD, LUCKY], np.int64)
_HAND_COUNT = len(HANDS)


# --- conditions ---


@njit
def _has_editionless_joker(g):
    for index in range(g.joker_count):
        if g.joker_edition[index] == 0:
            return True
    return False


@njit
def _targets_fit(g, consumable, targets):
    count = count_chosen(g, targets)
    if count < CONSUMABLE_MIN_TARGETS[consumable] or count > CONSUMABLE_MAX_TARGETS[consumable]:
        return False
    return not leaves_out_forced_card(g, targets)


@njit
def _only_chosen(g, targets):
    for place in range(g.hand_count):
        if is_chosen(targets, place):
            return g.hand[place]
    return -1


@njit
def can_use(g, consumable, targets, held):
    """Whether a consumable may be used on the chosen hand cards; `held`: it lies in a slot of its own.

    Cards without targets need an empty choice.
    """
    condition = _CONDITION[consumable]
    if condition == _SELECT or condition == _SELECT_EDITIONLESS or condition == _HAND:
        if g.phase != SELECTING_HAND and g.phase != PACK:
            return False
        if condition == _HAND:
            return g.hand_count > 1 and targets == 0
        if not _targets_fit(g, consumable, targets):
            return False
        return condition == _SELECT or g.card_edition[_only_chosen(g, targets)] == 0
    if targets != 0:
        return False
    if condition == _CONSUMABLE_SLOT:
        if consumable == FOOL and (g.last_tarot_planet < 0 or g.last_tarot_planet == FOOL):
            return False
        return held or has_consumable_room(g)
    if condition == _JOKER_SLOT:
        return has_joker_room(g)
    if condition == _EDITIONLESS_JOKER:
        return _has_editionless_joker(g)
    if condition == _ANY_JOKER:
        return g.joker_count > 0 and g.joker_slots > 1
    return True


# --- on chosen hand cards ---


@njit
def _change_chosen(g, consumable, targets):
    """Puts the card's enhancement, suit or seal on every chosen card."""
    for place in range(g.hand_count):
        if is_chosen(targets, place):
            slot = g.hand[place]
            if _ENHANCEMENT[consumable] > 0:
                set_enhancement(g, slot, _ENHANCEMENT[consumable])
            elif _SUIT[consumable] >= 0:
                g.card_suit[slot] = _SUIT[consumable]
            elif _SEAL[consumable] > 0:
                g.card_seal[slot] = _SEAL[consumable]
            refresh_card(g, slot)


@njit
def _strength(g, targets):
    for place in range(g.hand_count):
        if is_chosen(targets, place):
            slot = g.hand[place]
            g.card_rank[slot] = 2 if g.card_rank[slot] == 14 else g.card_rank[slot] + 1
            refresh_card(g, slot)


@njit
def _death(g, targets):
    """The left card becomes the right one; it keeps its age and the suit it was created with."""
    left, right = -1, -1
    for place in range(g.hand_count):
        if is_chosen(targets, place):
            left, right = right, np.int64(g.hand[place])
    g.card_rank[left] = g.card_rank[right]
    g.card_suit[left] = g.card_suit[right]
    set_enhancement(g, left, g.card_enhancement[right])
    g.card_edition[left] = g.card_edition[right]
    g.card_seal[left] = g.card_seal[right]
    g.card_extra_chips[left] = g.card_extra_chips[right]
    refresh_card(g, left)


@njit
def _cryptid(g, s, targets):
    slot = _only_chosen(g, targets)
    for _ in range(_CRYPTID_COPIES):
        copy = copy_card(g, slot, IN_HAND)
        if copy >= 0:
            put_in_hand(g, copy)
    hooks.card_added(g, s, _CRYPTID_COPIES)


# --- destroying hand cards ---


@njit
def _destroy_marked(g, s, glass_counts):
    """Destroys the hand cards listed in `s.played`; jokers see them all at once."""
    s.destroyed = (1 << s.played_count) - 1
    s.glass_counts = glass_counts
    hooks.cards_removed(g, s)
    for place in range(s.played_count):
        take_from_hand(g, s.played[place])
        remove_card(g, s.played[place])


@njit
def _hanged_man(g, s, targets):
    s.played_count = 0
    for place in range(g.hand_count):
        if is_chosen(targets, place):
            s.played[s.played_count] = g.hand[place]
            s.played_count += 1
    _destroy_marked(g, s, True)


@njit
def _immolate(g, s):
    # The hand is shuffled in the space above the undrawn pile: pile and hand together never exceed the cards owned.
    space = g.pile[g.pile_count :]
    for number in range(g.hand_count):
        space[number] = nth_in_hand(g, number)
    shuffle(g, _IMMOLATE_STREAM, space, g.hand_count)
    s.played_count = min(_IMMOLATE_CARDS, g.hand_count)
    for place in range(s.played_count):
        s.played[place] = space[place]
    _destroy_marked(g, s, False)
    g.money += _IMMOLATE_DOLLARS


@njit
def _destroy_one(g, s):
    s.played_count = 1
    s.played[0] = nth_in_hand(g, pick(g, _DESTROY_STREAM, g.hand_count))
    _destroy_marked(g, s, False)


@njit
def _create_in_hand(g, rank, suit):
    """A new enhanced card in hand (Familiar, Grim, Incantation)."""
    enhancement = _ENHANCEMENT_ORDER[pick(g, _ENHANCEMENT_STREAM, 7)]
    slot = add_card(g, rank, suit, enhancement, 0, 0, new_serial(g), IN_HAND)
    if slot >= 0:
        put_in_hand(g, slot)
        refresh_card(g, slot)


@njit
def _familiar(g, s):
    _destroy_one(g, s)
    for _ in range(_FAMILIAR_CARDS):
        rank = 11 + pick(g, _FAMILIAR_STREAM, 3)
        _create_in_hand(g, rank, _SUIT_ORDER[pick(g, _FAMILIAR_STREAM, 4)])
    hooks.card_added(g, s, _FAMILIAR_CARDS)


@njit
def _grim(g, s):
    _destroy_one(g, s)
    for _ in range(_GRIM_CARDS):
        _create_in_hand(g, 14, _SUIT_ORDER[pick(g, _GRIM_STREAM, 4)])
    hooks.card_added(g, s, _GRIM_CARDS)


@njit
def _incantation(g, s):
    _destroy_one(g, s)
    for _ in range(_INCANTATION_CARDS):
        rank = 2 + pick(g, _INCANTATION_STREAM, 9)
        _create_in_hand(g, rank, _SUIT_ORDER[pick(g, _INCANTATION_STREAM, 4)])
    hooks.card_added(g, s, _INCANTATION_CARDS)


# --- on the whole hand ---


@njit
def _sigil(g):
    suit = _SUIT_ORDER[pick(g, _SIGIL_STREAM, 4)]
    for place in range(g.hand_count):
        g.card_suit[g.hand[place]] = suit
        refresh_card(g, g.hand[place])


@njit
def _ouija(g):
    rank = 2 + pick(g, _OUIJA_STREAM, 13)
    for place in range(g.hand_count):
        g.card_rank[g.hand[place]] = rank
        refresh_card(g, g.hand[place])
    g.hand_size -= 1


# --- on jokers ---


@njit
def _pick_editionless_joker(g, stream):
    """The place of a random joker without edition, debuffed or not."""
    wanted = 0
    count = 0
    for index in range(g.joker_count):
        if g.joker_edition[index] == 0:
            wanted |= 1 << index
            count += 1
    return nth_joker(g, pick(g, stream, count), wanted)


@njit
def _wheel_of_fortune(g):
    """Odds, joker and edition come from one stream in this order."""
    if roll(g, _WHEEL_STREAM) < odds_numerator(g) / _WHEEL_ODDS:
        index = _pick_editionless_joker(g, _WHEEL_STREAM)
        g.joker_edition[index] = guaranteed_edition(g, _WHEEL_STREAM)


@njit
def _ectoplasm(g):
    """Every use costs one more hand size than the last."""
    index = _pick_editionless_joker(g, _ECTOPLASM_STREAM)
    g.joker_edition[index] = NEGATIVE
    g.joker_slots += 1
    g.ectoplasm_uses += 1
    g.hand_size -= g.ectoplasm_uses


@njit
def _destroy_other_jokers(g, kept):
    for index in range(g.joker_count):
        if index != kept and not g.joker_flags[index] & ETERNAL:
            doom(g, index)


@njit
def _hex(g):
    index = _pick_editionless_joker(g, _HEX_STREAM)
    g.joker_edition[index] = POLYCHROME
    _destroy_other_jokers(g, index)
    remove_doomed(g)


@njit
def _ankh(g):
    """The copy needs no free slot; the chosen joker may have moved left when the others went."""
    everyone = (1 << g.joker_count) - 1
    chosen = nth_joker(g, pick(g, _ANKH_STREAM, g.joker_count), everyone)
    serial = g.joker_serial[chosen]
    edition = g.joker_edition[chosen]
    _destroy_other_jokers(g, chosen)
    remove_doomed(g)
    for index in range(g.joker_count):
        if g.joker_serial[index] == serial:
            copy_joker(g, index, 0 if edition == NEGATIVE else edition)
            return


@njit
def _the_soul(g):
    """A Chicot that comes during a boss disables it at once."""
    index = make_joker(g, SOUL, 4)
    if g.phase == SELECTING_HAND and index >= 0 and g.joker_id[index] == _CHICOT:
        disable_blind(g)


# --- creation and money ---


@njit
def _fool(g):
    if has_consumable_room(g):
        give_consumable(g, np.int64(g.last_tarot_planet))


@njit
def _create_planets(g):
    for _ in range(_PRIESTESS_CARDS):
        if has_consumable_room(g):
            give_consumable(g, draw_planet(g, HIGH_PRIESTESS))


@njit
def _create_tarots(g):
    for _ in range(_EMPEROR_CARDS):
        if has_consumable_room(g):
            give_consumable(g, draw_tarot(g, EMPEROR))


@njit
def _temperance(g):
    total = 0
    for index in range(g.joker_count):
        total += joker_sell_value(g, index)
    g.money += min(_TEMPERANCE_MOST, total)


# --- use ---


@njit
def _use_tarot(g, s, consumable, targets):
    if consumable == FOOL:
        _fool(g)
    elif consumable == _HIGH_PRIESTESS:
        _create_planets(g)
    elif consumable == _EMPEROR:
        _create_tarots(g)
    elif consumable == _HERMIT:
        g.money += max(0, min(g.money, _HERMIT_MOST))
    elif consumable == _WHEEL:
        _wheel_of_fortune(g)
    elif consumable == _STRENGTH:
        _strength(g, targets)
    elif consumable == _HANGED_MAN:
        _hanged_man(g, s, targets)
    elif consumable == _DEATH:
        _death(g, targets)
    elif consumable == _TEMPERANCE:
        _temperance(g)
    elif consumable == _JUDGEMENT:
        make_joker(g, JUDGEMENT, 0)
    else:
        _change_chosen(g, consumable, targets)


@njit
def _use_hand_spectral(g, s, consumable, targets):
    if consumable == _FAMILIAR:
        _familiar(g, s)
    elif consumable == _GRIM:
        _grim(g, s)
    elif consumable == _INCANTATION:
        _incantation(g, s)
    elif consumable == _AURA:
        g.card_edition[_only_chosen(g, targets)] = guaranteed_edition(g, _AURA_STREAM)
    elif consumable == _SIGIL:
        _sigil(g)
    elif consumable == _OUIJA:
        _ouija(g)
    elif consumable == _IMMOLATE:
        _immolate(g, s)
    elif consumable == _CRYPTID:
        _cryptid(g, s, targets)
    else:
        _change_chosen(g, consumable, targets)


@njit
def _use_spectral(g, s, consumable, targets):
    if consumable == _WRAITH:
        make_joker(g, WRAITH, 3)
        g.money = 0
    elif consumable == _ECTOPLASM:
        _ectoplasm(g)
    elif consumable == _ANKH:
        _ankh(g)
    elif consumable == _HEX:
        _hex(g)
    elif consumable == _SOUL:
        _the_soul(g)
    elif consumable == _BLACK_HOLE:
        for hand in range(_HAND_COUNT):
            g.hand_level[hand] += 1
    else:
        _use_hand_spectral(g, s, consumable, targets)


@njit
def use_effect(g, s, consumable, targets):
    """Runs a consumable's effect and counts its use; the caller has checked `can_use` and taken the card away."""
    if consumable < FIRST_PLANET:
        _use_tarot(g, s, consumable, targets)
        g.tarots_used += 1
        g.last_tarot_planet = consumable
    elif consumable < FIRST_SPECTRAL:
        g.hand_level[PLANET_HAND[consumable]] += 1
        g.planets_used |= 1 << (consumable - FIRST_PLANET)
        g.last_tarot_planet = consumable
    else:
        _use_spectral(g, s, consumable, targets)
    hooks.using_consumable(g, s, consumable)
