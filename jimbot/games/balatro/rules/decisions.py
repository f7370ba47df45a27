"""A run as a sequence of decisions: the kinds of actions, which are legal now, and what each does.

An action is a kind, an index (which joker, offer, consumable, …) and targets: hand positions as a bit set, or for a
move the place to move to. This is the engine's own, complete encoding; the flat table for learning is built on it.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules import between_rounds, inventory, rounds, run_start, state
from jimbot.games.balatro.rules.consumables.using import can_use
from jimbot.games.balatro.rules.playing_cards.piles import count_chosen, leaves_out_forced_card, sort_hand
from jimbot.games.balatro.rules.scratch import MAX_PLAYED
from jimbot.games.balatro.rules.shop.prices import booster_price, offer_price, reroll_price, voucher_price

ACTION_KINDS = (
    "select", "skip", "reroll_boss", "play", "discard", "cash_out", "buy", "buy_and_use", "redeem", "open", "reroll",
    "pick", "skip_pack", "next", "use", "sell_joker", "sell_consumable", "sort", "move_joker", "move_consumable",
    "move_hand",
)  # fmt: skip
(
    SELECT, SKIP, REROLL_BOSS, PLAY, DISCARD, CASH_OUT, BUY, BUY_AND_USE, REDEEM, OPEN, REROLL, PICK, SKIP_PACK, NEXT,
    USE, SELL_JOKER, SELL_CONSUMABLE, SORT, MOVE_JOKER, MOVE_CONSUMABLE, MOVE_HAND,
) = range(len(ACTION_KINDS))  # fmt: skip
START = -1  # for `apply`
_BY_RANK, _BY_SUIT = 0, 1


# --- legality ---


@njit
def _can_play(g, targets):
    count = count_chosen(g, targets)
    return count >= 1 and count <= MAX_PLAYED and not leaves_out_forced_card(g, targets)


@njit
def _legal_in_shop(g, kind, index, targets):
    if kind == BUY:
        return (
            index < g.shop_count
            and between_rounds.can_afford(g, offer_price(g, index))
            and between_rounds.has_room_for_offer(g, index)
        )
    if kind == BUY_AND_USE:
        return (
            index < g.shop_count
            and g.offer_kind[index] == state.OFFER_CONSUMABLE
            and between_rounds.can_afford(g, offer_price(g, index))
            and can_use(g, g.offer_id[index], targets, False)
        )
    if kind == REDEEM:
        return index < g.voucher_count and between_rounds.can_afford(g, voucher_price(g, g.shop_voucher[index]))
    if kind == OPEN:
        return index < g.booster_count and between_rounds.can_afford(g, booster_price(g, index))
    if kind == REROLL:
        return between_rounds.can_afford(g, reroll_price(g))
    return kind == NEXT


@njit
def _legal_in_pack(g, kind, index, targets):
    if kind == PICK:
        place = state.FIRST_PACK_OFFER + index
        if index >= g.pack_count:
            return False
        if g.offer_kind[place] == state.OFFER_CONSUMABLE:
            return can_use(g, g.offer_id[place], targets, False)
        return targets == 0 and between_rounds.has_room_for_offer(g, place)
    return kind == SKIP_PACK


@njit
def _legal_with_held_cards(g, kind, index, targets):
    """Actions that are open in every phase: using, selling and reordering what is held."""
    if kind == USE:
        return index < g.consumable_count and can_use(g, g.consumable_id[index], targets, True)
    if kind == SELL_JOKER:
        return index < g.joker_count and not g.joker_flags[index] & state.ETERNAL
    if kind == SELL_CONSUMABLE:
        return index < g.consumable_count
    count = 0
    if kind == MOVE_JOKER:
        count = g.joker_count
    elif kind == MOVE_CONSUMABLE:
        count = g.consumable_count
    elif kind == MOVE_HAND:
        count = g.hand_count
    elif kind == SORT:
        return g.hand_count > 0 and (index == _BY_RANK or index == _BY_SUIT)
    return index < count and np.int64(targets) < count and np.int64(targets) != index


@njit
def is_legal(g, kind, index, targets):
    """Whether an action may be taken now. Kinds without index or targets want 0."""
    if g.phase == state.GAME_OVER or g.phase == state.WON or index < 0:
        return False
    if kind >= USE:
        return _legal_with_held_cards(g, kind, index, targets)
    if g.phase == state.SHOP:
        return _legal_in_shop(g, kind, index, targets)
    if g.phase == state.PACK:
        return _legal_in_pack(g, kind, index, targets)
    if g.phase == state.SELECTING_HAND:
        if kind == DISCARD:
            return g.discards_left > 0 and _can_play(g, targets)
        return kind == PLAY and _can_play(g, targets)
    if g.phase == state.ROUND_EVAL:
        return kind == CASH_OUT
    if kind == SKIP:
        return g.on_deck < 2
    if kind == REROLL_BOSS:
        return between_rounds.can_reroll_boss(g)
    return kind == SELECT


# --- taking actions ---


@njit
def _step_with_held_cards(g, s, kind, index, targets):
    if kind == USE:
        between_rounds.use_held(g, s, index, targets)
    elif kind == SELL_JOKER:
        between_rounds.sell_joker(g, s, index)
    elif kind == SELL_CONSUMABLE:
        between_rounds.sell_consumable(g, s, index)
    elif kind == SORT:
        g.sort_by_suit = index == _BY_SUIT
        sort_hand(g)
    elif kind == MOVE_JOKER:
        inventory.move_joker_to(g, index, np.int64(targets))
    elif kind == MOVE_CONSUMABLE:
        inventory.move_consumable_to(g, index, np.int64(targets))
    elif kind == MOVE_HAND:
        inventory.move_hand_card_to(g, index, np.int64(targets))
    rounds.check_round(g, s)


@njit
def _step_between_rounds(g, s, kind, index, targets):
    if kind == CASH_OUT:
        between_rounds.cash_out(g, s)
    elif kind == BUY:
        between_rounds.buy(g, s, index)
    elif kind == BUY_AND_USE:
        between_rounds.buy_and_use(g, s, index, targets)
    elif kind == REDEEM:
        between_rounds.redeem(g, s, index)
    elif kind == OPEN:
        between_rounds.open_booster(g, s, index)
    elif kind == REROLL:
        between_rounds.reroll(g, s)
    elif kind == PICK:
        between_rounds.pick_from_pack(g, s, index, targets)
    elif kind == SKIP_PACK:
        between_rounds.skip_pack(g, s)
    elif kind == NEXT:
        between_rounds.leave_shop(g, s)


@njit
def step(g, s, kind, index, targets):
    """Takes a legal action; `s` is working space."""
    g.steps += 1
    if kind >= USE:
        _step_with_held_cards(g, s, kind, index, targets)
    elif kind >= CASH_OUT:
        _step_between_rounds(g, s, kind, index, targets)
    elif kind == PLAY:
        rounds.play(g, s, targets)
    elif kind == DISCARD:
        rounds.discard(g, s, targets)
    elif kind == SELECT:
        rounds.start_round(g, s)
    elif kind == SKIP:
        between_rounds.skip_blind(g, s)
    elif kind == REROLL_BOSS:
        between_rounds.reroll_boss(g, s)


@njit
def start(g, s):
    """A run at its first decision; the caller has written seed, deck, stake, challenge and endless."""
    run_start.start_run(g)
    between_rounds.enter_blind_select(g, s)


@njit
def apply(g, s, kind, index, targets):
    """The door from Python for single games: starts a run (`START`) or takes an action; False if it is not legal.

    Replay, tools and tests all go through it, so that they compile one program.
    """
    if kind == START:
        start(g, s)
        return True
    if not is_legal(g, kind, index, targets):
        return False
    step(g, s, kind, index, targets)
    return True
