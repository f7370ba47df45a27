"""Recordings of the running game as others write them: each made here by playing, then read by the verifier."""

from __future__ import annotations

from typing import Any

import pytest

from jimbot.games.balatro.rules import decisions
from jimbot.games.balatro.rules.content import CONSUMABLES, JOKERS, PACKS, TAGS, VOUCHERS
from jimbot.games.balatro.seeds import preview
from jimbot.games.balatro.states.document import read_state
from jimbot.games.balatro.verify.real_game import check_real_game
from jimbot.games.balatro.verify.recorded_games import read_action, replay, start_recorded
from jimbot.games.balatro.view.derived import read_derived
from jimbot.games.balatro.view.names import find_id
from jimbot.games.verification import FileReport
from tests.games.balatro.playing import Run

SEED = "XVF2EZQV"


def differences(**parts: Any) -> list[str]:
    """The fields in which the simulator leaves a recording of one run."""
    report = FileReport("real_game.json", "real_game")
    hands = parts.pop("scored_hands", [])
    check_real_game({"runs": [{"seed": SEED, "deck": "Red Deck", "stake": 1, **parts}], "scored_hands": hands}, report)
    return [difference.field for difference in report.differences]


def item(run: Run, place: int) -> dict[str, Any]:
    """An offer as an observer of the game writes it; no playing cards come up here."""
    table = JOKERS if run.g.offer_kind[place] == 1 else CONSUMABLES
    seen: dict[str, Any] = {"key": table.key(int(run.g.offer_id[place]))}
    edition = int(run.g.offer_edition[place])
    return seen | ({"ed": ("", "foil", "holo", "polychrome", "negative")[edition]} if edition else {})


def shop_of(run: Run, **more: Any) -> dict[str, Any]:
    g = run.g
    cost = read_derived(g).offers
    return {
        "ante": int(g.ante),
        "after_round": int(g.rounds),
        "cards": [item(run, place) | {"cost": int(cost[place])} for place in range(g.shop_count)],
        "packs": [PACKS.key(int(pack)) for pack in g.booster_id[: g.booster_count]],
        "voucher": [VOUCHERS.key(int(voucher)) for voucher in g.shop_voucher[: g.voucher_count]],
        "owned_jokers": [{"key": key} for key in run.jokers],
        "owned_consumables": run.consumables,
        "money": run.money,
        "used_vouchers": [VOUCHERS.key(place) for place in range(len(VOUCHERS)) if g.voucher_owned[place]],
    } | more


def rich_run() -> Run:
    run = Run(SEED).to_shop()
    run.g.money = 500
    return run


def test_the_first_antes_voucher_is_the_one_drawn_at_the_start() -> None:
    shop = shop_of(rich_run())
    assert shop["voucher"] == [preview(SEED, antes=1).antes[0].voucher]
    assert differences(shops=[shop]) == []
    assert differences(shops=[shop | {"voucher": ["v_blank"]}]) == ["voucher[0]"]


def test_both_pictures_of_the_first_buffoon_pack_are_right_and_no_other_pack_is() -> None:
    shop = shop_of(rich_run())
    first, second = shop["packs"]
    assert first == "p_buffoon_normal_1"
    assert differences(shops=[shop | {"packs": ["p_buffoon_normal_2", second]}]) == []
    assert differences(shops=[shop | {"packs": ["p_buffoon_jumbo_1", second]}]) == ["packs"]
    assert differences(shops=[shop | {"packs": [first, "p_spectral_mega_1"]}]) == ["packs"]


def buy_overstock(run: Run) -> Run:
    run.g.shop_voucher[0] = VOUCHERS.id("v_overstock_norm")
    return run.act("redeem")


@pytest.mark.parametrize("bought", [0, 1])
@pytest.mark.parametrize("rerolls", [(0, 0), (2, 0), (1, 2)])
def test_a_shop_after_overstock_was_bought_in_the_same_ante(bought: int, rerolls: tuple[int, int]) -> None:
    run = rich_run()
    for _ in range(rerolls[0]):
        run.act("reroll")
    for _ in range(bought):
        run.act("buy")
    buy_overstock(run)
    for _ in range(rerolls[1]):
        run.act("reroll")
    shop = shop_of(run)
    assert len(shop["cards"]) == 3
    assert differences(shops=[shop]) == []
    wrong = [*shop["cards"][:2], {"key": "j_perkeo"}]
    assert differences(shops=[shop | {"cards": wrong}]) == ["cards"]


def test_the_next_shop_of_that_ante_is_understood_too() -> None:
    run = buy_overstock(rich_run()).act("next").to_shop()
    shop = shop_of(run)
    assert (shop["ante"], len(shop["cards"])) == (1, 3)
    assert differences(shops=[shop]) == []


@pytest.mark.parametrize("order", [(0,), (1,), (0, 0), (1, 0)])
def test_the_cards_of_an_open_pack_are_compared(order: tuple[int, ...]) -> None:
    run = rich_run()
    for number, index in enumerate(order):
        if number:
            run.act("skip_pack")
        run.act("open", index)
    pack = read_state(run.g)["pack"]
    cards = pack["cards"]
    shop = shop_of(run, open_pack={"key": pack["key"], "cards": cards})
    assert differences(shops=[shop]) == []
    shop["open_pack"]["cards"] = cards[1:]  # the first has been taken
    assert differences(shops=[shop]) == []
    shop["open_pack"]["cards"] = [*cards[1:], cards[0]]
    assert differences(shops=[shop]) == ["open_pack"]


def test_skip_tag_is_a_name_of_the_speed_tag() -> None:
    tags = preview(SEED, antes=1).antes[0].tags
    assert tags[0] == "tag_skip"
    assert find_id(TAGS, "Skip Tag") == find_id(TAGS, "Speed Tag") == TAGS.id("tag_skip")
    names = ["Skip Tag", TAGS.name(TAGS.id(tags[1]))]
    assert differences(antes={"1": {"tags": names}}) == []
    assert differences(antes={"1": {"tags": names[::-1]}}) != []


@pytest.mark.parametrize(("disabled", "score"), [(True, 171), (False, 90)])
def test_a_disabled_boss_debuffs_nothing(disabled: bool, score: int) -> None:
    """Three nines against Verdant Leaf, before and after a joker was sold."""
    hand = {
        "seed": SEED, "round": 24, "ante": 8, "blind": "bl_final_leaf", "blind_disabled": disabled, "held": [],
        "played": [{"c": "S_9"}, {"c": "C_9"}, {"c": "D_9"}], "jokers": [], "hand": "Three of a Kind", "level": 1,
        "money": 4, "hands_left": 3, "discards_left": 3, "score": score,
    }  # fmt: skip
    assert differences(scored_hands=[hand]) == []
    assert differences(scored_hands=[hand | {"blind_disabled": not disabled}]) == ["score"]


# --- games step by step ---


def record(start: dict[str, Any], actions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A game written down as `traces` recordings are; what a play earned is told by the money before and after."""
    g, s = start_recorded(start)
    records: list[dict[str, Any]] = [{"game": 0, "step": 0, "state": read_state(g), **start}]
    for step, action in enumerate(actions, 1):
        money = int(g.money)
        assert decisions.apply(g, s, *read_action(action)), action
        entry: dict[str, Any] = {"game": 0, "step": step, "action": action, "state": read_state(g)}
        if action["a"] == "play":
            entry["scored"] = {"dollars": int(g.money) - money}
        records.append(entry)
    return records


MAD_WORLD = {"seed": "MADZZZZ", "challenge": "c_mad_world_1"}  # every card is a face card to Business Card
TWO_FLUSHES = [
    {"a": "select"},
    {"a": "play", "cards": [1, 2, 4, 5, 7]},
    {"a": "discard", "cards": [1, 2, 3, 6, 7]},
    {"a": "play", "cards": [1, 3, 4, 5, 6]},
]


def test_money_earned_by_the_hand_that_beats_the_blind_is_compared() -> None:
    records = record(MAD_WORLD, TWO_FLUSHES)
    assert records[-1]["state"]["phase"] == "round_eval"
    assert records[-1]["scored"] == {"dollars": 8}
    assert replay(records) == []
    records[-1]["scored"]["dollars"] = 0
    assert [(wrong.field, wrong.simulated) for wrong in replay(records)] == [("scored.dollars", 8.0)]


def test_a_state_may_say_whether_the_blind_is_disabled_and_what_an_open_pack_holds() -> None:
    records = record(MAD_WORLD, [*TWO_FLUSHES, {"a": "cash_out"}, {"a": "open", "i": 0}])
    assert records[1]["state"]["blind_disabled"] is False
    pack = records[-1]["state"].pop("pack")
    records[-1]["state"]["open_pack"] = pack["cards"]
    assert replay(records) == []
    records[-1]["state"]["open_pack"] = pack["cards"][::-1]
    assert {wrong.field for wrong in replay(records)} == {"open_pack[0].key", "open_pack[1].key"}
    records[1]["state"]["blind_disabled"] = True
    assert [(wrong.step, wrong.field) for wrong in replay(records)] == [(1, "blind_disabled")]
