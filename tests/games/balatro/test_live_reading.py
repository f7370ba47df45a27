"""Live states read back: the simulator's own observation and mask at every decision, and nothing hidden with them."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jimbot.errors import UsageError
from jimbot.games.balatro.game import BalatroGame
from jimbot.games.balatro.heuristic import Heuristic
from jimbot.games.balatro.live.follower import Follower
from jimbot.games.balatro.live.memory import UNKNOWN
from jimbot.games.balatro.live.table import LiveTable
from jimbot.games.balatro.options import Options
from jimbot.games.balatro.rules.state import SELECTING_HAND
from jimbot.games.balatro.states import dialects as d
from jimbot.games.contract import game_entry
from tests.games.balatro.breaking import break_state
from tests.games.balatro.live_games import follow, journey, random_player
from tests.games.balatro.live_tables import table_in

EXCEPTIONS: dict[str, int] = {}
"""What reading a followed game gets wrong, by name, and how often over the long test: nothing."""


def heuristic() -> Any:
    scripted = Heuristic()
    return lambda game, luck: int(scripted.act(game.observation, game.legal_mask)[0][0])


# --- the round trip ---


@pytest.mark.parametrize("number", range(6))
def test_a_followed_game_shows_what_the_simulator_shows(number: int) -> None:
    if number % 2:
        found = follow(journey(number, helpers=True), heuristic(), most=50)
    else:
        found = follow(journey(number), random_player, most=40)
    assert found.pop("decisions") > 0
    assert found == {}


def wanderer() -> Any:
    """Plays rounds well and does anything at all between them, so that odd games go far."""
    scripted = heuristic()

    def act(game: BalatroGame, luck: np.random.Generator) -> int:
        in_round = game.games[0].phase == SELECTING_HAND and luck.random() < 0.98
        return scripted(game, luck) if in_round else random_player(game, luck)

    return act


@pytest.mark.long
@pytest.mark.parametrize(
    ("who", "games", "decisions"),
    [("random", 150, 1_000), ("wanderer", 60, 1_500), ("heuristic", 90, 5_000), ("shipped", 60, 5_000)],
)
def test_the_round_trip_over_many_games(who: str, games: int, decisions: int) -> None:
    players = {"random": lambda: random_player, "wanderer": wanderer, "heuristic": heuristic, "shipped": shipped}
    player, helpers = players[who](), who in ("wanderer", "heuristic")
    found: Counter[str] = Counter()
    for number in range(games):
        found += follow(journey(number, helpers), player)
    assert found.pop("decisions") > decisions
    assert found == EXCEPTIONS


def shipped() -> Any:
    from jimbot.policies.players import find_player

    policy = find_player("balatro").policy
    return lambda game, luck: int(policy.act(game.observation, game.legal_mask, True)[0][0])


# --- hidden things stay hidden ---


def boss_round(boss: str, jokers: tuple[str, ...] = ()) -> dict[str, Any]:
    """The first hand against a boss, as the mod leaks it."""
    table = LiveTable("dev", fair=False)
    table.call("start", {"deck": "b_red", "stake": "stake_white", "seed": "TEST123"})
    table.call("set", {"boss": boss})
    table.call("skip")
    table.call("skip")
    state = table.call("select")
    for joker in jokers:
        state = table.call("add", {"key": joker})
    return json.loads(state)


def permuted(state: dict[str, Any], seed: int) -> dict[str, Any]:
    """The same to a fair player: other cards face down, another order of the deck and of face-down jokers."""
    luck = np.random.default_rng(seed)
    state = json.loads(json.dumps(state))
    hand, deck = state["hand"]["cards"], state["cards"]["cards"]
    hidden = [place for place, card in enumerate(hand) if card["state"] and card["state"].get("hidden")]
    faces = state["blinds"]["boss"]["key"] == "bl_mark"
    loose = [n for n, card in enumerate(deck) if not faces or card["value"]["rank"] in "JQK"]
    cards = [hand[place] for place in hidden] + [deck[n] for n in loose]
    order = luck.permutation(len(cards))
    for target, source in enumerate(order):
        card = {**cards[source], "state": {"hidden": True}}
        if target < len(hidden):
            hand[hidden[target]] = card
        else:
            deck[loose[target - len(hidden)]] = card
    state["cards"]["cards"] = [deck[n] for n in luck.permutation(len(deck))]
    return state


def record_of(state: dict[str, Any]) -> bytes:
    follower = Follower()
    follower.see(state)
    return follower.game.games.tobytes() + follower.game.observation.tobytes() + follower.game.legal_mask.tobytes()


@pytest.mark.parametrize("boss", ["bl_house", "bl_mark", "bl_wheel", "bl_hook"])
def test_what_a_fair_player_cannot_know_changes_nothing(boss: str) -> None:
    state = boss_round(boss)
    read = record_of(state)
    for seed in range(4):
        assert record_of(permuted(state, seed)) == read


def test_a_followed_game_does_not_look_at_the_order_of_the_deck() -> None:
    reads = []
    for seed in (None, 1, 2):
        table, follower = LiveTable("1.x", fair=False), Follower()
        follower.see(json.loads(table.call("start", {"deck": "RED", "stake": "WHITE", "seed": "TEST123"})))
        state = json.loads(table.call("select"))
        if seed is not None:
            luck = np.random.default_rng(seed)
            state["cards"]["cards"] = [state["cards"]["cards"][n] for n in luck.permutation(44)]
        follower.see(state, follower.request(_action(follower.game, "select")))
        assert follower.exact
        reads.append(follower.game.games.tobytes() + follower.game.observation.tobytes())
    assert len(set(reads)) == 1


def _action(game: BalatroGame, label: str) -> int:
    return game.spec.actions.labels.index(label)


def test_a_face_down_card_is_blank_and_counts_as_one_of_the_deck() -> None:
    state = boss_round("bl_house")
    follower = Follower()
    follower.see(state)
    observation, spec = follower.game.observation[0], follower.game.spec.observation
    assert not observation[spec.span("hand_card")].any()
    assert observation[spec.span("deck_left")].sum() * 4 == 52


# --- what is known, and what is not ---


def test_joining_half_way_names_what_it_assumes() -> None:
    state = boss_round("bl_hook", ("j_ride_the_bus",))
    follower = Follower()
    follower.see(state)
    assert not follower.exact
    assert {"joker_values", "targets", "disabled", "last_hand", "counts"} <= follower.unknown
    assert "tags" not in follower.unknown  # dev shows them


def test_the_page_lists_all_that_may_be_unknown() -> None:
    page = (Path(__file__).parents[3] / "docs" / "games" / "live-balatro.md").read_text()
    listed = re.findall(r"^\| `(\w+)` \| .+ \| .+ \|$", page, re.MULTILINE)
    assert sorted(listed) == sorted(UNKNOWN)


def test_a_joined_game_learns_from_the_moves() -> None:
    table, follower = LiveTable("1.x"), Follower()
    table.call("start", {"deck": "RED", "stake": "WHITE", "seed": "TEST123"})
    table.call("set", {"money": 50})  # from here on the simulator of the seed knows another balance
    follower.see(json.loads(table.call("select")))
    assert not follower.exact
    assert "last_hand" in follower.unknown
    call = follower.request(_action(follower.game, "play 1"))
    assert call is not None
    follower.see(json.loads(table.call(*call)), call)
    assert "last_hand" not in follower.unknown
    assert follower.game.games[0].last_hand == table.g.last_hand


def test_whether_a_call_was_made_is_told_by_the_state() -> None:
    table, follower = LiveTable("1.x"), Follower()
    before = json.loads(table.call("start", {"deck": "RED", "stake": "WHITE", "seed": "TEST123"}))
    follower.see(before)
    call = follower.request(_action(follower.game, "skip"))
    assert call is not None
    follower.see(before, call)
    assert follower.happened is False
    follower.see(json.loads(table.call(*call)), call)
    assert follower.happened is True
    assert follower.exact


def test_a_choice_is_built_here_and_made_there() -> None:
    table, follower = LiveTable("1.x"), Follower()
    follower.see(json.loads(table.call("start", {"deck": "RED", "stake": "WHITE", "seed": "TEST123"})))
    follower.see(json.loads(table.call("select")), follower.request(_action(follower.game, "select")))
    assert follower.request(_action(follower.game, "choose 2")) is None
    assert follower.request(_action(follower.game, "choose 5")) is None
    call = follower.request(_action(follower.game, "play_chosen"))
    assert call == ("play", {"cards": [1, 4]})


def test_a_dialect_plays_only_what_it_has_calls_for() -> None:
    for dialect, sorts in (("1.x", False), ("dev", True)):
        table, follower = LiveTable(dialect), Follower()
        names = d.find_dialect(dialect)
        start = {"deck": names.decks[0], "stake": names.stakes[1], "seed": "TEST123"}
        follower.see(json.loads(table.call("start", start)))
        follower.see(json.loads(table.call("select")), follower.request(_action(follower.game, "select")))
        mask = follower.playable_mask()
        assert mask[_action(follower.game, "sort by suit")] == sorts
        assert follower.game.legal_mask[0, _action(follower.game, "sort by suit")]
        assert mask[_action(follower.game, "play 1")]


# --- what cannot be read ---


def broken(**changes: Any) -> dict[str, Any]:
    return {**boss_round("bl_hook", ("j_joker",)), **changes}


def with_joker(key: str) -> dict[str, Any]:
    state = broken()
    state["jokers"]["cards"][0]["key"] = key
    return state


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ([], "no text 'state'"),
        ({"state": "MENU"}, "MENU"),
        ({"state": "HAND_PLAYED"}, "HAND_PLAYED"),
        ({"state": "SHOP", "deck": "b_modded"}, "b_modded"),
        ({**{"state": "SHOP", "deck": "RED"}}, "cards"),
    ],
)
def test_what_is_no_state_is_refused_in_a_sentence(state: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Follower().see(state)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: with_joker("j_mod_lamp"), "j_mod_lamp"),
        (lambda: broken(money=float("nan")), "money"),
        (lambda: broken(money="9"), "money"),
        (lambda: broken(stake="stake_pink"), "stake_pink"),
        (lambda: broken(used_vouchers={"v_mod": ""}), "v_mod"),
        (lambda: broken(hand={"cards": [{"set": "MODDED"}]}), "MODDED"),
        (lambda: broken(hand={"cards": 5}), "hand"),
        (lambda: broken(blinds={"small": {"status": "SLEEPING"}}), "SLEEPING"),
    ],
)
def test_what_a_mod_brings_is_named(make: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Follower().see(make())


# --- for the decision service ---


@pytest.mark.parametrize(("form", "dialect"), [("balatrobot/1", "1.x"), ("balatrobot/dev", "dev")])
def test_a_request_may_carry_a_live_state(form: str, dialect: str) -> None:
    table, names = LiveTable(dialect), d.find_dialect(dialect)
    table.call("start", {"deck": names.decks[0], "stake": names.stakes[1], "seed": "TEST123"})
    state = table.call("select")
    entry = game_entry("balatro")
    sight = entry.foreign_states[form](state.encode(), Options())
    wrapped = entry.foreign_states[form](f'{{"jsonrpc":"2.0","result":{state},"id":1}}'.encode(), Options())
    assert np.array_equal(sight.observation, wrapped.observation)
    action = entry.spec.actions.labels.index("play 1")
    assert sight.legal_mask[action]
    assert sight.words is not None
    assert "A♠" in str(sight.words(action))
    with pytest.raises(UsageError, match="damaged"):
        entry.foreign_states[form](state[:-9].encode(), Options())


# --- states that somebody broke ---


@pytest.mark.parametrize("dialect", d.DIALECTS)
def test_a_broken_state_is_read_or_refused_in_a_sentence(dialect: str) -> None:
    luck = np.random.default_rng(5)
    whole = {
        name: table_in(name, dialect, fair=False).call("gamestate") for name in ("shop", "arcana pack", "magician")
    }
    refused = 0
    for name in [*whole] * 40:
        state = json.loads(whole[name])
        break_state(state, luck)
        try:
            Follower().see(state)
        except UsageError:
            refused += 1
    assert refused > 20
