"""All 28 boss blinds in the order of the table, each with everything it does; see `registry.py` for how to read them.

Bosses read cards without regard to their debuff: a debuffed King is a face card to The Plant.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import inventory, state
from jimbot.games.balatro.rules.bosses.registry import define, number
from jimbot.games.balatro.rules.chance.pools import count_active
from jimbot.games.balatro.rules.chance.streams import draw, pick, roll, shuffle, stream_id
from jimbot.games.balatro.rules.content import BLIND_DEBUFF_SUIT, BLINDS, JOKERS, STONE, WILD
from jimbot.games.balatro.rules.inventory import keep_pinned_left, swap_jokers
from jimbot.games.balatro.rules.playing_cards import piles

_SMEARED, _PAREIDOLIA = JOKERS.id("j_smeared"), JOKERS.id("j_pareidolia")


@njit
def _round_has_begun(g):
    return g.hands_played_round > 0 or g.discards_used > 0


@njit
def is_face_to_boss(g, slot):
    """The face test of bosses."""
    if g.card_enhancement[slot] != STONE and g.card_rank[slot] >= 11 and g.card_rank[slot] <= 13:
        return True
    return count_active(g, _PAREIDOLIA) > 0


def _card_of_its_suit(g, slot):
    """The suit is the table's."""
    enhancement = g.card_enhancement[slot]
    suit = BLIND_DEBUFF_SUIT[g.blind]
    if enhancement == STONE:
        return False
    if enhancement == WILD or g.card_suit[slot] == suit:
        return True
    # Suits are Spades, Hearts, Clubs, Diamonds: black ones are even, red ones odd.
    return g.card_suit[slot] % 2 == suit % 2 and count_active(g, _SMEARED) > 0


# --- The Hook ---

_HOOK_STREAM, _HOOK_CARDS = stream_id("hook"), number("bl_hook", "cards")


def _hook(g, s):
    """Two random held cards; when a hand is only tried out, which is unknown."""
    targets = np.uint64(0)
    if s.certain:
        return targets
    for taken in range(min(_HOOK_CARDS, g.hand_count)):
        slot = piles.nth_in_hand(g, pick(g, _HOOK_STREAM, g.hand_count - taken))
        g.card_place[slot] = state.ON_TABLE  # the second pick does not see the first
        for place in range(g.hand_count):
            if g.hand[place] == slot:
                targets |= np.uint64(1) << np.uint64(place)
    return targets


define("bl_hook", takes_cards=_hook)

# --- The Ox ---


def _ox(g, s):
    """Takes all money for the poker hand that was played most when the last boss was beaten."""
    if s.hand == g.most_played_hand:
        g.money = 0
        g.blind_triggered = True


define("bl_ox", before_scoring=_ox)

# --- The House ---


def _house(g, slot):
    return not _round_has_begun(g)


define("bl_house", turns_down=_house, on_disable=piles.turn_hand_up)

# --- The Wall ---

_WALL_DIVISOR = number("bl_wall", "disabled_divisor")


def _wall_disabled(g):
    g.requirement /= _WALL_DIVISOR


define("bl_wall", on_disable=_wall_disabled)

# --- The Wheel ---

_WHEEL_STREAM, _WHEEL_ODDS = stream_id("wheel"), number("bl_wheel", "odds")


def _wheel(g, slot):
    return roll(g, _WHEEL_STREAM) < inventory.odds_numerator(g) / _WHEEL_ODDS


define("bl_wheel", turns_down=_wheel, on_disable=piles.turn_hand_up)

# --- The Arm ---


def _arm(g, s):
    """Lowers the level of the poker hand played."""
    if g.hand_level[s.hand] > 1:
        g.hand_level[s.hand] -= 1
        g.blind_triggered = True


define("bl_arm", before_scoring=_arm)

# --- The Club ---

define("bl_club", debuffs=_card_of_its_suit)

# --- The Fish ---


def _fish_played(g, s):
    g.blind_primed = True


def _fish(g, slot):
    """Cards drawn after a play; those after a discard lie face up."""
    return g.blind_primed


define("bl_fish", on_play=_fish_played, turns_down=_fish, on_disable=piles.turn_hand_up)

# --- The Psychic ---

_PSYCHIC_CARDS = BLINDS.row("bl_psychic")["debuff"]["h_size_ge"]


def _psychic(g, hand, count):
    return count < _PSYCHIC_CARDS


define("bl_psychic", "counts_cards", vetoes=_psychic)

# --- The Goad ---

define("bl_goad", debuffs=_card_of_its_suit)

# --- The Water ---


def _water(g, s):
    g.blind_took_discards = g.discards_left
    g.discards_left = 0


def _water_disabled(g):
    g.discards_left += g.blind_took_discards


define("bl_water", set_up=_water, on_disable=_water_disabled)

# --- The Window ---

define("bl_window", debuffs=_card_of_its_suit)

# --- The Manacle ---

_MANACLE_CARDS = number("bl_manacle", "hand_size")


def _manacle(g, s):
    g.round_hand_size -= _MANACLE_CARDS


def _manacle_disabled(g):
    """The card itself is drawn by `disable_blind`."""
    g.round_hand_size += _MANACLE_CARDS


define("bl_manacle", set_up=_manacle, on_disable=_manacle_disabled)

# --- The Eye ---


def _eye(g, hand, count):
    return g.eye_used >> hand & 1 != 0


def _eye_remembers(g, s):
    g.eye_used |= 1 << s.hand


define("bl_eye", vetoes=_eye, before_scoring=_eye_remembers)

# --- The Mouth ---


def _mouth(g, hand, count):
    return g.mouth_hand >= 0 and g.mouth_hand != hand


def _mouth_remembers(g, s):
    g.mouth_hand = s.hand


define("bl_mouth", vetoes=_mouth, before_scoring=_mouth_remembers)

# --- The Plant ---

define("bl_plant", debuffs=is_face_to_boss)

# --- The Serpent ---

_SERPENT_CARDS = number("bl_serpent", "cards")


def _serpent(g, missing):
    """Exactly three once the round has begun, whatever the hand size."""
    return _SERPENT_CARDS if _round_has_begun(g) else missing


define("bl_serpent", draws=_serpent)

# --- The Pillar ---


def _pillar(g, slot):
    return (g.card_flags[slot] & state.CARD_PLAYED_THIS_ANTE) != 0


define("bl_pillar", debuffs=_pillar)

# --- The Needle ---

_NEEDLE_HANDS = number("bl_needle", "hands")


def _needle(g, s):
    g.blind_took_hands = g.hands_per_round - _NEEDLE_HANDS
    g.hands_left -= g.blind_took_hands


def _needle_disabled(g):
    g.hands_left += g.blind_took_hands


define("bl_needle", set_up=_needle, on_disable=_needle_disabled)

# --- The Head ---

define("bl_head", debuffs=_card_of_its_suit)

# --- The Tooth ---

_TOOTH_DOLLARS = number("bl_tooth", "dollars_per_card")


def _tooth(g, s):
    g.money -= _TOOTH_DOLLARS * s.played_count


define("bl_tooth", "counts_cards", on_play=_tooth)

# --- The Flint ---

_FLINT_DIVISOR = number("bl_flint", "divisor")


def _flint(g, s):
    """Halves chips and Mult of the poker hand, rounded half up."""
    s.chips = max(0.0, np.floor(s.chips / _FLINT_DIVISOR + 0.5))
    s.mult = max(1.0, np.floor(s.mult / _FLINT_DIVISOR + 0.5))
    g.blind_triggered = True


define("bl_flint", on_base=_flint)

# --- The Mark ---

define("bl_mark", "turns_faces_down", turns_down=is_face_to_boss, on_disable=piles.turn_hand_up)

# --- Amber Acorn ---

_ACORN_STREAM = stream_id("aajk")


@njit
def _shuffle_jokers(g, s):
    """Three shuffles. Each starts from the order of age, so only the last one shows."""
    draw(g, _ACORN_STREAM)
    draw(g, _ACORN_STREAM)
    order = s.acts_as  # serials for now; nothing else needs this space outside of a phase
    for index in range(g.joker_count):
        serial = g.joker_serial[index]
        place = index
        while place > 0 and order[place - 1] > serial:
            order[place] = order[place - 1]
            place -= 1
        order[place] = serial
    shuffle(g, _ACORN_STREAM, order, g.joker_count)
    for place in range(g.joker_count):
        index = place
        while g.joker_serial[index] != order[place]:
            index += 1
        if index != place:
            swap_jokers(g, place, index)
    keep_pinned_left(g)


def _acorn(g, s):
    for index in range(g.joker_count):
        g.joker_flags[index] |= state.FACE_DOWN
    if g.joker_count > 1:
        _shuffle_jokers(g, s)


define("bl_final_acorn", set_up=_acorn, on_disable=inventory.turn_jokers_up)

# --- Verdant Leaf ---


def _leaf(g, slot):
    return True


define("bl_final_leaf", "gives_up_at_sale", debuffs=_leaf)

# --- Violet Vessel ---

_VESSEL_DIVISOR = number("bl_final_vessel", "disabled_divisor")


def _vessel_disabled(g):
    g.requirement /= _VESSEL_DIVISOR


define("bl_final_vessel", on_disable=_vessel_disabled)

# --- Crimson Heart ---

_HEART_STREAM = stream_id("crimson_heart")


def _heart_wants_a_joker(g, s):
    g.blind_primed = True


def _heart_lets_go(g):
    """Revives all jokers; of two or more the one debuffed so far is spared."""
    jokers = 0
    if g.blind_primed:
        for index in range(g.joker_count):
            if g.joker_count < 2 or not g.joker_flags[index] & state.DEBUFFED:
                jokers |= 1 << index
        if g.joker_count > 0:
            inventory.revive_jokers(g)
    return jokers


def _heart_seizes(g, jokers):
    """Debuffs one joker until the next hand is played."""
    if not g.blind_primed or g.joker_count == 0:
        return
    if jokers == 0:
        draw(g, _HEART_STREAM)  # the stream moves on although no joker can be chosen
    else:
        inventory.set_joker_debuff(
            g, inventory.nth_joker(g, pick(g, _HEART_STREAM, piles.count_bits(jokers)), jokers), True
        )


define(
    "bl_final_heart",
    set_up=_heart_wants_a_joker,
    on_play=_heart_wants_a_joker,
    lets_go=_heart_lets_go,
    seizes=_heart_seizes,
)

# --- Cerulean Bell ---

_BELL_STREAM = stream_id("cerulean_bell")


def _bell(g, jokers):
    """One card of the hand has to be part of every choice."""
    if g.hand_count > 0 and not piles.has_forced_card(g):
        slot = piles.nth_in_hand(g, pick(g, _BELL_STREAM, g.hand_count))
        g.card_flags[slot] |= state.CARD_FORCED


define("bl_final_bell", seizes=_bell, on_disable=piles.clear_forced_cards)
