"""Blinds of an ante: the boss, the score to beat, the round targets some jokers look at.

What bosses do during a round is in `bosses/`; this one chooses and measures them.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import content
from jimbot.games.balatro.rules.challenges import BANNED_BLIND
from jimbot.games.balatro.rules.chance.streams import pick, stream_id

_BOSS = stream_id("boss")
_IDOL, _MAIL = stream_id("idol{ante}"), stream_id("mail{ante}")
_ANCIENT, _CASTLE = stream_id("anc{ante}"), stream_id("cas{ante}")
_BOSS_COUNT = len(content.BOSS_ORDER)
_PLASMA = content.DECKS.id("b_plasma")
_PLASMA_SCALE = float(content.DECKS.row("b_plasma")["config"]["ante_scaling"])
NO_SUIT = 255  # ancient suit before the first draw


@njit
def _boss_eligible(g, boss):
    if BANNED_BLIND[g.challenge, boss]:
        return False
    showdown = g.ante >= 2 and g.ante % g.win_ante == 0
    if showdown or content.BLIND_SHOWDOWN[boss]:
        return showdown and content.BLIND_SHOWDOWN[boss]
    return content.BLIND_MIN_ANTE[boss] <= max(1, g.ante)


@njit
def draw_boss(g):
    """Draws the ante's boss among the eligible ones used least often in this run."""
    least = 255
    count = 0
    for index in range(_BOSS_COUNT):
        boss = content.BOSS_ORDER[index]
        if _boss_eligible(g, boss):
            if g.boss_uses[boss] < least:
                least = g.boss_uses[boss]
                count = 0
            if g.boss_uses[boss] == least:
                count += 1
    chosen = pick(g, _BOSS, count)
    for index in range(_BOSS_COUNT):
        boss = content.BOSS_ORDER[index]
        if _boss_eligible(g, boss) and g.boss_uses[boss] == least:
            if chosen == 0:
                g.boss = boss
                g.boss_uses[boss] += 1
                return
            chosen -= 1


@njit
def base_requirement(ante, scaling):
    """The score of an ante's Small Blind; beyond ante 8 it grows faster than any power, to two significant digits."""
    if ante < 1:
        return content.BLIND_BASE[scaling, 0]
    if ante <= 8:
        return content.BLIND_BASE[scaling, ante]
    beyond = np.float64(ante - 8)
    exponent = 1 + 0.2 * beyond
    raw = np.floor(content.BLIND_BASE[scaling, 8] * (1.6 + (0.75 * beyond) ** exponent) ** beyond)
    if not np.isfinite(raw):
        return raw
    return raw - raw % 10.0 ** np.floor(np.log10(raw) - 1)


@njit
def requirement_of(g, blind):
    """The score a blind asks for at the current ante."""
    scale = _PLASMA_SCALE if g.deck == _PLASMA else 1.0
    return base_requirement(g.ante, content.STAKE_SCALING[g.stake]) * content.BLIND_MULT[blind] * scale


@njit
def _nth_ranked_card(g, number):
    """The slot of the owned card with this number in creation order, Stone Cards left out."""
    for index in range(g.card_count):
        slot = g.cards[index]
        if g.card_enhancement[slot] != content.STONE:
            if number == 0:
                return slot
            number -= 1
    return -1


@njit
def draw_targets(g):
    """Re-picks the cards The Idol, Mail-In Rebate, Castle and Ancient Joker look for: run start and each round's end.

    With nothing but Stone Cards the Ace of Spades stands in.
    """
    ranked = g.card_count - g.enhancement_count[content.STONE]
    g.idol_rank = 14
    g.idol_suit = 0
    g.mail_rank = 14
    g.castle_suit = 0
    if ranked > 0:
        slot = _nth_ranked_card(g, pick(g, _IDOL, ranked))
        g.idol_rank = g.card_rank[slot]
        g.idol_suit = g.card_suit[slot]
        g.mail_rank = g.card_rank[_nth_ranked_card(g, pick(g, _MAIL, ranked))]
        g.castle_suit = g.card_suit[_nth_ranked_card(g, pick(g, _CASTLE, ranked))]
    if g.ancient_suit == NO_SUIT:
        g.ancient_suit = pick(g, _ANCIENT, 4)
    else:
        chosen = pick(g, _ANCIENT, 3)
        g.ancient_suit = chosen if chosen < g.ancient_suit else chosen + 1
