"""The simulator behind the protocol's methods: what each does, and every refusal with its name and words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jimbot.games.balatro.live.methods import METHODS
from jimbot.games.balatro.live.refusals import CODES, NeverAnsweredError, RefusedError, Traps
from jimbot.games.balatro.live.table import LiveTable
from jimbot.games.balatro.rules.content import BLINDS, CONSUMABLES, JOKERS, NEGATIVE, TAGS
from jimbot.games.balatro.seeds.finding import preview
from jimbot.games.balatro.states import dialects as d
from tests.games.balatro.live_tables import STATES, call, refusal, table_in

BAD, STATE, RULES, INSIDE = "BAD_REQUEST", "INVALID_STATE", "NOT_ALLOWED", "INTERNAL_ERROR"

# (state, method, params, name, words), the same in both dialects unless told
REFUSALS: list[tuple[str, str, Any, str, str]] = [
    ("menu", "nonsense", {}, BAD, "Unknown method: nonsense"),
    ("menu", "start", "text", BAD, "Arguments must be a table"),
    ("menu", "start", {"stake": "x"}, BAD, "Missing required field 'deck'"),
    ("menu", "start", [], BAD, "Missing required field 'deck'"),
    ("menu", "start", {"deck": "x"}, BAD, "Missing required field 'stake'"),
    ("menu", "start", {"deck": 1, "stake": "x"}, BAD, "Field 'deck' must be of type string"),
    ("menu", "start", {"deck": "x", "stake": True}, BAD, "Field 'stake' must be of type string"),
    ("menu", "set", {"money": 1}, STATE, "Can only set during an active run"),
    ("menu", "save", {"path": "x"}, STATE, "requires one of these states: SELECTING_HAND, HAND_PLAYED, DRAW_TO_HAND"),
    ("menu", "save", {}, BAD, "Missing required field 'path'"),
    ("menu", "load", {"path": "nowhere"}, INSIDE, "Failed to read save file: 'nowhere'"),
    ("menu", "screenshot", {"path": 7}, BAD, "Field 'path' must be of type string"),
    ("menu", "screenshot", {"path": "x"}, INSIDE, "Failed to write screenshot file to 'x'"),
    ("blind", "start", {"deck": "RED", "stake": "WHITE"}, STATE, "requires one of these states: MENU"),
    ("boss", "skip", {}, RULES, "Cannot skip Boss blind"),
    ("hand", "play", {}, BAD, "Missing required field 'cards'"),
    ("hand", "play", {"cards": "0"}, BAD, "Field 'cards' must be an array"),
    ("hand", "play", {"cards": [0, "1"]}, BAD, "Field 'cards' array item at index 1 must be of type integer"),
    ("hand", "play", {"cards": [0.5]}, BAD, "array item at index 0 must be of type integer"),
    ("hand", "play", {"cards": [True]}, BAD, "array item at index 0 must be of type integer"),
    ("hand", "play", {"cards": [None]}, BAD, "Must provide at least one card to play"),
    ("hand", "play", {"cards": [None, 0]}, BAD, "Field 'cards' must be an array"),
    ("hand", "play", {"cards": [8, None]}, BAD, "Invalid card index: 8"),
    ("hand", "play", {"cards": []}, BAD, "Must provide at least one card to play"),
    ("hand", "play", {"cards": {}}, BAD, "Must provide at least one card to play"),
    ("hand", "play", {"cards": [0, 1, 2, 3, 4, 5]}, BAD, "You can only play 5 cards"),
    ("hand", "play", {"cards": [8]}, BAD, "Invalid card index: 8"),
    ("hand", "play", {"cards": [-1]}, BAD, "Invalid card index: -1"),
    ("hand", "play", {"cards": [3, 3]}, BAD, "at least one card to play"),
    ("hand", "discard", {"cards": []}, BAD, "Must provide at least one card to discard"),
    ("last hand", "discard", {"cards": [99, 1, 2, 3, 4, 5]}, BAD, "No discards left"),
    ("hand", "discard", {"cards": [0, 1, 2, 3, 4, 99]}, BAD, "You can only discard 5 cards"),
    ("hand", "discard", {"cards": [99]}, BAD, "Invalid card index: 99"),
    ("shop", "buy", {}, BAD, "You must provide one of: card, voucher, pack"),
    ("shop", "buy", {"card": 0, "pack": 0}, BAD, "Cannot provide more than one of"),
    ("shop", "buy", {"card": "0"}, BAD, "Field 'card' must be an integer"),
    ("shop", "buy", {"card": 9}, BAD, "Card index out of range. Index: 9, Available cards: 2"),
    ("shop", "buy", {"card": -1}, BAD, "Card index out of range"),
    ("shop", "buy", {"voucher": 1}, BAD, "Voucher index out of range. Index: 1, Available: 1"),
    ("shop", "buy", {"pack": 2}, BAD, "Pack index out of range. Index: 2, Available: 2"),
    ("sold-out shop", "buy", {"card": 0}, BAD, "No jokers/consumables/cards in the shop"),
    ("sold-out shop", "buy", {"voucher": 0}, BAD, "No vouchers to redeem"),
    ("sold-out shop", "buy", {"pack": 0}, BAD, "No packs to open"),
    ("poor shop", "buy", {"card": 0}, BAD, "Card is not affordable. Cost: 5, Available money: 0"),
    ("poor shop", "buy", {"voucher": 0}, BAD, "Card is not affordable"),
    ("poor shop", "buy", {"pack": 0}, BAD, "Card is not affordable"),
    ("full shop", "buy", {"card": 0}, BAD, "joker slots are full. Current: 5, Limit: 5"),
    ("full shop", "buy", {"card": 1}, BAD, "consumable slots are full. Current: 2, Limit: 2"),
    ("poor shop", "reroll", {}, RULES, "Not enough dollars to reroll. Available: 0, Required: 5"),
    ("buffoon pack", "pack", {}, BAD, "You must provide one of: card, skip"),
    ("buffoon pack", "pack", {"skip": False}, BAD, "You must provide one of: card, skip"),
    ("buffoon pack", "pack", {"card": 0, "skip": True}, BAD, "Cannot provide both card and skip"),
    ("buffoon pack", "pack", {"skip": "yes"}, BAD, "Field 'skip' must be of type boolean"),
    ("buffoon pack", "pack", {"card": 2}, BAD, "Card index out of range. Index: 2, Available cards: 2"),
    ("full buffoon pack", "pack", {"card": 0}, RULES, "joker slots are full. Current: 5, Limit: 5"),
    ("buffoon pack", "rearrange", {"hand": []}, RULES, "No cards to rearrange"),
    ("hand", "sell", {}, BAD, "Must provide exactly one of: joker or consumable"),
    ("hand", "sell", {"joker": 0, "consumable": 0}, BAD, "Can only sell one item at a time"),
    ("hand", "sell", {"joker": 0}, RULES, "No jokers available to sell"),
    ("hand", "sell", {"consumable": 0}, RULES, "No consumables available to sell"),
    ("two jokers", "sell", {"joker": 2}, BAD, "Index out of range for joker: 2"),
    ("magician", "sell", {"consumable": -1}, BAD, "Index out of range for consumable: -1"),
    ("eternal joker", "sell", {"joker": 0}, RULES, "eternal"),
    ("magician", "use", {}, BAD, "Missing required field 'consumable'"),
    ("magician", "use", {"consumable": 2}, BAD, "Consumable index out of range: 2"),
    ("magician", "use", {"consumable": 0}, BAD, "Consumable 'The Magician' requires card selection"),
    ("magician", "use", {"consumable": 0, "cards": []}, BAD, "requires card selection"),
    ("magician", "use", {"consumable": 0, "cards": [99]}, BAD, "Card index out of range: 99"),
    ("magician", "use", {"consumable": 0, "cards": [0, 1, 2]}, BAD, "requires at most 2 cards (provided: 3)"),
    ("magician", "use", {"consumable": 1, "cards": [0]}, BAD, "'Death' requires exactly 2 cards (provided: 1)"),
    ("magician in shop", "use", {"consumable": 0, "cards": [0]}, STATE, "requires card selection and can only be used"),
    ("familiar in shop", "use", {"consumable": 0}, RULES, "Consumable 'Familiar' cannot be used at this time"),
    ("fool", "use", {"consumable": 0}, RULES, "'The Fool' cannot be used at this time"),
    ("fool", "use", {"consumable": 1, "cards": [0]}, RULES, "'Aura' cannot be used at this time"),
    ("hand", "rearrange", {}, BAD, "Must provide exactly one of: hand, jokers, or consumables"),
    ("hand", "rearrange", {"hand": [], "jokers": []}, BAD, "Can only rearrange one type at a time"),
    ("hand", "rearrange", {"hand": [0, 1]}, BAD, "Must provide exactly 8 indices for hand"),
    ("hand", "rearrange", {"hand": [8, 1, 2, 3, 4, 5, 6, 7]}, BAD, "Index out of range for hand: 8"),
    ("hand", "rearrange", {"hand": [1, 1, 2, 3, 4, 5, 6, 7]}, BAD, "Duplicate index in hand: 1"),
    ("shop", "rearrange", {"hand": []}, STATE, "Can only rearrange hand during hand selection"),
    ("hand", "add", {}, BAD, "Missing required field 'key'"),
    ("hand", "add", {"key": "X_Y"}, BAD, "Invalid card key format"),
    ("hand", "add", {"key": "j_nobody"}, BAD, "Failed to add card: j_nobody"),
    ("hand", "add", {"key": "c_nothing"}, BAD, "Failed to add card: c_nothing"),
    ("shop", "add", {"key": "v_none"}, BAD, "Failed to add card: v_none"),
    ("shop", "add", {"key": "H_A"}, STATE, "Playing cards can only be added in SELECTING_HAND state"),
    ("hand", "add", {"key": "v_blank"}, STATE, "Vouchers can only be added in SHOP state"),
    ("hand", "add", {"key": "p_arcana_normal_1"}, STATE, "Packs can only be added in SHOP state"),
    ("shop", "add", {"key": "p_arcana_normal_1"}, RULES, "shop booster slots are full"),
    ("one pack left", "add", {"key": "p_none"}, BAD, "Pack key not found: p_none"),
    ("hand", "add", {"key": "j_joker", "seal": "RED"}, BAD, "Seal can only be applied to playing cards"),
    ("hand", "add", {"key": "H_A", "seal": "PINK"}, BAD, "Invalid seal value"),
    ("shop", "add", {"key": "v_blank", "edition": "FOIL"}, BAD, "Edition cannot be applied to vouchers"),
    ("hand", "add", {"key": "c_fool", "edition": "x"}, BAD, "Consumables can only have"),
    ("hand", "add", {"key": "j_joker", "edition": "x"}, BAD, "edition value. Expected"),
    ("hand", "add", {"key": "j_joker", "enhancement": "x"}, BAD, "Enhancement can only be applied to playing cards"),
    ("hand", "add", {"key": "H_A", "enhancement": "x"}, BAD, "Invalid enhancement value"),
    ("hand", "add", {"key": "H_A", "eternal": True}, BAD, "Eternal can only be applied to jokers"),
    ("hand", "add", {"key": "c_fool", "perishable": 1}, BAD, "Perishable can only be applied to jokers"),
    ("hand", "add", {"key": "j_joker", "perishable": 0}, BAD, "Perishable must be a positive integer"),
    ("hand", "add", {"key": "H_A", "rental": True}, BAD, "Rental can only be applied to jokers"),
    ("hand", "set", {}, BAD, "Must provide at least one field to set"),
    ("hand", "set", {"money": "1"}, BAD, "Field 'money' must be an integer"),
    ("hand", "set", {"money": -1}, BAD, "Money must be a positive integer"),
    ("hand", "set", {"chips": -1}, BAD, "Chips must be a positive integer"),
    ("hand", "set", {"hands": 10**9}, BAD, "Hands is too large"),
    ("hand", "set", {"shop": True}, RULES, "Can re-stock shop only in SHOP state"),
    (
        "arcana pack",
        "pack",
        {"card": 9, "targets": [99]},
        BAD,
        "Target card index out of range. Index: 99, Hand size: 8",
    ),
]
ONLY: list[tuple[str, str, Any, Any, str, str]] = [
    ("1.x", "menu", "start", {"deck": "b_red", "stake": "WHITE"}, BAD, "Invalid deck enum"),
    ("1.x", "menu", "start", {"deck": "nope", "stake": "nope"}, BAD, "Invalid stake enum. Must be one of:"),
    ("1.x", "menu", "start", {"deck": "RED", "stake": "WHITE", "seed": "no seed"}, BAD, "seed"),
    ("1.x", "hand", "sort", {"by": "rank"}, BAD, "Unknown method: sort"),
    ("1.x", "buffoon pack", "sell", {"joker": 0}, STATE, "requires one of these states: SELECTING_HAND, SHOP"),
    ("1.x", "blind", "rearrange", {"jokers": []}, STATE, "SELECTING_HAND, SHOP, SMODS_BOOSTER_OPENED"),
    ("1.x", "menu", None, {}, BAD, "Request missing 'method' field"),
    ("dev", "menu", "start", {"deck": "RED", "stake": "stake_white"}, BAD, "Expected a b_* deck key"),
    ("dev", "menu", "start", {"deck": "b_red", "stake": "WHITE"}, BAD, "Expected a stake_* key from G.P_STAKES"),
    ("dev", "menu", "start", {"challenge": "c_none"}, BAD, "Expected a c_* challenge id from G.CHALLENGES"),
    ("dev", "menu", "start", {"challenge": "c_omelette_1", "deck": "b_red"}, BAD, "challenge' cannot be combined"),
    ("dev", "hand", "sort", {"by": "age"}, BAD, "must be \"rank\" or \"suit\""),
    ("dev", "shop", "buy_and_use", {}, BAD, "You must provide: card"),
    ("dev", "shop", "buy_and_use", {"card": 7}, BAD, "Card index out of range. Index: 7"),
    ("dev", "shop", "buy_and_use", {"card": 0}, RULES, "cannot be buy-and-used"),
    ("dev", "poor shop", "buy_and_use", {"card": 1}, BAD, "not affordable"),
    ("dev", "sold-out shop", "buy_and_use", {"card": 0}, BAD, "No consumables in the shop"),
    ("dev", "blind", "reroll_boss", {}, RULES, "requires the Director's Cut or Retcon voucher"),
    ("dev", "hand", "set", {"boss": "bl_hook"}, STATE, "during blind selection"),
    ("dev", "shop", "set", {"boss": "bl_hook", "shop": True}, BAD, "boss and shop at the same time"),
    ("dev", "blind", "set", {"boss": "bl_none"}, BAD, "Unknown boss blind key: bl_none"),
    ("dev", "blind", "set", {"boss": "bl_small"}, BAD, "Not a boss blind: bl_small"),
    ("dev", "boss", "set", {"boss": "bl_hook"}, STATE, "not selectable"),
]  # fmt: skip


@pytest.mark.parametrize(("state", "method", "params", "name", "words"), REFUSALS)
@pytest.mark.parametrize("dialect", d.DIALECTS)
def test_a_refusal_has_its_name_and_words(
    dialect: str, state: str, method: str, params: Any, name: str, words: str
) -> None:
    found, said = refusal(table_in(state, dialect), method, params)
    assert (found, words in said) == (name, True), said


@pytest.mark.parametrize(("dialect", "state", "method", "params", "name", "words"), ONLY)
def test_a_refusal_of_one_dialect(dialect: str, state: str, method: Any, params: Any, name: str, words: str) -> None:
    found, said = refusal(table_in(state, dialect), method, params)
    assert (found, words in said) == (name, True), said


@pytest.mark.parametrize("dialect", d.DIALECTS)
def test_every_method_is_refused_in_every_state_it_is_not_for(dialect: str) -> None:
    """Types are checked before the state, and the state before anything else."""
    fitting: dict[str, Any] = {"string": "x", "integer": 0, "boolean": True, "array": []}
    for state in ("menu", "blind", "hand", "eval", "shop", "buffoon pack", "lost"):
        table = table_in(state, dialect)
        for method in METHODS[dialect].values():
            if method.states is None or table.state in method.states:
                continue
            params = {param.name: fitting[param.type] for param in method.params}
            assert refusal(table, method.name, params)[0] == STATE
            for param in method.params:
                if param.required:
                    assert refusal(table, method.name, {**params, param.name: 1.5})[0] == BAD


def test_codes_are_those_of_the_mod() -> None:
    assert CODES == {INSIDE: -32000, BAD: -32001, STATE: -32002, RULES: -32003}


# --- a run ---


@pytest.mark.parametrize("dialect", d.DIALECTS)
def test_a_round_goes_through_its_states(dialect: str) -> None:
    table = table_in("menu", dialect)
    assert call(table, "gamestate")["state"] == "MENU"
    names = table.dialect
    state = call(table, "start", deck=names.decks[1], stake=names.stakes[2], seed="TEST123")
    assert (state["state"], state["deck"], state["stake"]) == ("BLIND_SELECT", names.decks[1], names.stakes[2])
    assert (state["round_num"], state["ante_num"], state["seed"]) == (0, 1, "TEST123")
    assert [state["blinds"][place]["status"] for place in d.PLACES] == ["SELECT", "UPCOMING", "UPCOMING"]
    assert "shop" not in state
    state = call(table, "select")
    assert (state["state"], state["hand"]["count"], state["cards"]["count"]) == ("SELECTING_HAND", 8, 44)
    assert call(table, "discard", cards=[0, 1])["round"]["discards_used"] == 1
    call(table, "set", chips=10_000)
    state = call(table, "play", cards=[0])
    assert (state["state"], state["blinds"]["small"]["status"]) == ("ROUND_EVAL", "DEFEATED")
    state = call(table, "cash_out")
    assert (state["state"], state["shop"]["count"], state["blinds"]["big"]["status"]) == ("SHOP", 2, "UPCOMING")
    assert call(table, "reroll")["round"]["reroll_cost"] == 6
    state = call(table, "next_round")
    assert (state["state"], state["shop"]["cards"], state["shop"]["count"]) == ("BLIND_SELECT", [], 2)
    assert call(table, "menu")["state"] == "MENU"


def test_the_seeds_shops_and_packs_are_those_of_jimbot_seed() -> None:
    table = LiveTable()
    for seed in ("TEST123", "4WAX5M4D", "7LB2WVPK"):
        call(table, "menu")
        state = call(table, "start", deck="RED", stake="WHITE", seed=seed)
        ante = preview(seed, antes=1).antes[0]
        assert state["blinds"]["boss"]["name"] == BLINDS.row(ante.boss)["name"]
        assert [state["blinds"][place]["tag_name"] for place in ("small", "big")] == [
            d.TAG_NAMES[TAGS.id(tag)] for tag in ante.tags
        ]
        call(table, "select")
        call(table, "set", chips=10**6)
        call(table, "play", cards=[0])
        state = call(table, "cash_out")
        assert [card["key"] for card in state["vouchers"]["cards"]] == [ante.voucher]
        shop = [item.key for item in ante.shop[:2]]
        assert [card["key"] for card in state["shop"]["cards"]] == shop
        assert [card["key"] for card in state["packs"]["cards"]] == [pack.key for pack in ante.packs[:2]]


def test_the_menu_shows_what_the_game_shows_before_a_run() -> None:
    """As recorded: counters of no round, and blinds nobody has drawn yet."""
    menu = json.loads(LiveTable().call("menu"))
    assert menu["round"] == {"hands_left": 0, "hands_played": 0, "discards_left": 0, "discards_used": 0,
                             "reroll_cost": 5, "chips": 0}  # fmt: skip
    shown = {place: (blind["name"], blind["status"], blind["score"], blind["tag_name"])
             for place, blind in menu["blinds"].items()}  # fmt: skip
    assert shown == {
        "small": ("Small Blind", "SELECT", 300, ""),
        "big": ("Big Blind", "UPCOMING", 450, ""),
        "boss": ("Boss Blind", "UPCOMING", 600, ""),
    }


def test_cashing_out_sets_the_counters_for_the_next_round() -> None:
    """As recorded: hands, discards and score are those of the next round, what was played that of the last."""
    table = LiveTable()
    table.call("start", {"deck": "RED", "stake": "WHITE", "seed": "7LB2WVPK"})
    table.call("select")
    table.call("discard", {"cards": [0]})
    table.call("set", {"chips": 1000})
    names = ("hands_left", "hands_played", "discards_left", "discards_used")
    played = json.loads(table.call("play", {"cards": [0]}))["round"]
    assert [played[name] for name in names] == [3, 1, 3, 1]
    assert played["chips"] > 1000
    for method in ("cash_out", "next_round"):
        shown = json.loads(table.call(method))["round"]
        assert [shown[name] for name in (*names, "chips")] == [4, 1, 4, 1, 0]
    shown = json.loads(table.call("select"))["round"]
    assert [shown[name] for name in (*names, "chips")] == [4, 0, 4, 0, 0]


def test_a_won_run_goes_on() -> None:
    table = table_in("boss")
    call(table, "select")
    call(table, "set", ante=8, chips=10**7)
    state = call(table, "play", cards=[0])
    assert (state["state"], state["won"]) == ("ROUND_EVAL", True)
    assert call(table, "cash_out")["won"] is True


def test_a_pack_is_opened_from_the_shop_and_leads_back() -> None:
    table = table_in("buffoon pack")
    state = call(table, "pack", card=1)
    assert (state["state"], state["jokers"]["count"]) == ("SHOP", 1)
    assert "pack" not in state
    mega = table_in("mega pack")
    assert call(mega, "pack", card=0)["state"] == "SMODS_BOOSTER_OPENED"
    assert call(mega, "pack", card=0)["state"] == "SHOP"


def test_cards_of_a_pack_show_what_they_usually_cost() -> None:
    """As recorded: nobody pays for them, and they have a price all the same."""
    table = LiveTable()
    table.call("start", {"deck": "RED", "stake": "WHITE", "seed": "TEST123"})
    table.call("select")
    table.call("set", {"chips": 1000, "money": 100})
    table.call("play", {"cards": [0]})
    table.call("cash_out")
    pack = json.loads(table.call("buy", {"pack": 0}))["pack"]["cards"]
    costs = [JOKERS.row(card["key"])["cost"] for card in pack]
    assert [card["cost"] for card in pack] == [{"sell": cost // 2, "buy": cost} for cost in costs]


def test_cards_of_a_pack_want_so_many_targets() -> None:
    table = table_in("arcana pack", seed="TEST2")
    keys = [card["key"] for card in call(table, "gamestate")["pack"]["cards"]]
    wanted = [CONSUMABLES.row(key)["targets"] for key in keys]
    place = wanted.index([1, 2])
    for targets in ([], [0, 1, 2]):
        name, said = refusal(table, "pack", {"card": place, "targets": targets})
        assert (name, f"requires 1-2 target card(s). Provided: {len(targets)}" in said) == (BAD, True)
    assert call(table, "pack", card=place, targets=[0, 1])["state"] == "SHOP"


def test_orders_are_what_was_asked_for() -> None:
    table = table_in("hand")
    before = [card["id"] for card in call(table, "gamestate")["hand"]["cards"]]
    order = [1, 2, 0, 3, 4, 5, 7, 6]
    after = [card["id"] for card in call(table, "rearrange", hand=order)["hand"]["cards"]]
    assert after == [before[place] for place in order]
    table = table_in("two jokers")
    assert [c["key"] for c in call(table, "rearrange", jokers=[1, 0])["jokers"]["cards"]] == ["j_egg", "j_joker"]


def test_a_second_click_lets_go_of_a_card() -> None:
    table = table_in("hand")
    played = call(table, "gamestate")["hand"]["cards"]
    state = call(table, "play", cards=[0, 1, 0])
    kept = {card["id"] for card in state["hand"]["cards"]}
    assert played[0]["id"] in kept
    assert played[1]["id"] not in kept


def test_dev_has_three_methods_more() -> None:
    table = table_in("hand", "dev")
    by_suit = call(table, "sort", by="suit")["hand"]["cards"]
    assert [card["key"][0] for card in by_suit] == sorted((c["key"][0] for c in by_suit), key="SHCD".index)
    table = table_in("shop", "dev")
    state = call(table, "buy_and_use", card=1)
    assert state["hands"]["High Card"]["level"] == 2
    assert state["last_tarot_planet"] == "c_pluto"
    call(table, "add", key="v_retcon")
    call(table, "buy", voucher=1)
    call(table, "next_round")
    assert call(table, "gamestate")["blinds"]["boss"]["reroll_available"] is True
    boss = table.g.boss
    assert call(table, "reroll_boss")["blinds"]["boss"]["key"] != BLINDS.key(int(boss))


@pytest.mark.parametrize("challenge", ["c_omelette_1", "c_knife_1", "c_jokerless_1"])
def test_a_challenge_starts_with_what_it_brings(challenge: str) -> None:
    table = LiveTable("dev")
    state = call(table, "start", challenge=challenge, seed="TEST123")
    assert state["challenge"] == challenge
    assert state["jokers"]["count"] == {"c_omelette_1": 5, "c_knife_1": 1, "c_jokerless_1": 0}[challenge]


def test_a_boss_that_holds_a_card_up_wants_it_played() -> None:
    for dialect in d.DIALECTS:
        table = table_in("boss", dialect)
        table.g.boss = BLINDS.id("bl_final_bell")
        hand = call(table, "select")["hand"]["cards"]
        held = next(place for place, card in enumerate(hand) if card["state"] and card["state"].get("highlight"))
        other = (held + 1) % 8
        if dialect == "dev":
            for method in ("play", "discard"):
                assert "forced-selected by the boss blind" in refusal(table, method, {"cards": [other]})[1]
            call(table, "play", cards=[other, held])
        else:
            call(table, "play", cards=[other])
        left = {card["id"] for card in call(table, "gamestate")["hand"]["cards"]}
        assert not {hand[held]["id"], hand[other]["id"]} & left


def test_a_negative_joker_brings_its_slot_in_dev() -> None:
    for dialect in d.DIALECTS:
        table = table_in("full shop", dialect)
        table.g.offer_edition[0] = NEGATIVE
        if dialect == "dev":
            assert call(table, "buy", card=0)["jokers"]["limit"] == 6
        else:
            assert "joker slots are full" in refusal(table, "buy", {"card": 0})[1]


# --- debugging ---


def test_add_puts_cards_where_they_belong() -> None:
    table = table_in("hand")
    card = call(table, "add", key="H_A", seal="RED", edition="FOIL", enhancement="BONUS")["hand"]["cards"][8]
    assert card["modifier"] == {"seal": "RED", "edition": "FOIL", "enhancement": "BONUS"}
    joker = call(table, "add", key="j_joker", perishable=3, rental=True)["jokers"]["cards"][0]
    assert (joker["modifier"]["perishable"], joker["modifier"]["rental"]) == (3, True)
    state = call(table, "add", key="c_fool", edition="NEGATIVE")
    assert state["consumables"]["limit"] == 3
    ids = [card["id"] for area in ("hand", "jokers", "consumables", "cards") for card in state[area]["cards"]]
    assert len(ids) == len(set(ids))


def test_set_changes_values() -> None:
    table = table_in("hand")
    state = call(table, "set", money=77, chips=5, ante=3, round=9, hands=2, discards=1)
    assert (state["money"], state["ante_num"], state["round_num"]) == (77, 3, 9)
    assert (state["round"]["chips"], state["round"]["hands_left"], state["round"]["discards_left"]) == (5, 2, 1)
    shop = table_in("sold-out shop")
    assert call(shop, "set", shop=True)["shop"]["count"] == 2
    shop = table_in("shop")
    before, after = call(shop, "gamestate"), call(shop, "set", shop=True)
    assert all(before[area] != after[area] for area in ("shop", "vouchers", "packs"))


class Shelf:
    """Files in memory."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def read(self, path: str) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    def write(self, path: str, data: bytes) -> None:
        self.files[path] = data

    def picture(self, drawing: Any) -> bytes:
        return str(drawing).encode()


def test_a_saved_run_goes_on_where_it_was() -> None:
    shelf = Shelf()
    table = table_in("shop", files=shelf)
    assert call(table, "save", path="run") == {"success": True, "path": "run"}
    state = call(table, "gamestate")
    after = call(table, "buy", card=0)
    other = LiveTable(files=shelf)
    assert call(other, "load", path="run") == {"success": True, "path": "run"}
    assert call(other, "gamestate") == state
    assert call(other, "buy", card=0) == after


@pytest.mark.parametrize("damage", [b"", b"CORRUPTED\x00", b"jimbot-balatro-save\nxxxx", None])
def test_a_damaged_save_is_refused(damage: bytes | None) -> None:
    shelf = Shelf()
    table = table_in("shop", files=shelf)
    call(table, "save", path="run")
    shelf.files["bad"] = shelf.files["run"][:-9] if damage is None else damage
    assert refusal(table, "load", {"path": "bad"})[0] == INSIDE
    assert refusal(table, "load", {"path": "none"})[0] == INSIDE


# --- traps ---


def test_traps_swallow_answers_but_not_moves() -> None:
    table = table_in("hand", traps=Traps(sell=True))
    call(table, "add", key="j_invisible")
    with pytest.raises(NeverAnsweredError):
        table.call("sell", {"joker": 0})
    assert call(table, "gamestate")["jokers"]["count"] == 0
    table = table_in("hand", traps=Traps(clicks=True))
    with pytest.raises(NeverAnsweredError):
        table.call("play", {"cards": [0, 0]})
    assert call(table, "gamestate")["round"]["hands_left"] == 4


def test_a_tags_pack_is_never_answered_in_1x() -> None:
    for seed in (f"TAG{number}" for number in range(1, 400)):
        table = table_in("blind", seed=seed, traps=Traps(tag_pack=True))
        if call(table, "gamestate")["blinds"]["small"]["tag_name"] == "Charm Tag":
            break
    with pytest.raises(NeverAnsweredError):
        table.call("skip")
    assert call(table, "gamestate")["state"] == "SMODS_BOOSTER_OPENED"
    with pytest.raises(NeverAnsweredError):
        table.call("pack", {"skip": True})
    assert call(table, "gamestate")["state"] == "BLIND_SELECT"


def test_slow_answers_show_an_unfinished_table() -> None:
    table = table_in("shop", traps=Traps(slow_reroll=True, slow_deal=True))
    answer = call(table, "reroll")
    assert (answer["shop"]["cards"], answer["shop"]["count"]) == ([], 2)
    assert call(table, "gamestate")["shop"]["cards"] == []
    assert len(call(table, "gamestate")["shop"]["cards"]) == 2
    call(table, "next_round")
    assert len(call(table, "select")["hand"]["cards"]) == 4
    call(table, "gamestate")
    assert len(call(table, "gamestate")["hand"]["cards"]) == 8


def test_nothing_leaks_unless_asked() -> None:
    fair, leaky = (table_in("hand", "dev", fair=kind) for kind in (True, False))
    shown = [[card["id"] for card in call(table, "gamestate")["cards"]["cards"]] for table in (fair, leaky)]
    assert shown[0] == sorted(shown[1]) != shown[1]
    assert shown[1][-1] == int(leaky.g.card_serial[leaky.g.pile[leaky.g.pile_count - 1]])  # the next card is the last
    for table, keys in ((fair, {""}), (leaky, None)):
        call(table, "menu")
        call(table, "start", deck="b_red", stake="stake_white", seed="TEST123")
        call(table, "set", boss="bl_house")
        call(table, "skip")
        call(table, "skip")
        state = call(table, "select")
        assert all(card["state"] == {"hidden": True} for card in state["hand"]["cards"])
        assert keys is None or {card["key"] for card in state["hand"]["cards"]} == keys


def test_every_state_of_these_tests_can_be_reached() -> None:
    for dialect in d.DIALECTS:
        for state in STATES:
            json.loads(table_in(state, dialect).call("gamestate"))


def test_a_refusal_is_an_answer() -> None:
    with pytest.raises(RefusedError) as caught:
        LiveTable().call("play", {"cards": [0]})
    assert caught.value.name == STATE
