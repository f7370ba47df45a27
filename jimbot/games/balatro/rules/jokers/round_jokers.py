"""Jokers that act as a round begins or ends, or on its first hand."""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.bosses.blind import disable_blind, is_boss_round, refresh_card
from jimbot.games.balatro.rules.chance.create import draw_front, draw_spectral, draw_tarot, make_joker, roll_seal
from jimbot.games.balatro.rules.chance.pools import CARTOMANCER, RIFF_RAFF, SIXTH_SENSE
from jimbot.games.balatro.rules.chance.streams import pick, stream_id
from jimbot.games.balatro.rules.content import STONE
from jimbot.games.balatro.rules.inventory import doom, give_consumable, has_consumable_room, nth_joker
from jimbot.games.balatro.rules.jokers.registry import MULT, VALUE, X_MULT, MainRow, amount, define
from jimbot.games.balatro.rules.playing_cards.cards import add_card, copy_card, new_serial
from jimbot.games.balatro.rules.playing_cards.hands import rank_of
from jimbot.games.balatro.rules.playing_cards.piles import put_in_hand, sort_hand
from jimbot.games.balatro.rules.shop.prices import joker_sell_value
from jimbot.games.balatro.rules.state import DOOMED, ETERNAL, IN_DECK, IN_HAND

# --- when a blind is selected ---


@njit
def clear_promises(s):
    """Before the jokers' turns: nothing is promised yet."""
    s.jokers_promised = 0
    s.jokers_sliced = 0
    s.boss_to_disable = False


@njit
def keep_promises(g, s):
    """After the jokers' turns: Riff-raff's jokers come while doomed ones still exist to the pools, then Chicot acts."""
    for _ in range(s.jokers_promised):
        make_joker(g, RIFF_RAFF, 1)
    if s.boss_to_disable:
        disable_blind(g)


def _chicot(g, s, i, copied):
    """The boss gives back what it took when all jokers had their turn: Burglar cannot take The Water's discards."""
    s.boss_to_disable = is_boss_round(g)


define("j_chicot", setting_blind=_chicot)

_MADNESS_GAIN = amount("j_madness", "extra")
_MADNESS_STREAM = stream_id("madness")


def _madness(g, s, i, copied):
    """Grows at Small and Big Blinds and takes another joker with it."""
    if copied or is_boss_round(g):
        return
    g.joker_value[i] += _MADNESS_GAIN
    wanted = 0
    count = 0
    for other in range(g.joker_count):
        if other != i and not g.joker_flags[other] & (ETERNAL | DOOMED):
            wanted |= 1 << other
            count += 1
    if count > 0:
        doom(g, nth_joker(g, pick(g, _MADNESS_STREAM, count), wanted))


define("j_madness", setting_blind=_madness, gives=MainRow(X_MULT, 1, VALUE))

_BURGLAR_HANDS = int(amount("j_burglar", "extra"))


def _burglar(g, s, i, copied):
    g.hands_left += _BURGLAR_HANDS
    g.discards_left = 0


define("j_burglar", setting_blind=_burglar)

_RIFF_RAFF_JOKERS = int(amount("j_riff_raff", "extra"))


def _riff_raff(g, s, i, copied):
    """Promises Common jokers while there is room; they come when all jokers had their turn."""
    room = g.joker_slots - g.joker_count - s.jokers_promised + s.jokers_sliced
    s.jokers_promised += max(0, min(_RIFF_RAFF_JOKERS, room))


define("j_riff_raff", setting_blind=_riff_raff)


def _cartomancer(g, s, i, copied):
    if has_consumable_room(g):
        give_consumable(g, draw_tarot(g, CARTOMANCER))


define("j_cartomancer", setting_blind=_cartomancer)

_DAGGER_TIMES = amount("j_ceremonial", "times_sell_value")


def _ceremonial_dagger(g, s, i, copied):
    """Destroys its right neighbour and keeps twice its sell value as Mult. Riff-raff may use the slot at once."""
    victim = i + 1
    if copied or victim >= g.joker_count or g.joker_flags[victim] & (ETERNAL | DOOMED):
        return
    g.joker_value[i] += _DAGGER_TIMES * joker_sell_value(g, victim)
    doom(g, victim)
    s.jokers_sliced += 1


define("j_ceremonial", setting_blind=_ceremonial_dagger, gives=MainRow(MULT, 1, VALUE))

_MARBLE_STREAM = stream_id("marb_fr")


def _marble(g, s, i, copied):
    """A Stone Card joins the deck before the round's shuffle."""
    rank, suit = draw_front(g, _MARBLE_STREAM)
    slot = add_card(g, rank, suit, STONE, 0, 0, new_serial(g), IN_DECK)
    if slot >= 0:
        refresh_card(g, slot)
        s.cards_added += 1


define("j_marble", setting_blind=_marble)

# --- the first hand ---

_CERTIFICATE_FRONT, _CERTIFICATE_SEAL = stream_id("cert_fr"), stream_id("certsl")


def _certificate(g, s, i, copied):
    """A card with a seal joins hand and deck after the first draw."""
    rank, suit = draw_front(g, _CERTIFICATE_FRONT)
    seal = roll_seal(g, _CERTIFICATE_SEAL)
    slot = add_card(g, rank, suit, 0, 0, seal, new_serial(g), IN_HAND)
    if slot >= 0:
        put_in_hand(g, slot)
        refresh_card(g, slot)
        sort_hand(g)
        s.cards_added += 1


define("j_certificate", first_hand_drawn=_certificate)


def _dna(g, s, i, copied):
    """A single card played as the round's first hand is copied into the hand before it scores, debuff included."""
    if g.hands_played_round == 0 and s.played_count == 1:
        slot = copy_card(g, s.played[0], IN_HAND)
        if slot >= 0:
            put_in_hand(g, slot)
            s.cards_added += 1


define("j_dna", before=_dna)


def _sixth_sense(g, s, i, copied, slot):
    """A single 6 played as the round's first hand is destroyed for a Spectral; without room for nothing."""
    if g.hands_played_round == 0 and s.played_count == 1 and s.destroyed == 0 and rank_of(g, slot) == 6:
        s.destroyed |= 1
        if has_consumable_room(g):
            give_consumable(g, draw_spectral(g, SIXTH_SENSE))


define("j_sixth_sense", destroy_check=_sixth_sense)

# --- the round's end ---

_SAVED_AT = amount("j_mr_bones", "saved_at")


def _mr_bones(g, s, i, copied):
    """Saves the run once a quarter of the requirement was reached."""
    if not copied and not g.saved_by_bones and g.score < g.requirement and g.score / g.requirement >= _SAVED_AT:
        g.saved_by_bones = True
        doom(g, i)


define("j_mr_bones", end_of_round=_mr_bones)
