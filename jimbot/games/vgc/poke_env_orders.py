"""Joint orders to and from poke-env's `DoubleBattleOrder`.

poke-env names moves by id and Pokémon by name where MDBO counts places, so both directions need the request the order
answers (`battle.last_request`).
"""

from __future__ import annotations

from typing import Any

from jimbot.errors import MissingExtraError, UsageError
from jimbot.games.vgc import orders

try:
    from poke_env.battle import DoubleBattle, Move, Pokemon
    from poke_env.player.battle_order import (
        BattleOrder,
        DefaultBattleOrder,
        DoubleBattleOrder,
        PassBattleOrder,
        SingleBattleOrder,
    )
except ModuleNotFoundError as problem:
    raise MissingExtraError(f"'{problem.name}', which jimbot.games.vgc.poke_env_orders needs,", "vgc") from problem


def to_poke_env(order: int, battle: DoubleBattle) -> BattleOrder:
    """The order as poke-env sends it, for the request the battle waits on."""
    if order == orders.DEFAULT:
        return DefaultBattleOrder()
    a, b = orders.split(order)
    return DoubleBattleOrder(_to_single(a, 0, battle), _to_single(b, 1, battle))


def from_poke_env(order: BattleOrder, battle: DoubleBattle) -> int:
    """The joint order poke-env's order means for the request the battle waits on."""
    if isinstance(order, DefaultBattleOrder):
        return orders.DEFAULT
    if not isinstance(order, DoubleBattleOrder):
        raise UsageError(f"'{order}' is no order of a doubles turn; expected a DoubleBattleOrder.")
    return orders.join(_from_single(order.first_order, 0, battle), _from_single(order.second_order, 1, battle))


def _to_single(code: int, slot: int, battle: DoubleBattle) -> SingleBattleOrder:
    if code == orders.PASS:
        return PassBattleOrder()
    if code >= orders.FIRST_SWITCH:
        entry = _team(battle)[code - orders.FIRST_SWITCH]
        return SingleBattleOrder(battle.get_pokemon(entry["ident"]))
    move, rest = divmod(code, 10)
    gimmick, column = divmod(rest, len(orders.TARGETS))
    name = _moves(battle, slot)[move]["id"]
    return SingleBattleOrder(
        Move(name, battle.gen), terastallize=bool(gimmick), move_target=orders.TARGETS[column]
    )  # fmt: skip


def _from_single(order: SingleBattleOrder, slot: int, battle: DoubleBattle) -> int:
    if isinstance(order.order, Pokemon):
        names = [entry["ident"] for entry in _team(battle)]
        place = next((n for n, ident in enumerate(names) if battle.get_pokemon(ident) is order.order), None)
        if place is None:
            raise UsageError(f"{order.order.name} is not in the request; it lists {', '.join(names)}.")
        return orders.switch_code(place)
    if isinstance(order.order, Move):
        names = [move["id"] for move in _moves(battle, slot)]
        if order.order.id not in names:
            raise UsageError(f"Move '{order.order.id}' is not in the request of slot {slot}: {', '.join(names)}.")
        gimmick = order.terastallize or order.mega or order.dynamax
        return orders.move_code(names.index(order.order.id), order.move_target, gimmick)
    return orders.slot_code(str(order.order).removeprefix("/choose "))


def _request(battle: DoubleBattle) -> dict[str, Any]:
    request = battle.last_request
    if not request:
        raise UsageError("The battle has no request yet, so an order means nothing; wait for the first one.")
    return request


def _team(battle: DoubleBattle) -> list[dict[str, Any]]:
    return _request(battle)["side"]["pokemon"]


def _moves(battle: DoubleBattle, slot: int) -> list[dict[str, Any]]:
    active = _request(battle).get("active") or [{}, {}]
    return (active[slot] or {}).get("moves", [])
