"""Jokers that look at single cards: scored ones, held ones, and those that trigger cards again."""

from __future__ import annotations

from jimbot.games.balatro.rules.chance.create import draw_tarot
from jimbot.games.balatro.rules.chance.pools import EIGHT_BALL
from jimbot.games.balatro.rules.chance.streams import stream_id
from jimbot.games.balatro.rules.content import GOLD, RANK_CHIPS, SUITS
from jimbot.games.balatro.rules.inventory import doom, give_consumable, has_consumable_room
from jimbot.games.balatro.rules.jokers import registry
from jimbot.games.balatro.rules.jokers.evaluate import chance
from jimbot.games.balatro.rules.playing_cards.hands import is_debuffed, is_face, rank_of

_SPADES, _HEARTS, _CLUBS, _DIAMONDS = range(len(SUITS))
_QUEEN, _KING, _ACE = 12, 13, 14

# --- by suit ---
registry.define("j_greedy_joker", scores=registry.CardRow(registry.SUIT, _DIAMONDS, mult="extra.s_mult"))
registry.define("j_lusty_joker", scores=registry.CardRow(registry.SUIT, _HEARTS, mult="extra.s_mult"))
registry.define("j_wrathful_joker", scores=registry.CardRow(registry.SUIT, _SPADES, mult="extra.s_mult"))
registry.define("j_gluttenous_joker", scores=registry.CardRow(registry.SUIT, _CLUBS, mult="extra.s_mult"))
registry.define("j_rough_gem", scores=registry.CardRow(registry.SUIT, _DIAMONDS, dollars="extra"))
registry.define(
    "j_bloodstone",
    scores=registry.CardRow(
        registry.SUIT, _HEARTS, x_mult="extra.Xmult", stream=stream_id("bloodstone"), odds="extra.odds"
    ),
)
registry.define("j_arrowhead", scores=registry.CardRow(registry.SUIT, _SPADES, chips="extra"))
registry.define("j_onyx_agate", scores=registry.CardRow(registry.SUIT, _CLUBS, mult="extra"))
registry.define("j_ancient", scores=registry.CardRow(registry.ANCIENT_SUIT, x_mult="extra"))
registry.define("j_idol", scores=registry.CardRow(registry.IDOL, x_mult="extra"))

# --- by rank ---
registry.define("j_fibonacci", scores=registry.CardRow(registry.RANKS, registry.ranks(_ACE, 2, 3, 5, 8), mult="extra"))
registry.define("j_even_steven", scores=registry.CardRow(registry.RANKS, registry.ranks(2, 4, 6, 8, 10), mult="extra"))
registry.define("j_odd_todd", scores=registry.CardRow(registry.RANKS, registry.ranks(_ACE, 3, 5, 7, 9), chips="extra"))
registry.define(
    "j_scholar", scores=registry.CardRow(registry.RANKS, registry.ranks(_ACE), chips="extra.chips", mult="extra.mult")
)
registry.define(
    "j_walkie_talkie",
    scores=registry.CardRow(registry.RANKS, registry.ranks(10, 4), chips="extra.chips", mult="extra.mult"),
)
registry.define("j_triboulet", scores=registry.CardRow(registry.RANKS, registry.ranks(_KING, _QUEEN), x_mult="extra"))

# --- face cards ---
registry.define("j_scary_face", scores=registry.CardRow(registry.FACE, chips="extra"))
registry.define("j_smiley", scores=registry.CardRow(registry.FACE, mult="extra"))
registry.define("j_photograph", scores=registry.CardRow(registry.FIRST_FACE, x_mult="extra"))
registry.define(
    "j_business", scores=registry.CardRow(registry.FACE, dollars="extra", stream=stream_id("business"), odds=2)
)

# --- by enhancement ---
registry.define("j_ticket", scores=registry.CardRow(registry.ENHANCEMENT, GOLD, dollars="extra"))


# --- those that change something when a card scores ---

_EIGHT_BALL_STREAM = stream_id("8ball")
_EIGHT_BALL_ODDS = registry.amount("j_8_ball", "extra")


def _eight_ball(g, s, i, copied, slot):
    """A scored 8 may create a Tarot; without room not even the chance is rolled."""
    if rank_of(g, slot) == 8 and has_consumable_room(g) and chance(g, s, _EIGHT_BALL_STREAM, _EIGHT_BALL_ODDS):
        give_consumable(g, draw_tarot(g, EIGHT_BALL))


registry.define("j_8_ball", score_card=_eight_ball)

_HIKER_CHIPS = int(registry.amount("j_hiker", "extra"))


def _hiker(g, s, i, copied, slot):
    """Every trigger makes the card worth more for good, from its next trigger on."""
    g.card_extra_chips[slot] += _HIKER_CHIPS


registry.define("j_hiker", score_card=_hiker)

_WEE_CHIPS = registry.amount("j_wee", "extra.chip_mod")


def _wee(g, s, i, copied, slot):
    if not copied and rank_of(g, slot) == 2:
        g.joker_value[i] += _WEE_CHIPS


registry.define("j_wee", score_card=_wee, gives=registry.MainRow(registry.CHIPS, 1, registry.VALUE))

_LUCKY_CAT_GAIN = registry.amount("j_lucky_cat", "extra")


def _lucky_cat(g, s, i, copied, slot):
    if not copied and s.lucky_hit:
        g.joker_value[i] += _LUCKY_CAT_GAIN


registry.define("j_lucky_cat", score_card=_lucky_cat, gives=registry.MainRow(registry.X_MULT, 1, registry.VALUE))

# --- cards held in hand ---
registry.define("j_baron", held=registry.CardRow(registry.RANKS, registry.ranks(_KING), x_mult="extra"))
registry.define("j_shoot_the_moon", held=registry.CardRow(registry.RANKS, registry.ranks(_QUEEN), mult="extra"))

_FIST_TIMES = registry.amount("j_raised_fist", "times_chips")


def _raised_fist(g, s, i, copied, slot):
    """The lowest held card gives twice its chips as Mult; `s.lowest_held` is the rightmost of the lowest rank."""
    if slot == s.lowest_held and not is_debuffed(g, slot):
        s.mult += _FIST_TIMES * RANK_CHIPS[g.card_rank[slot]]
        s.had_effect = True


registry.define("j_raised_fist", held_card=_raised_fist)

_PARKING_STREAM = stream_id("parking")
_PARKING_ODDS = registry.amount("j_reserved_parking", "extra.odds")
_PARKING_DOLLARS = int(registry.amount("j_reserved_parking", "extra.dollars"))


def _reserved_parking(g, s, i, copied, slot):
    """A failed chance is no effect, so it is not tried again by retriggers."""
    if is_face(g, s, slot) and chance(g, s, _PARKING_STREAM, _PARKING_ODDS):
        s.dollars += _PARKING_DOLLARS
        s.had_effect = True


registry.define("j_reserved_parking", held_card=_reserved_parking)
registry.define("j_mime", passive="retrigger_held")  # counted in scoring.py with Red Seals

# --- triggering scored cards again ---
registry.define("j_hack", retriggers=registry.RetriggerRow(registry.RANKS, registry.ranks(2, 3, 4, 5)))
registry.define("j_sock_and_buskin", retriggers=registry.RetriggerRow(registry.FACE))
registry.define("j_hanging_chad", retriggers=registry.RetriggerRow(registry.FIRST_CARD))
registry.define("j_dusk", retriggers=registry.RetriggerRow(registry.ANY_CARD, only_last_hand=True))


def _seltzer_is_drunk(g, s, i, copied):
    """One use less per played hand; used up at 0."""
    if not copied:
        g.joker_value[i] -= 1
        if g.joker_value[i] <= 0:
            doom(g, i)


registry.define("j_selzer", retriggers=registry.RetriggerRow(registry.ANY_CARD, times=1), after=_seltzer_is_drunk)
