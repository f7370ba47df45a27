"""Calls of the protocol and moves of the engine: each as the other.

A call makes one move, apart from `rearrange`, which makes as many as it takes. A move that a dialect has no call for
(1.x cannot reroll a boss) has none. Whether a move is legal is not looked at here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jimbot.errors import UsageError
from jimbot.games.balatro.live.methods import METHODS
from jimbot.games.balatro.rules import decisions as k
from jimbot.games.balatro.rules.content import CONSUMABLE_MAX_TARGETS, CONSUMABLES
from jimbot.games.balatro.rules.scratch import MAX_PLAYED
from jimbot.games.balatro.rules.state import CARD_FORCED, FIRST_PACK_OFFER, OFFER_CONSUMABLE, OFFER_JOKER
from jimbot.games.balatro.states import dialects as d
from jimbot.games.balatro.view.move_text import Move, bits, positions
from jimbot.games.hooks.programs import LiveCall

AURA = CONSUMABLES.id("c_aura")
_ALONE = {
    "select": k.SELECT,
    "skip": k.SKIP,
    "reroll_boss": k.REROLL_BOSS,
    "cash_out": k.CASH_OUT,
    "reroll": k.REROLL,
    "next_round": k.NEXT,
}
_METHOD_ALONE = {kind: method for method, kind in _ALONE.items()}
_BUY = {"card": k.BUY, "voucher": k.REDEEM, "pack": k.OPEN}
_SELL = {"joker": k.SELL_JOKER, "consumable": k.SELL_CONSUMABLE}
_ORDER = {"hand": k.MOVE_HAND, "jokers": k.MOVE_JOKER, "consumables": k.MOVE_CONSUMABLE}
_BY = ("rank", "suit")


# --- from calls to moves ---


def moves_of(g: Any, method: str, params: Mapping[str, Any]) -> list[Move]:
    """The engine's moves a call makes in this situation."""
    if method in _ALONE:
        return [Move(_ALONE[method])]
    if method in ("play", "discard"):
        kind = k.PLAY if method == "play" else k.DISCARD
        return [Move(kind, 0, clicked(g, params["cards"]))]
    if method == "buy":
        return [Move(_BUY[name], index) for name, index in params.items() if name in _BUY]
    if method == "buy_and_use":
        return [Move(k.BUY_AND_USE, params["card"])]
    if method == "sell":
        return [Move(_SELL[name], index) for name, index in params.items() if name in _SELL]
    if method == "pack":
        return [_from_pack(g, params)]
    if method == "use":
        return [_use(g, params)]
    if method == "sort":
        return [Move(k.SORT, _BY.index(params["by"]))]
    if method == "rearrange":
        name, order = next((name, order) for name, order in params.items() if name in _ORDER)
        return _reordered(_ORDER[name], order)
    raise UsageError(f"'{method}' is no move of the game; expected one such as play, buy or next_round.")


def clicked(g: Any, cards: Sequence[int]) -> int:
    """The hand cards that are up after clicking these in turn, as a bit set.

    A second click lets go of a card. What a boss holds up stays up, and no more than five can be.
    """
    flags = g["card_flags"][g["hand"][: g["hand_count"]]].tolist()
    held = [place for place, flag in enumerate(flags) if flag & CARD_FORCED]
    up = list(held)
    for card in cards:
        if card in up and card not in held:
            up.remove(card)
        elif card not in up and len(up) < MAX_PLAYED:
            up.append(card)
    return bits(up)


def wants_targets(consumable: int) -> bool:
    return bool(CONSUMABLE_MAX_TARGETS[consumable])


def _from_pack(g: Any, params: Mapping[str, Any]) -> Move:
    if params.get("skip"):
        return Move(k.SKIP_PACK)
    place = FIRST_PACK_OFFER + params["card"]
    used = g.offer_kind[place] == OFFER_CONSUMABLE and wants_targets(int(g.offer_id[place]))
    return Move(k.PICK, params["card"], bits(params.get("targets", ())) if used else 0)


def _use(g: Any, params: Mapping[str, Any]) -> Move:
    used = wants_targets(int(g.consumable_id[params["consumable"]]))
    return Move(k.USE, params["consumable"], bits(params.get("cards", ())) if used else 0)


def _reordered(kind: int, order: Sequence[int]) -> list[Move]:
    """Moves that bring the cards into an order, from the left."""
    now, moves = list(range(len(order))), []
    for place, card in enumerate(order):
        at = now.index(card)
        if at != place:
            now.insert(place, now.pop(at))
            moves.append(Move(kind, at, place))
    return moves


# --- from moves to calls ---


def call_of(g: Any, move: Move, dialect: d.Dialect) -> LiveCall | None:
    """The call that makes a move in this situation; None where the dialect has none."""
    call = _call(g, move)
    if call is None or call.method not in METHODS[dialect.name]:
        return None
    states = METHODS[dialect.name][call.method].states
    if states is not None and d.STATE_OF_PHASE[g.phase] not in states:
        return None
    return call if _accepted(g, move, dialect) else None


def _call(g: Any, move: Move) -> LiveCall | None:
    kind, index, targets = move
    if kind in _METHOD_ALONE:
        return LiveCall(_METHOD_ALONE[kind], {})
    if kind in (k.PLAY, k.DISCARD):
        return LiveCall("play" if kind == k.PLAY else "discard", {"cards": positions(targets)})
    for method, names in (("buy", _BUY), ("sell", _SELL)):
        for name, known in names.items():
            if kind == known:
                return LiveCall(method, {name: index})
    for name, known in _ORDER.items():
        if kind == known:
            return LiveCall("rearrange", {name: _order_after(_count(g, name), index, targets)})
    if kind == k.SORT:
        return LiveCall("sort", {"by": _BY[index]})
    if kind == k.BUY_AND_USE:
        return LiveCall("buy_and_use", {"card": index})
    if kind == k.SKIP_PACK:
        return LiveCall("pack", {"skip": True})
    chosen = positions(targets)
    if kind == k.PICK:
        return LiveCall("pack", {"card": index, **({"targets": chosen} if chosen else {})})
    return LiveCall("use", {"consumable": index, **({"cards": chosen} if chosen else {})})


def _count(g: Any, area: str) -> int:
    return int({"hand": g.hand_count, "jokers": g.joker_count, "consumables": g.consumable_count}[area])


def _order_after(count: int, source: int, target: int) -> list[int]:
    order = list(range(count))
    order.insert(target, order.pop(source))
    return order


def _accepted(g: Any, move: Move, dialect: d.Dialect) -> bool:
    """Whether the mod does not refuse what the game would allow.

    It counts slots without looking at editions, so it takes no Negative joker beyond them (dev does in the shop); it
    cannot choose the card a held Aura is used on; a hand is reordered only where one is held.
    """
    kind, index, _ = move
    if kind in (k.BUY, k.PICK):
        place = index if kind == k.BUY else FIRST_PACK_OFFER + index
        if kind == k.BUY and dialect.shows_more:
            return True
        return g.offer_kind[place] != OFFER_JOKER or g.joker_count < g.joker_slots
    if kind == k.USE:
        return int(g.consumable_id[index]) != AURA
    if kind == k.MOVE_HAND:
        return d.STATE_OF_PHASE[g.phase] in (d.SELECTING_HAND, d.PACK)
    return True
