"""What a beaten blind pays at cash-out. Nothing is paid here; the parts wait in `payout_part`."""

from __future__ import annotations

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import challenges
from jimbot.games.balatro.rules.content import BLIND_REWARD, DECKS, RATES, STAKE_SMALL_REWARD, TAGS
from jimbot.games.balatro.rules.jokers import moments
from jimbot.games.balatro.rules.tags import DOUBLE, INVESTMENT, find_tag, gain_tag, remove_tag

BLIND_PART, HANDS_PART, JOKERS_PART, TAGS_PART, INTEREST_PART = range(5)
_GREEN, _ANAGLYPH = DECKS.id("b_green"), DECKS.id("b_anaglyph")
_GREEN_HAND = DECKS.row("b_green")["config"]["extra_hand_bonus"]
_GREEN_DISCARD = DECKS.row("b_green")["config"]["extra_discard_bonus"]
_HAND_DOLLARS = RATES["dollars_per_remaining_hand"]
_INTEREST_PER = RATES["interest"]["per_dollars"]
_INVESTMENT_DOLLARS = TAGS.row("tag_investment")["config"]["dollars"]


@njit
def blind_reward(g, blind, on_deck):
    """What beating a blind pays; stakes and challenges may take it away."""
    if on_deck == 0:
        paid = STAKE_SMALL_REWARD[g.stake] and not challenges.NO_REWARD_SMALL[g.challenge]
    elif on_deck == 1:
        paid = not challenges.NO_REWARD_BIG[g.challenge]
    else:
        paid = not challenges.NO_REWARD_BOSS[g.challenge]
    return BLIND_REWARD[blind] if paid else 0


@njit
def _remaining_hands(g):
    """Money for hands left over and, with the Green Deck, for discards."""
    if challenges.NO_EXTRA_HAND_MONEY[g.challenge]:
        hands = 0
    else:
        hands = g.hands_left * (_GREEN_HAND if g.deck == _GREEN else _HAND_DOLLARS)
    discards = g.discards_left * _GREEN_DISCARD if g.deck == _GREEN else 0
    return hands + discards


@njit
def _spend_investment_tags(g):
    dollars = 0
    place = find_tag(g, INVESTMENT)
    while place >= 0:
        remove_tag(g, place)
        dollars += _INVESTMENT_DOLLARS
        place = find_tag(g, INVESTMENT)
    return dollars


@njit
def interest_on(g, money):
    """Interest the run would pay on so much money."""
    if money < _INTEREST_PER or g.deck == _GREEN or challenges.NO_INTEREST[g.challenge]:
        return 0
    return g.interest_per_five * (min(money, g.interest_cap) // _INTEREST_PER)


@njit
def interest(g):
    """Interest on the money held before the payout."""
    return interest_on(g, g.money)


@njit
def settle_payout(g, s, blind, on_deck):
    """Computes the payout of the blind just beaten."""
    boss = on_deck == 2
    g.payout_part[BLIND_PART] = 0 if g.saved_by_bones else blind_reward(g, blind, on_deck)
    if boss and g.deck == _ANAGLYPH:
        gain_tag(g, DOUBLE, -1)
    g.payout_part[HANDS_PART] = _remaining_hands(g)
    g.payout_part[JOKERS_PART] = moments.round_payout(g, s)
    g.payout_part[TAGS_PART] = _spend_investment_tags(g) if boss else 0
    g.payout_part[INTEREST_PART] = interest(g)
    g.payout = 0
    for part in range(5):
        g.payout += g.payout_part[part]
