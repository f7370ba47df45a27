"""Joint orders ⇄ poke-env's orders, on a request as the simulator writes it."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from jimbot.errors import UsageError
from jimbot.games.vgc import orders

pytest.importorskip("poke_env", reason="the extra 'vgc' is not installed")

from poke_env.battle import DoubleBattle, Move
from poke_env.player.battle_order import DefaultBattleOrder, DoubleBattleOrder, PassBattleOrder, SingleBattleOrder

from jimbot.games.vgc.poke_env_orders import from_poke_env, to_poke_env

TEAM = ("Flamigo", "Gholdengo", "Amoonguss", "Garchomp")
MOVES = (("closecombat", "bravebird", "detect", "tailwind"), ("makeitrain", "shadowball", "protect", "nastyplot"))


def request() -> dict[str, Any]:
    def entry(place: int, name: str) -> dict[str, Any]:
        return {
            "ident": f"p1: {name}", "details": f"{name}, L50", "condition": "150/150", "active": place < 2,
            "stats": dict.fromkeys(("atk", "def", "spa", "spd", "spe"), 100), "moves": list(MOVES[place % 2]),
            "baseAbility": "", "item": "", "ability": "", "pokeball": "pokeball", "commanding": False,
            "reviving": False, "teraType": "Fire", "terastallized": "",
        }  # fmt: skip

    def slot(moves: tuple[str, ...]) -> dict[str, Any]:
        listed = [{"move": m, "id": m, "pp": 8, "maxpp": 8, "target": "normal", "disabled": False} for m in moves]
        return {"moves": listed, "canTerastallize": "Fire"}

    return {
        "active": [slot(moves) for moves in MOVES],
        "side": {"name": "a", "id": "p1", "pokemon": [entry(place, name) for place, name in enumerate(TEAM)]},
        "rqid": 3,
    }


@pytest.fixture
def battle() -> DoubleBattle:
    made = DoubleBattle("battle-gen9vgc2023regc-1", "a", logging.getLogger("test"), gen=9)
    made.player_role = "p1"
    made.parse_request(request())
    return made


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("move 1 1, move 2 2 terastallize", "/choose move closecombat 1, move shadowball terastallize 2"),
        ("move 3, switch 4", "/choose move detect, switch Garchomp"),
        ("switch 3, pass", "/choose switch Amoonguss, pass"),
    ],
)
def test_orders_are_sent_by_name_and_come_back(battle: DoubleBattle, text: str, message: str) -> None:
    number = orders.order_number(text)
    order = to_poke_env(number, battle)
    assert order.message == message
    assert from_poke_env(order, battle) == number


def test_every_order_over_this_request_comes_back(battle: DoubleBattle) -> None:
    for number in range(orders.ORDERS):
        assert from_poke_env(to_poke_env(number, battle), battle) == number


def test_the_default_is_the_sentinel(battle: DoubleBattle) -> None:
    assert isinstance(to_poke_env(orders.DEFAULT, battle), DefaultBattleOrder)
    assert from_poke_env(DefaultBattleOrder(), battle) == orders.DEFAULT


def test_a_move_the_request_does_not_list_is_refused(battle: DoubleBattle) -> None:
    order = DoubleBattleOrder(SingleBattleOrder(Move("splash", 9)), PassBattleOrder())
    with pytest.raises(UsageError, match="splash"):
        from_poke_env(order, battle)
