"""Jokers that look at discards.

`place` is the card's position among the discarded ones in `s.played`; money goes to `s.dollars`.
"""

from __future__ import annotations

from jimbot.games.balatro.rules.inventory import doom
from jimbot.games.balatro.rules.jokers.registry import CHIPS, VALUE, X_MULT, MainRow, amount, define
from jimbot.games.balatro.rules.playing_cards import hands

_RAMEN_LOSS = amount("j_ramen", "extra")


def _ramen(g, s, i, copied, place):
    if not copied:
        g.joker_value[i] -= _RAMEN_LOSS
        if g.joker_value[i] <= 1:
            doom(g, i)


define("j_ramen", gives=MainRow(X_MULT, 1, VALUE), discard=_ramen)

_YORICK_CARDS = int(amount("j_yorick", "extra.discards"))
_YORICK_GAIN = amount("j_yorick", "extra.xmult")


def _yorick(g, s, i, copied, place):
    """Counts down discarded cards."""
    if not copied:
        g.joker_counter[i] -= 1
        if g.joker_counter[i] <= 0:
            g.joker_counter[i] = _YORICK_CARDS
            g.joker_value[i] += _YORICK_GAIN


define("j_yorick", gives=MainRow(X_MULT, 1, VALUE), discard=_yorick)

_TRADING_DOLLARS = int(amount("j_trading", "extra"))


def _trading_card(g, s, i, copied, place):
    """The round's first discard, if it is a single card, is destroyed for money; every Trading Card pays."""
    if g.discards_used == 0 and s.played_count == 1:
        s.destroyed |= 1
        s.dollars += _TRADING_DOLLARS


define("j_trading", discard=_trading_card)

_CASTLE_CHIPS = amount("j_castle", "extra.chip_mod")


def _castle(g, s, i, copied, place):
    if not copied and hands.is_suit(g, s, s.played[place], g.castle_suit):
        g.joker_value[i] += _CASTLE_CHIPS


define("j_castle", gives=MainRow(CHIPS, 1, VALUE), discard=_castle)

_MAIL_DOLLARS = int(amount("j_mail", "extra"))


def _mail_in_rebate(g, s, i, copied, place):
    slot = s.played[place]
    if not hands.is_debuffed(g, slot) and hands.rank_of(g, slot) == g.mail_rank:
        s.dollars += _MAIL_DOLLARS


define("j_mail", discard=_mail_in_rebate)

_ROAD_GAIN = amount("j_hit_the_road", "extra")


def _hit_the_road(g, s, i, copied, place):
    slot = s.played[place]
    if not copied and not hands.is_debuffed(g, slot) and hands.rank_of(g, slot) == 11:
        g.joker_value[i] += _ROAD_GAIN


def _end_of_the_road(g, s, i, copied):
    if not copied:
        g.joker_value[i] = 1.0


define("j_hit_the_road", gives=MainRow(X_MULT, 1, VALUE), discard=_hit_the_road, end_of_round=_end_of_the_road)

_FACELESS_COUNT = int(amount("j_faceless", "extra.faces"))
_FACELESS_DOLLARS = int(amount("j_faceless", "extra.dollars"))


def _faceless(g, s, i, copied, place):
    """Judged once, on the last card of the discard."""
    if place == s.played_count - 1:
        faces = 0
        for index in range(s.played_count):
            if hands.is_face(g, s, s.played[index]):
                faces += 1
        if faces >= _FACELESS_COUNT:
            s.dollars += _FACELESS_DOLLARS


define("j_faceless", discard=_faceless)


def _burnt(g, s, i, copied):
    """The first discard of a round raises the hand its cards form."""
    if g.discards_used == 0:
        hands.read_jokers(g, s)
        hands.detect_hand(g, s)
        g.hand_level[s.hand] += 1


define("j_burnt", pre_discard=_burnt)
