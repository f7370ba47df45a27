"""The flat action table for learning: every legal move of the game is one entry or a short sequence of them.

**Hands.** Playing or discarding up to 5 of the first 8 hand cards is one action each. Anything else is built: `choose`
hand cards from left to right, then `play_chosen`, `discard_chosen`, or `use`, `pick` and `buy_and_use` a consumable on
them. A card can be chosen only if some legal move has all the chosen cards and none to the left of the last one, so a
choice is never a dead end. Every other move stays possible while cards are chosen and lets go of them.

**Order.** A card is moved in two steps, `grab` it and `place` it; a grabbed card has to be placed. At most
`MOST_REORDERINGS` moves and sorts lie between decisions that advance the game, and choices only grow, so no sequence of
actions goes on for ever without advancing it.

The table is ordered so that masks are written in runs: subsets by their last card, so those of a hand of n cards are
the first ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from typing import NamedTuple

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.encoding.observation import FIELDS
from jimbot.games.balatro.rules import decisions, state
from jimbot.games.balatro.rules.content import CONSUMABLE_MAX_TARGETS, CONSUMABLE_MIN_TARGETS, CONSUMABLES
from jimbot.games.balatro.rules.playing_cards.piles import count_bits
from jimbot.games.spec import ActionBlock, ActionSpec

SUBSET_CARDS = 8  # hand positions that subset actions cover
MOST_PLAYED = 5
MOST_REORDERINGS = 8  # moves and sorts between decisions that advance the game

# Table kinds beyond the engine's own (run.ACTION_KINDS)
CHOOSE, PLAY_CHOSEN, DISCARD_CHOSEN, GRAB_JOKER, GRAB_CONSUMABLE, GRAB_HAND, PLACE = range(
    len(decisions.ACTION_KINDS), len(decisions.ACTION_KINDS) + 7
)
NO_MOVE = -1  # what choosing and grabbing do in the engine


class _Entry(NamedTuple):
    label: str
    index: int
    targets: int  # bit set over hand positions
    rows: tuple[int, ...]  # of the block's observation field


class _Block(NamedTuple):
    name: str
    kind: int
    field: str
    entries: tuple[_Entry, ...]


def _subsets() -> list[tuple[int, ...]]:
    """All choices of up to 5 of the first 8 positions, by last position, then by size."""
    every = [cards for size in range(1, MOST_PLAYED + 1) for cards in combinations(range(SUBSET_CARDS), size)]
    return sorted(every, key=lambda cards: (cards[-1], len(cards), cards))


SUBSETS = _subsets()


def _by_subset(name: str, kind: int) -> _Block:
    def entry(cards: tuple[int, ...]) -> _Entry:
        return _Entry(f"{name} {' '.join(str(card + 1) for card in cards)}", 0, sum(1 << card for card in cards), cards)

    return _Block(name, kind, "hand", tuple(map(entry, SUBSETS)))


def _by_index(name: str, kind: int, count: int, field: str = "") -> _Block:
    return _Block(name, kind, field, tuple(_Entry(f"{name} {i + 1}", i, 0, (i,)) for i in range(count)))


def _single(name: str, kind: int) -> _Block:
    return _Block(name, kind, "", (_Entry(name, 0, 0, ()),))


_BLOCKS = (
    _by_subset("play", decisions.PLAY),
    _by_subset("discard", decisions.DISCARD),
    _by_index("choose", CHOOSE, state.MAX_HAND, "hand"),
    _single("play_chosen", PLAY_CHOSEN),
    _single("discard_chosen", DISCARD_CHOSEN),
    _by_index("use", decisions.USE, state.MAX_CONSUMABLES, "consumables"),
    _by_index("pick", decisions.PICK, state.MAX_PACK_CARDS, "pack"),
    _single("skip_pack", decisions.SKIP_PACK),
    _by_index("buy", decisions.BUY, state.MAX_SHOP_CARDS, "shop"),
    _by_index("buy_and_use", decisions.BUY_AND_USE, state.MAX_SHOP_CARDS, "shop"),
    _by_index("redeem", decisions.REDEEM, state.MAX_SHOP_VOUCHERS, "vouchers_on_sale"),
    _by_index("open", decisions.OPEN, state.MAX_BOOSTERS, "boosters"),
    _single("reroll", decisions.REROLL),
    _single("next", decisions.NEXT),
    _by_index("sell_joker", decisions.SELL_JOKER, state.MAX_JOKERS, "jokers"),
    _by_index("sell_consumable", decisions.SELL_CONSUMABLE, state.MAX_CONSUMABLES, "consumables"),
    _single("select", decisions.SELECT),
    _single("skip", decisions.SKIP),
    _single("reroll_boss", decisions.REROLL_BOSS),
    _single("cash_out", decisions.CASH_OUT),
    _Block("sort", decisions.SORT, "", (_Entry("sort by rank", 0, 0, ()), _Entry("sort by suit", 1, 0, ()))),
    _by_index("grab_joker", GRAB_JOKER, state.MAX_JOKERS, "jokers"),
    _by_index("grab_consumable", GRAB_CONSUMABLE, state.MAX_CONSUMABLES, "consumables"),
    _by_index("grab_hand", GRAB_HAND, state.MAX_HAND, "hand"),
    _by_index("place", PLACE, state.MAX_HAND),
)


def _spec() -> ActionSpec:
    shown = {field.name: field.shape[0] for field in FIELDS}

    def rows(block: _Block) -> tuple[tuple[int, ...], ...]:
        count = shown.get(block.field, 0)
        return tuple(entry.rows if all(row < count for row in entry.rows) else () for entry in block.entries)

    return ActionSpec(
        tuple(
            ActionBlock(block.name, tuple(entry.label for entry in block.entries), block.field, rows(block))
            if block.field in shown
            else ActionBlock(block.name, tuple(entry.label for entry in block.entries))
            for block in _BLOCKS
        )
    )


def _column(value: Callable[[_Block, _Entry], int], dtype: type) -> np.ndarray:
    return np.array([value(block, entry) for block in _BLOCKS for entry in block.entries], dtype)


ACTIONS = _spec()
SIZE = ACTIONS.size
# By action: what it does.
KIND = _column(lambda block, entry: block.kind, np.int64)
INDEX = _column(lambda block, entry: entry.index, np.int64)
TARGETS = _column(lambda block, entry: entry.targets, np.uint64)
FIRST: dict[int, int] = {kind: int(np.argmax(kind == KIND)) for kind in range(PLACE + 1)}

(
    _PLAY, _DISCARD, _CHOOSE, _PLAY_CHOSEN, _DISCARD_CHOSEN, _USE, _PICK, _SKIP_PACK, _BUY, _BUY_AND_USE, _REDEEM,
    _OPEN, _REROLL, _NEXT, _SELL_JOKER, _SELL_CONSUMABLE, _SELECT, _SKIP, _REROLL_BOSS, _CASH_OUT, _SORT, _GRAB_JOKER,
    _GRAB_CONSUMABLE, _GRAB_HAND, _PLACE,
) = (FIRST[block.kind] for block in _BLOCKS)  # fmt: skip

_SUBSET_TARGETS = np.array([sum(1 << card for card in cards) for cards in SUBSETS], np.uint64)
_SUBSETS_WITHIN = np.array([sum(cards[-1] < n for cards in SUBSETS) for n in range(SUBSET_CARDS + 1)], np.int64)
_WANTS_NO_EDITION = CONSUMABLES.column(lambda row: row["condition"] == "select_editionless", np.bool_)
_NONE, _ONE = np.uint64(0), np.uint64(1)


# --- choices ---


@njit
def _forced_cards(g):
    """The hand positions Cerulean Bell forces into every choice."""
    forced = _NONE
    for place in range(g.hand_count):
        if g.card_flags[g.hand[place]] & state.CARD_FORCED:
            forced |= _ONE << np.uint64(place)
    return forced


@njit
def _can_grow_to(g, chosen, last, forced, least, most):
    """Whether a choice whose last card is at `last` fits, or can still be added to until it fits."""
    missing = forced & ~chosen
    if missing & ((_ONE << np.uint64(last)) - _ONE) != _NONE:
        return False
    count = count_bits(chosen)
    return count + count_bits(missing) <= most and count + (g.hand_count - 1 - last) >= least


@njit
def _can_become_targets(g, chosen, last, forced, consumable):
    if CONSUMABLE_MAX_TARGETS[consumable] == 0:
        return False
    least, most = CONSUMABLE_MIN_TARGETS[consumable], CONSUMABLE_MAX_TARGETS[consumable]
    if not _can_grow_to(g, chosen, last, forced, least, most):
        return False
    return not _WANTS_NO_EDITION[consumable] or g.card_edition[g.hand[last]] == 0


@njit
def _leads_somewhere(g, chosen, last, forced):
    """Whether a choice can become part of a legal move."""
    if g.phase == state.SELECTING_HAND:  # every choice that targets want could be played as well
        return _can_grow_to(g, chosen, last, forced, 1, MOST_PLAYED)
    for index in range(g.consumable_count):
        if _can_become_targets(g, chosen, last, forced, g.consumable_id[index]):
            return True
    for place in range(state.FIRST_PACK_OFFER, state.FIRST_PACK_OFFER + g.pack_count):
        if g.offer_kind[place] == state.OFFER_CONSUMABLE:
            if _can_become_targets(g, chosen, last, forced, g.offer_id[place]):
                return True
    return False


@njit
def _choice_for(g, consumable):
    """The targets a consumable would be used on now: the chosen cards, or none if it wants none."""
    return g.selected if CONSUMABLE_MAX_TARGETS[consumable] > 0 else _NONE


@njit
def _choice_for_offer(g, place):
    return _choice_for(g, g.offer_id[place]) if g.offer_kind[place] == state.OFFER_CONSUMABLE else _NONE


# --- masks ---


@njit
def _mark(out, first, count):
    for action in range(first, first + count):
        out[action] = True


@njit
def _mark_subsets(g, out, first, forced):
    count = _SUBSETS_WITHIN[min(SUBSET_CARDS, g.hand_count)]
    if forced == _NONE:
        _mark(out, first, count)
    else:
        for number in range(count):
            out[first + number] = forced & ~_SUBSET_TARGETS[number] == _NONE


@njit
def _mark_choices(g, out, forced):
    first = 0
    while first < state.MAX_HAND and g.selected >> np.uint64(first) != _NONE:
        first += 1
    if g.phase == state.SELECTING_HAND and forced == _NONE:  # the usual case: anything that can be played
        if count_bits(g.selected) < MOST_PLAYED:
            _mark(out, _CHOOSE + first, g.hand_count - first)
        return
    for last in range(first, g.hand_count):
        out[_CHOOSE + last] = _leads_somewhere(g, g.selected | _ONE << np.uint64(last), last, forced)


@njit
def _mark_hand(g, out):
    """Playing, discarding and choosing."""
    forced = _forced_cards(g)
    if g.phase == state.SELECTING_HAND:
        _mark_subsets(g, out, _PLAY, forced)
        if g.discards_left > 0:
            _mark_subsets(g, out, _DISCARD, forced)
        if g.selected != _NONE:
            out[_PLAY_CHOSEN] = decisions.is_legal(g, decisions.PLAY, 0, g.selected)
            out[_DISCARD_CHOSEN] = decisions.is_legal(g, decisions.DISCARD, 0, g.selected)
    if g.phase == state.SELECTING_HAND or g.phase == state.PACK:
        _mark_choices(g, out, forced)


@njit
def _mark_held(g, out):
    """Using and selling what is held."""
    for index in range(g.consumable_count):
        out[_USE + index] = decisions.is_legal(g, decisions.USE, index, _choice_for(g, g.consumable_id[index]))
    _mark(out, _SELL_CONSUMABLE, g.consumable_count)
    for index in range(g.joker_count):
        out[_SELL_JOKER + index] = decisions.is_legal(g, decisions.SELL_JOKER, index, _NONE)


@njit
def _mark_reorderings(g, out):
    if g.reorderings >= MOST_REORDERINGS:
        return
    if g.hand_count > 0:
        _mark(out, _SORT, 2)
    if g.joker_count > 1:
        _mark(out, _GRAB_JOKER, g.joker_count)
    if g.consumable_count > 1:
        _mark(out, _GRAB_CONSUMABLE, g.consumable_count)
    if g.hand_count > 1:
        _mark(out, _GRAB_HAND, g.hand_count)


@njit
def _mark_shop(g, out):
    for index in range(g.shop_count):
        out[_BUY + index] = decisions.is_legal(g, decisions.BUY, index, _NONE)
        out[_BUY_AND_USE + index] = decisions.is_legal(g, decisions.BUY_AND_USE, index, _choice_for_offer(g, index))
    for index in range(g.voucher_count):
        out[_REDEEM + index] = decisions.is_legal(g, decisions.REDEEM, index, _NONE)
    for index in range(g.booster_count):
        out[_OPEN + index] = decisions.is_legal(g, decisions.OPEN, index, _NONE)
    out[_REROLL] = decisions.is_legal(g, decisions.REROLL, 0, _NONE)
    out[_NEXT] = True


@njit
def _mark_places(g, out):
    """A grabbed card goes anywhere but where it is."""
    count = g.hand_count
    if g.grabbed == state.GRABBED_JOKER:
        count = g.joker_count
    elif g.grabbed == state.GRABBED_CONSUMABLE:
        count = g.consumable_count
    _mark(out, _PLACE, count)
    out[_PLACE + g.grabbed_index] = False


@njit
def write_mask(g, out):
    """Which actions are legal now; none once the game is over."""
    for action in range(SIZE):
        out[action] = False
    if g.phase == state.GAME_OVER or g.phase == state.WON:
        return
    if g.grabbed != state.NOTHING:
        _mark_places(g, out)
        return
    if g.hand_count > 0:
        _mark_hand(g, out)
    _mark_held(g, out)
    _mark_reorderings(g, out)
    if g.phase == state.SHOP:
        _mark_shop(g, out)
    elif g.phase == state.PACK:
        for index in range(g.pack_count):
            out[_PICK + index] = decisions.is_legal(
                g, decisions.PICK, index, _choice_for_offer(g, state.FIRST_PACK_OFFER + index)
            )
        out[_SKIP_PACK] = True
    elif g.phase == state.ROUND_EVAL:
        out[_CASH_OUT] = True
    elif g.phase != state.SELECTING_HAND:
        out[_SELECT] = True
        out[_SKIP] = decisions.is_legal(g, decisions.SKIP, 0, _NONE)
        out[_REROLL_BOSS] = decisions.is_legal(g, decisions.REROLL_BOSS, 0, _NONE)


# --- taking actions ---


@njit
def _targets_of(g, kind, index):
    """What a move of this kind acts on: chosen cards where it wants some."""
    if kind == PLAY_CHOSEN or kind == DISCARD_CHOSEN:
        return g.selected
    if kind == decisions.USE:
        return _choice_for(g, g.consumable_id[index])
    if kind == decisions.BUY_AND_USE:
        return _choice_for_offer(g, index)
    if kind == decisions.PICK:
        return _choice_for_offer(g, state.FIRST_PACK_OFFER + index)
    return _NONE


@njit
def _engine_kind(g, kind):
    if kind == PLAY_CHOSEN:
        return decisions.PLAY
    if kind == DISCARD_CHOSEN:
        return decisions.DISCARD
    if kind == PLACE:
        return decisions.MOVE_JOKER + g.grabbed - state.GRABBED_JOKER
    return kind


@njit
def engine_move(g, action):
    """(kind, index, targets) of the engine's move an action makes now; kind `NO_MOVE` for choosing and grabbing."""
    kind, index, targets = KIND[action], INDEX[action], TARGETS[action]
    if kind == CHOOSE or (kind >= GRAB_JOKER and kind <= GRAB_HAND):
        return np.int64(NO_MOVE), index, targets
    if kind == PLACE:
        return _engine_kind(g, kind), np.int64(g.grabbed_index), np.uint64(index)
    if targets == _NONE:
        targets = _targets_of(g, kind, index)
    return _engine_kind(g, kind), index, targets


@njit
def take(g, s, action):
    """Takes an action that the mask allows; `s` is working space."""
    move, index, targets = engine_move(g, action)
    kind = KIND[action]
    if kind == CHOOSE:
        g.selected |= _ONE << np.uint64(index)
        g.steps += 1
        return
    if move == NO_MOVE:
        g.selected = _NONE
        g.grabbed = state.GRABBED_JOKER + kind - GRAB_JOKER
        g.grabbed_index = index
        g.steps += 1
        return
    g.selected = _NONE
    g.grabbed = state.NOTHING
    g.reorderings = g.reorderings + 1 if kind == decisions.SORT or kind == PLACE else 0
    decisions.step(g, s, move, index, targets)


# --- from the engine's moves to the table ---


def _positions(targets: int) -> Iterable[int]:
    return (place for place in range(state.MAX_HAND) if targets >> place & 1)


def actions_for(kind: int, index: int, targets: int) -> list[int]:
    """The sequence of table actions that makes an engine move (`decisions.step`), when nothing is chosen or grabbed."""
    if kind in (decisions.MOVE_JOKER, decisions.MOVE_CONSUMABLE, decisions.MOVE_HAND):
        return [FIRST[GRAB_JOKER + kind - decisions.MOVE_JOKER] + index, FIRST[PLACE] + targets]
    if kind in (decisions.PLAY, decisions.DISCARD):
        cards = tuple(_positions(targets))
        if cards in SUBSETS:
            return [FIRST[kind] + SUBSETS.index(cards)]
        return [
            *(FIRST[CHOOSE] + card for card in cards),
            FIRST[PLAY_CHOSEN if kind == decisions.PLAY else DISCARD_CHOSEN],
        ]
    return [*(FIRST[CHOOSE] + card for card in _positions(targets)), FIRST[kind] + index]
