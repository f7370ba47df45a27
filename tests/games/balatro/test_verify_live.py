"""Recordings of live games, written in every form that bots write, read back and held against the simulator."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jimbot.errors import UsageError
from jimbot.games.balatro.live.door import simple_move
from jimbot.games.balatro.live.refusals import RefusedError, Traps
from jimbot.games.balatro.live.table import LiveTable
from jimbot.games.balatro.verify import verify_directory
from jimbot.games.verification import FileReport

Exchange = tuple[dict[str, Any], dict[str, Any]]
"""Request and answer, as they went over the wire."""


class Bot:
    """Plays a little of everything and keeps what went over the wire."""

    def __init__(self, dialect: str = "1.x", traps: Traps = Traps(), fair: bool = True) -> None:
        self.table = LiveTable(dialect, fair, traps)
        self.wire: list[Exchange] = []

    def call(self, method: str, **params: Any) -> dict[str, Any] | None:
        request = {"jsonrpc": "2.0", "method": method, "params": params, "id": len(self.wire) + 1}
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            answer["result"] = json.loads(self.table.call(method, params))
        except RefusedError as refusal:
            answer["error"] = {"code": -32001, "message": refusal.message, "data": {"name": refusal.name}}
        self.wire.append((request, answer))
        return answer.get("result")

    def play(self, seed: str, moves: int = 40) -> list[Exchange]:
        deck, stake = ("RED", "WHITE") if self.table.dialect.name == "1.x" else ("b_red", "stake_white")
        self.call("menu")
        state = self.call("start", deck=deck, stake=stake, seed=seed)
        for _ in range(moves):
            assert state is not None
            if state["state"] == "SHOP":
                self.call("buy", card=0)
                self.call("reroll")
                self.call("gamestate")
                self.call("buy", voucher=0)
                self.call("sell", joker=0)
            if state["state"] == "SELECTING_HAND" and state["round"]["discards_left"]:
                kept = most_of_a_kind(state)
                self.call("discard", cards=[place for place in range(8) if place not in kept[:3]][:5])
            state = self.call("gamestate")
            if state is None or state["state"] == "GAME_OVER":
                break
            chosen = simple_move(state)
            assert chosen is not None
            if chosen.method == "play":
                state = self.call("play", cards=most_of_a_kind(state))
            else:
                state = self.call(chosen.method, **chosen.params)
        return self.wire


def most_of_a_kind(state: dict[str, Any]) -> list[int]:
    """Five cards, those whose ranks come most often first."""
    ranks = [card["value"]["rank"] for card in state["hand"]["cards"]]
    return sorted(range(len(ranks)), key=lambda place: -ranks.count(ranks[place]))[:5]


@pytest.fixture(scope="module")
def wire() -> list[Exchange]:
    return Bot().play("7LB2WVPK", 12)


def paired(wire: list[Exchange]) -> list[Any]:
    return [{"request": request, "response": answer, "ms": 3} for request, answer in wire]


def interleaved(wire: list[Exchange]) -> list[Any]:
    return [line for pair in wire for line in pair]


def with_actions(wire: list[Exchange]) -> list[Any]:
    done = [(request, answer["result"]) for request, answer in wire if "state" in answer.get("result", {})]
    return [{"action": {"method": r["method"], "params": r["params"]}, "state": state}
            if r["method"] != "gamestate" else state for r, state in done]  # fmt: skip


def polled(wire: list[Exchange]) -> list[Any]:
    return [answer["result"] for _, answer in wire if "state" in answer.get("result", {})]


def check(folder: Path, lines: list[Any], name: str = "live.jsonl") -> FileReport:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    (report,) = verify_directory(folder / name)
    return report


@pytest.mark.parametrize("form", [paired, interleaved, with_actions])
def test_every_form_of_a_recording_agrees(tmp_path: Path, wire: list[Exchange], form: Callable[..., list[Any]]) -> None:
    report = check(tmp_path, form(wire))
    assert (report.unit, report.entries, report.agreeing) == ("runs", 1, 1), report.differences
    assert report.values > 300


def test_polled_states_are_followed_as_long_as_only_one_way_leads_on(tmp_path: Path, wire: list[Exchange]) -> None:
    states = polled(wire)
    end = next(number for number, state in enumerate(states) if state["state"] == "ROUND_EVAL")
    assert check(tmp_path, states[:end]).agreeing == 1
    report = check(tmp_path, states)  # which cards beat the blind is not shown once it is beaten
    assert (report.undecided, report.differing) == (1, 0)
    (doubt,) = report.doubts
    assert (doubt.field, doubt.recorded) == ("action", "none")
    assert doubt.simulated.startswith("knows ")


def test_a_state_that_differs_is_shown_with_both_values(tmp_path: Path, wire: list[Exchange]) -> None:
    lines = json.loads(json.dumps(paired(wire)))
    place = next(number for number, line in enumerate(lines) if line["request"]["method"] == "cash_out")
    lines[place]["response"]["result"]["shop"]["cards"][1]["cost"]["buy"] += 1
    lines[place + 1 :] = []
    report = check(tmp_path, lines)
    assert report.differing == 1
    (difference,) = report.differences
    assert (difference.seed, difference.step, difference.field) == ("7LB2WVPK", place + 1, "shop[1].buy")
    assert difference.recorded == difference.simulated + 1


def test_a_move_that_the_rules_do_not_have_is_a_difference(tmp_path: Path, wire: list[Exchange]) -> None:
    start = paired(wire)[:2]
    done = {"request": {"method": "cash_out", "params": {}, "id": 9}, "response": start[1]["response"]}
    (difference,) = check(tmp_path, [*start, done]).differences
    assert (difference.field, difference.recorded) == ("legal", "cash_out {}")


def test_two_files_of_requests_and_responses_are_one_recording(tmp_path: Path, wire: list[Exchange]) -> None:
    """As the mod's own log has them; ids that are used again are paired in their order."""
    for name, part in (("requests-12346.jsonl", 0), ("responses-12346.jsonl", 1)):
        lines = [{**pair[part], "id": 1} for pair in wire]
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    (report,) = verify_directory(tmp_path)
    assert (report.file, report.agreeing) == ("requests-12346.jsonl", 1), report.differences
    (report,) = verify_directory(tmp_path / "responses-12346.jsonl")
    assert report.agreeing == 1


def test_unfinished_answers_and_busy_states_are_no_difference(tmp_path: Path) -> None:
    wire = Bot(traps=Traps(slow_deal=True, slow_reroll=True), fair=False).play("4WAX5M4D", 12)
    lines = paired(wire)
    lines.insert(4, {**wire[3][1]["result"], "state": "HAND_PLAYED"})
    report = check(tmp_path, lines)
    assert (report.agreeing, report.entries) == (1, 1), report.differences


def test_what_a_poll_missed_is_found_where_only_one_way_leads_there(tmp_path: Path) -> None:
    bot = Bot("dev")
    bot.call("start", deck="b_red", stake="stake_white", seed="7LB2WVPK")
    first = bot.wire[-1][1]["result"]
    bot.call("select")
    played = bot.call("play", cards=[0, 1, 2])
    discarded = bot.call("discard", cards=[4])
    assert check(tmp_path, [first, played, discarded]).agreeing == 1
    for _ in range(3):
        last = bot.call("play", cards=[0])
    report = check(tmp_path, [first, played, discarded, last])
    assert report.agreeing == 0, "three plays are more than can be told"


def test_runs_without_a_beginning_and_debug_methods_prove_nothing(tmp_path: Path, wire: list[Exchange]) -> None:
    report = check(tmp_path, polled(wire)[6:])
    assert (report.undecided, report.differing) == (1, 0)
    bot = Bot()
    bot.play("7LB2WVPK", 1)
    bot.call("set", money=500)
    bot.call("gamestate")
    report = check(tmp_path, paired(bot.wire))
    assert (report.undecided, report.differing) == (1, 0)


def test_several_runs_are_several_entries(tmp_path: Path) -> None:
    bot = Bot("dev")
    bot.play("7LB2WVPK", 4)
    bot.play("4WAX5M4D", 4)
    report = check(tmp_path, interleaved(bot.wire))
    assert (report.entries, report.agreeing) == (2, 2), report.differences
    looked = [line for line in with_actions(bot.wire) if line.get("action", {}).get("method") not in ("menu", "start")]
    report = check(tmp_path, [line for line in looked if line.get("state") != "MENU"])
    assert (report.entries, report.agreeing) == (2, 2), "another seed is another run"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ('{"messages": []}\n', "Line 1 with the keys messages is nothing of a live game"),
        ("[1]\n", "has something else than a JSON object in line 1"),
        ('{"method": 5, "id": 1}\n', "the method 5"),
        ('{"state": "SHOP", "round_num": NaN}\n', "NaN"),
        ('{"state": "SHOP", "round', "holds nothing to compare"),
    ],
)
def test_what_is_no_recording_is_told_in_a_sentence(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "bot.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError, match=words):
        list(verify_directory(path))


def test_a_recording_that_was_cut_off_is_read_to_its_last_whole_line(tmp_path: Path, wire: list[Exchange]) -> None:
    path = tmp_path / "session.jsonl"
    text = "".join(json.dumps(line) + "\n" for line in paired(wire))
    path.write_text(text[:-200])
    (report,) = verify_directory(path)
    assert report.agreeing == 1


def test_things_of_a_mod_are_named(tmp_path: Path, wire: list[Exchange]) -> None:
    lines = json.loads(json.dumps(polled(wire)))
    shop = next(line for line in lines if line["state"] == "SHOP")
    shop["shop"]["cards"][0]["key"] = "j_cryptid_googol"
    (difference,) = check(tmp_path, lines).differences
    assert "j_cryptid_googol" in str(difference.simulated)
