"""What Spectrals do. Those that put a seal on a chosen card are rows of the table (`change_chosen`)."""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import content
from jimbot.games.balatro.rules.bosses.blind import disable_blind, refresh_card
from jimbot.games.balatro.rules.chance.create import guaranteed_edition, make_joker
from jimbot.games.balatro.rules.chance.pools import SOUL, WRAITH
from jimbot.games.balatro.rules.chance.streams import pick, shuffle, stream_id
from jimbot.games.balatro.rules.consumables import card_changes
from jimbot.games.balatro.rules.inventory import copy_joker, doom, nth_joker, remove_doomed
from jimbot.games.balatro.rules.jokers import moments
from jimbot.games.balatro.rules.playing_cards.cards import add_card, copy_card, new_serial
from jimbot.games.balatro.rules.playing_cards.piles import nth_in_hand, put_in_hand
from jimbot.games.balatro.rules.state import ETERNAL, IN_HAND, SELECTING_HAND

(
    _FAMILIAR, _GRIM, _INCANTATION, _AURA, _WRAITH, _SIGIL, _OUIJA, _ECTOPLASM, _IMMOLATE, _ANKH, _HEX, _CRYPTID, _SOUL,
    _BLACK_HOLE,
) = (
    content.CONSUMABLES.id(f"c_{name}")
    for name in (
        "familiar", "grim", "incantation", "aura", "wraith", "sigil", "ouija", "ectoplasm", "immolate", "ankh", "hex",
        "cryptid", "soul", "black_hole",
    )
)  # fmt: skip
_CHICOT = content.JOKERS.id("j_chicot")
_FAMILIAR_CARDS, _GRIM_CARDS, _INCANTATION_CARDS = (
    card_changes.number_of(key, "extra") for key in ("c_familiar", "c_grim", "c_incantation")
)
_IMMOLATE_CARDS = card_changes.number_of("c_immolate", "extra", "destroy")
_IMMOLATE_DOLLARS = card_changes.number_of("c_immolate", "extra", "dollars")
_OUIJA_HAND_SIZE = card_changes.number_of("c_ouija", "hand_size")
_CRYPTID_COPIES = card_changes.number_of("c_cryptid", "extra")

_AURA_STREAM, _ECTOPLASM_STREAM, _HEX_STREAM = stream_id("aura"), stream_id("ectoplasm"), stream_id("hex")
_ANKH_STREAM, _IMMOLATE_STREAM, _DESTROY_STREAM = (
    stream_id("ankh_choice"),
    stream_id("immolate"),
    stream_id("random_destroy"),
)
_SIGIL_STREAM, _OUIJA_STREAM, _ENHANCEMENT_STREAM = stream_id("sigil"), stream_id("ouija"), stream_id("spe_card")
_FAMILIAR_STREAM, _GRIM_STREAM = stream_id("familiar_create"), stream_id("grim_create")
_INCANTATION_STREAM = stream_id("incantation_create")
# Spectrals list the suits as Spades, Hearts, Diamonds, Clubs, and every enhancement but Stone.
_SUIT_ORDER = np.array([0, 1, 3, 2], np.int64)
_ENHANCEMENT_ORDER = np.array(
    [content.BONUS, content.MULT, content.WILD, content.GLASS, content.STEEL, content.GOLD, content.LUCKY], np.int64
)
_HAND_COUNT = len(content.HANDS)


# --- the hand: destroying, creating, copying ---


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
    card_changes.destroy_listed(g, s, False)
    g.money += _IMMOLATE_DOLLARS


@njit
def _destroy_one(g, s):
    s.played_count = 1
    s.played[0] = nth_in_hand(g, pick(g, _DESTROY_STREAM, g.hand_count))
    card_changes.destroy_listed(g, s, False)


@njit
def _create_in_hand(g, rank, suit):
    """A new enhanced card in hand (Familiar, Grim, Incantation)."""
    enhancement = _ENHANCEMENT_ORDER[pick(g, _ENHANCEMENT_STREAM, len(_ENHANCEMENT_ORDER))]
    slot = add_card(g, rank, suit, enhancement, 0, 0, new_serial(g), IN_HAND)
    if slot >= 0:
        put_in_hand(g, slot)
        refresh_card(g, slot)


@njit
def _one_for_several(g, s, stream, lowest, ranks, cards):
    """Destroys a card and makes others of one of so many ranks; of a single one the stream says nothing."""
    _destroy_one(g, s)
    for _ in range(cards):
        rank = lowest
        if ranks > 1:
            rank += pick(g, stream, ranks)
        _create_in_hand(g, rank, _SUIT_ORDER[pick(g, stream, 4)])
    moments.card_added(g, s, cards)


@njit
def _cryptid(g, s, targets):
    slot = card_changes.only_chosen(g, targets)
    for _ in range(_CRYPTID_COPIES):
        copy = copy_card(g, slot, IN_HAND)
        if copy >= 0:
            put_in_hand(g, copy)
    moments.card_added(g, s, _CRYPTID_COPIES)


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
    g.hand_size -= _OUIJA_HAND_SIZE


# --- on jokers ---


@njit
def _ectoplasm(g):
    """Every use costs one more hand size than the last."""
    index = card_changes.pick_editionless_joker(g, _ECTOPLASM_STREAM)
    g.joker_edition[index] = content.NEGATIVE
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
    index = card_changes.pick_editionless_joker(g, _HEX_STREAM)
    g.joker_edition[index] = content.POLYCHROME
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
            copy_joker(g, index, 0 if edition == content.NEGATIVE else edition)
            return


@njit
def _the_soul(g):
    """A Chicot that comes during a boss disables it at once."""
    index = make_joker(g, SOUL, 4)
    if g.phase == SELECTING_HAND and index >= 0 and g.joker_id[index] == _CHICOT:
        disable_blind(g)


# --- use ---


@njit
def _use_hand_spectral(g, s, consumable, targets):
    if consumable == _FAMILIAR:
        _one_for_several(g, s, _FAMILIAR_STREAM, 11, 3, _FAMILIAR_CARDS)  # Jack, Queen, King
    elif consumable == _GRIM:
        _one_for_several(g, s, _GRIM_STREAM, 14, 1, _GRIM_CARDS)  # Aces
    elif consumable == _INCANTATION:
        _one_for_several(g, s, _INCANTATION_STREAM, 2, 9, _INCANTATION_CARDS)  # 2 to 10
    elif consumable == _AURA:
        g.card_edition[card_changes.only_chosen(g, targets)] = guaranteed_edition(g, _AURA_STREAM)
    elif consumable == _SIGIL:
        _sigil(g)
    elif consumable == _OUIJA:
        _ouija(g)
    elif consumable == _IMMOLATE:
        _immolate(g, s)
    elif consumable == _CRYPTID:
        _cryptid(g, s, targets)
    else:
        card_changes.change_chosen(g, consumable, targets)


@njit
def use_spectral(g, s, consumable, targets):
    """Runs a Spectral's effect."""
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
