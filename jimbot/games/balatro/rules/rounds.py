"""A round: selecting the blind, playing and discarding hands, and everything that happens when it ends."""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import challenges, content, inventory, state
from jimbot.games.balatro.rules.antes import draw_targets
from jimbot.games.balatro.rules.bosses import dispatch as bosses
from jimbot.games.balatro.rules.bosses.blind import lift_blind, set_blind
from jimbot.games.balatro.rules.chance.create import draw_tarot
from jimbot.games.balatro.rules.chance.pools import EIGHT_BALL, count_active
from jimbot.games.balatro.rules.chance.streams import stream_id
from jimbot.games.balatro.rules.jokers import moments
from jimbot.games.balatro.rules.jokers.evaluate import held_retriggers
from jimbot.games.balatro.rules.payout import settle_payout
from jimbot.games.balatro.rules.playing_cards import piles
from jimbot.games.balatro.rules.playing_cards.cards import remove_card, shuffle_pile
from jimbot.games.balatro.rules.playing_cards.dealing import draw_to_hand
from jimbot.games.balatro.rules.playing_cards.hands import is_debuffed, most_played_hand
from jimbot.games.balatro.rules.scoring import score_hand
from jimbot.games.balatro.rules.shop.vouchers import draw_ante_voucher
from jimbot.games.balatro.rules.tags import JUGGLE, find_tag, remove_tag

_NEW_ROUND = stream_id("nr{ante}")
_CHAOS = content.JOKERS.id("j_chaos")
_JUGGLE_CARDS = content.TAGS.row("tag_juggle")["config"]["h_size"]
_GOLD_DOLLARS = content.ENHANCEMENTS.row("m_gold")["config"]["h_dollars"]
_HAND_COUNT = len(content.HANDS)
_RENT = content.RATES["stickers"]["rent"]


# --- starting ---


@njit
def _reset_counters(g):
    g.rounds += 1
    g.hands_left = max(1, g.hands_per_round)
    g.discards_left = max(0, g.discards_per_round)
    g.hands_played_round = 0
    g.discards_used = 0
    g.score = 0.0
    g.round_hand_size = 0
    g.saved_by_bones = False
    g.reroll_increase = 0
    g.free_rerolls = count_active(g, _CHAOS)
    for hand in range(_HAND_COUNT):
        g.hand_played_round[hand] = 0


@njit
def _deal(g):
    """Draws, unless there is no hand to draw to: then the run is lost."""
    if piles.hand_limit(g) <= 0 and g.hand_count == 0:
        g.phase = state.GAME_OVER
    else:
        draw_to_hand(g)


@njit
def start_round(g, s):
    """Selects the blind that is up and deals the first hand."""
    _reset_counters(g)
    g.blind_state[g.on_deck] = state.CURRENT
    set_blind(g, s)
    moments.setting_blind(g, s)
    shuffle_pile(g, _NEW_ROUND)
    place = find_tag(g, JUGGLE)
    while place >= 0:
        remove_tag(g, place)
        g.round_hand_size += _JUGGLE_CARDS
        place = find_tag(g, JUGGLE)
    g.phase = state.SELECTING_HAND
    _deal(g)
    if g.phase == state.SELECTING_HAND:
        moments.first_hand_drawn(g, s)
        check_round(g, s)


@njit
def check_round(g, s):
    """Ends a round in which nothing is left to decide: after a draw, a consumable, a sale.

    A disabled boss may have lowered the requirement below the total. With hand and deck empty the score decides. A hand
    emptied by a consumable is not refilled while cards are left in the deck: no play is possible and the run is lost.
    """
    if g.phase != state.SELECTING_HAND:
        return
    if g.score >= g.requirement or (g.hand_count == 0 and g.pile_count == 0):
        end_round(g, s)
    elif g.hand_count == 0:
        g.phase = state.GAME_OVER


# --- discarding ---


@njit
def _discard_table(g, s):
    """Discards the cards on the table one by one: seals, jokers, then the pile."""
    moments.prepare(g, s)
    s.destroyed = 0
    s.dollars = 0
    for place in range(s.played_count):
        slot = s.played[place]
        if g.card_seal[slot] == content.PURPLE_SEAL and not is_debuffed(g, slot) and inventory.has_consumable_room(g):
            inventory.give_consumable(g, draw_tarot(g, EIGHT_BALL))
        moments.discard(g, s, place)
    if s.destroyed != 0:
        s.glass_counts = True
        moments.cards_removed(g, s)
    g.money += s.dollars
    _clear_table(g, s)
    inventory.remove_doomed(g)


@njit
def _clear_table(g, s):
    """Destroyed cards leave the deck for good, the others go to the discard pile."""
    for place in range(s.played_count):
        slot = s.played[place]
        if s.destroyed >> place & 1:
            remove_card(g, slot)
        else:
            g.card_place[slot] = state.IN_DISCARD


@njit
def discard(g, s, targets):
    """Discards the chosen cards and draws."""
    piles.clear_forced_cards(g)
    piles.lay_on_table(g, s, targets)
    moments.pre_discard(g, s)
    _discard_table(g, s)
    g.money -= challenges.DISCARD_COST[g.challenge]
    g.discards_left -= 1
    g.discards_used += 1
    _deal(g)
    check_round(g, s)


# --- playing ---


@njit
def _discard_for_boss(g, s, targets):
    """The boss discards held cards; the played cards wait meanwhile, packed into one number."""
    if targets == np.uint64(0):
        return
    waiting = s.played_count
    packed = np.int64(0)
    for place in range(waiting):
        packed |= np.int64(s.played[place]) << (8 * place)
    piles.lay_on_table(g, s, targets)
    _discard_table(g, s)
    s.played_count = waiting
    for place in range(waiting):
        s.played[place] = (packed >> (8 * place)) & 0xFF


@njit
def put_forward(g, s, targets):
    """Lays the chosen cards on the table and scores them, up to `s.score`; nothing is paid or counted yet."""
    piles.clear_forced_cards(g)
    g.hands_left -= 1
    piles.lay_on_table(g, s, targets)
    for place in range(s.played_count):
        g.card_flags[s.played[place]] |= state.CARD_PLAYED_THIS_ANTE
    _discard_for_boss(g, s, bosses.takes_cards(g, s))
    bosses.on_play(g, s)
    score_hand(g, s)


@njit
def play(g, s, targets):
    """Plays the chosen cards, scores them and draws, or ends the round."""
    put_forward(g, s, targets)
    g.score += s.score
    g.best_hand = max(g.best_hand, s.score)
    g.money += s.dollars
    if challenges.DEBUFF_PLAYED_CARDS[g.challenge]:
        for index in range(s.scoring_count):
            g.card_flags[s.scoring[index]] |= state.CARD_DEBUFFED | state.CARD_DEBUFFED_FOR_GOOD
    _clear_table(g, s)
    g.hands_played_round += 1
    g.hands_played += 1
    if g.score >= g.requirement or g.hands_left <= 0:
        end_round(g, s)
    else:
        _deal(g)
        check_round(g, s)


# --- ending ---


@njit
def _keep_up_jokers(g, s):
    """Each joker's own upkeep, its rent, its days; used-up jokers go when all had their turn."""
    for index in range(g.joker_count):
        moments.end_of_round(g, s, index)
        if g.joker_flags[index] & state.RENTAL:
            g.money -= _RENT
        if g.joker_flags[index] & state.PERISHABLE and g.joker_perish[index] > 0:
            g.joker_perish[index] -= 1
            if g.joker_perish[index] == 0:
                inventory.set_joker_debuff(g, index, True)
    inventory.remove_doomed(g)


@njit
def _trigger_held_card(g, slot):
    """Gold Cards and Blue Seals held at the end; whether anything happened."""
    effect = False
    if g.card_enhancement[slot] == content.GOLD:
        g.money += _GOLD_DOLLARS
        effect = True
    if g.card_seal[slot] == content.BLUE_SEAL and g.last_hand >= 0 and inventory.has_consumable_room(g):
        inventory.give_consumable(g, content.HAND_PLANET[g.last_hand])
        effect = True
    return effect


@njit
def _pay_held_cards(g, s):
    moments.prepare(g, s)
    for place in range(g.hand_count):
        slot = g.hand[place]
        if not is_debuffed(g, slot) and _trigger_held_card(g, slot):
            for _ in range(held_retriggers(g, s, slot)):
                _trigger_held_card(g, slot)


@njit
def _beat_boss(g):
    """Challenge hooks of the beaten ante, then the next ante begins with its voucher."""
    if challenges.ETERNAL_AFTER_ANTE[g.challenge] > 0 and g.ante == challenges.ETERNAL_AFTER_ANTE[g.challenge]:
        for index in range(g.joker_count):
            if content.JOKER_CAN_BE_ETERNAL[g.joker_id[index]] and not g.joker_flags[index] & state.PERISHABLE:
                g.joker_flags[index] |= state.ETERNAL
    if challenges.NO_SLOTS_AFTER_ANTE[g.challenge] > 0 and g.ante == challenges.NO_SLOTS_AFTER_ANTE[g.challenge]:
        g.joker_slots = 0
    g.ante += 1
    draw_ante_voucher(g)
    for index in range(g.card_count):
        g.card_flags[g.cards[index]] &= 0xFF ^ state.CARD_PLAYED_THIS_ANTE


@njit
def end_round(g, s):
    """Wins or loses the round; a won one leaves its payout waiting."""
    _keep_up_jokers(g, s)
    if not g.score >= g.requirement and not g.saved_by_bones:
        g.phase = state.GAME_OVER
        return
    blind, on_deck = g.blind, g.on_deck
    boss = on_deck == 2
    won = boss and g.ante == g.win_ante
    g.unused_discards += g.discards_left
    if boss:
        g.most_played_hand = most_played_hand(g)
    _pay_held_cards(g, s)
    piles.return_everything(g)
    g.blind_state[on_deck] = state.DEFEATED
    if boss:
        _beat_boss(g)
    g.phase = state.ROUND_EVAL
    lift_blind(g)
    draw_targets(g)
    settle_payout(g, s, blind, on_deck)
    if won:
        g.won = True
        if not g.endless:
            g.phase = state.WON
