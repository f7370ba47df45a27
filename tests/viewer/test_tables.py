"""Games on the page: frames of a policy, of a recording, of a person who may ask."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from jimbot.errors import UsageError
from jimbot.games.contract import game_entry, make
from jimbot.games.recording import begin_recording, read_recording
from jimbot.planning import Planner, planning
from jimbot.policies.players import find_player
from jimbot.services.decision import DecisionService
from jimbot.services.decision.served import ServedPolicy
from jimbot.services.live_host import FolderFiles, LiveHost
from jimbot.services.mcp.open_games import LiveGame
from jimbot.viewer import tables as viewer_tables
from jimbot.viewer.http.games import followed_game, live_game
from jimbot.viewer.tables import (
    MOST_MOVES,
    PageGame,
    PageGames,
    PersonGame,
    policy_game,
    policy_reference,
    recorded_game,
)
from tests.conftest import needs
from tests.services.running import running


def finished(table: PageGame) -> PageGame:
    until = time.monotonic() + 120
    while not table.done:
        assert time.monotonic() < until
        time.sleep(0.01)
    return table


def shows(table: PageGame, frames: int) -> None:
    until = time.monotonic() + 120
    while table.document(0)["count"] < frames:
        assert time.monotonic() < until
        assert not table.complaint
        time.sleep(0.05)


def test_a_policys_game_is_frames_that_tell_what_it_thought() -> None:
    player = find_player("random", "probe")
    table = finished(policy_game(player, "42", stochastic=False))
    assert not table.complaint
    assert (table.about["seed"], len(table.frames)) == ("42", 9)  # eight moves and the end
    first, last = table.frames[0], table.frames[-1]
    json.dumps(table.document(0), allow_nan=False)
    assert [move["chosen"] for move in first["moves"]].count(True) == 1
    assert len(first["moves"]) <= MOST_MOVES
    assert sum(move["share"] for move in first["moves"]) == pytest.approx(1.0, abs=1e-3)
    assert first["scene"]["kind"] == "text"
    assert last["over"]
    assert last["total"] == pytest.approx(sum(frame["reward"] for frame in table.frames[:-1]))
    again = finished(policy_game(player, "42", stochastic=False))
    assert again.frames == table.frames, "a link to a move must show the same move to everybody"


def test_a_policy_that_plans_plays_better_on_the_page_and_gives_its_copies_back() -> None:
    """Chance opens no door of this game; whoever tries the doors out first opens five of eight."""
    player = planning(find_player("random", "probe"), 16)
    table = finished(policy_game(player, "42", stochastic=False))
    assert not table.complaint
    assert (table.about["policy"], table.frames[-1]["stats"]) == ("random +16", {"matches": 5.0})
    assert all(sum(move["chosen"] for move in frame["moves"]) == 1 for frame in table.frames[:-1])
    assert isinstance(player.policy, Planner)
    assert player.policy.report.planned == 8
    assert player.policy._rollouts is None
    alone = finished(policy_game(find_player("random", "probe"), "42", stochastic=False))
    assert alone.frames[-1]["stats"] == {"matches": 0.0}


def test_a_recording_shows_its_moves_and_what_another_would_have_done() -> None:
    game = make("probe", 1)
    game.reset(np.array([7], np.uint64))
    recorder, total = begin_recording(game, 7, {}), 0.0
    for _ in range(8):
        action = int(game.legal_mask[0].argmax())
        recorder.note(action)
        game.step(np.array([action]))
        total += float(game.reward[0])
    recorded = read_recording(recorder.finish(total).to_json())
    table = finished(recorded_game(recorded, find_player("random", "probe")))
    assert not table.complaint
    moves = [frame["move"] for frame in table.frames]
    assert (len(moves), moves[-1], all(moves[:-1])) == (9, None, True)
    assert table.frames[0]["moves"]
    with pytest.raises(UsageError, match="plays balatro"):
        recorded_game(recorded, find_player("balatro"))


def test_a_policy_that_is_served_plays_like_the_one_at_hand() -> None:
    """`grpc://HOST:PORT/GAME` on the page: decisions come from the service, the game is played here."""
    player = find_player("random", "probe")
    service = DecisionService()
    service.add(ServedPolicy.make(player.entry, player.policy, player.manifest, "mine"))
    with running(service) as door:
        served = find_player(f"grpc://{door.address}/probe", "probe")
        table = finished(policy_game(served, "42", stochastic=False))
        assert not table.complaint
        assert (table.about["game"], len(table.frames)) == ("probe", 9)
        assert all(frame["moves"] for frame in table.frames[:-1])
    away = finished(policy_game(served, "43", stochastic=False))
    assert door.address in away.complaint


@pytest.mark.parametrize("opponent", [None, "heuristic", "random"])
def test_the_chance_in_a_battle_names_the_opponent(opponent: str | None) -> None:
    needs("vgc")
    other = None if opponent is None else find_player(opponent, "vgc")
    table = finished(policy_game(find_player("vgc"), "42", False, other))
    facing = "" if opponent == "random" else " against heuristic"
    decided = [frame for frame in table.frames if frame["moves"]]
    assert decided
    assert {frame["facing"] for frame in decided} == {facing}
    assert all((frame["chance"] is None) == (not facing) for frame in decided)


@pytest.mark.long
def test_both_sides_of_a_battle_think_on_the_page() -> None:
    table = finished(policy_game(find_player("vgc"), "42", False, find_player("random", "vgc")))
    assert not table.complaint
    assert table.frames[-1]["over"]
    assert table.about["opponent"]
    assert table.frames[1]["scene"]["kind"] == "battle"
    assert len(table.frames[1]["scene"]["sides"]) == 2
    assert any(frame.get("opponent", {}).get("moves") for frame in table.frames)


def test_a_person_plays_is_refused_in_sentences_and_may_ask() -> None:
    table = PersonGame(game_entry("probe"), "3", {})
    while not table.frames:
        time.sleep(0.01)
    random = find_player("random", "probe")
    for text in ("", "nonsense", "<b>door</b>"):
        with pytest.raises(UsageError, match="no move here"):
            table.move(text)
    assert table.ask(random)["moves"]
    with pytest.raises(UsageError, match="ask a policy of probe"):
        table.ask(find_player("balatro"))
    for _ in range(8):
        table.move(table.frames[-1]["offers"][0]["text"])
    assert table.done
    assert table.frames[-1]["stats"].keys() == {"matches"}
    with pytest.raises(UsageError, match="over"):
        table.move("door 1 red")
    table.close()


def test_a_policy_that_breaks_is_a_sentence_not_a_dead_page() -> None:
    player = find_player("random", "probe")

    class Broken:
        name = "broken"

        def act(self, *_: object) -> None:
            raise ValueError("no idea")

    table = finished(policy_game(replace(player, policy=Broken()), "1", stochastic=False))
    assert "no idea" in table.complaint


def test_only_so_many_tables_are_kept() -> None:
    tables = PageGames(most=2)
    names = [tables.add(PageGame()) for _ in range(3)]
    with pytest.raises(UsageError, match="open it again"):
        tables.get(names[0])
    assert tables.get(names[2]).frames == []


def test_runs_go_by_their_key_and_everything_else_by_name(tmp_path: Path) -> None:
    roots = (tmp_path / "a", tmp_path / "b")
    assert policy_reference("1/mine", "", roots) == ("mine", roots[1])
    assert policy_reference("1/mine", "000012", roots)[0] == str(roots[1] / "mine" / "checkpoints" / "000012")
    assert policy_reference("balatro", "", roots) == ("balatro", roots[0])
    assert policy_reference("9/mine", "", roots) == ("9/mine", roots[0])


@pytest.mark.long  # it waits a minute for a game that may still start
def test_a_live_game_that_nobody_runs_is_a_sentence() -> None:
    table = finished(live_game(find_player("random", "balatro"), "http://127.0.0.1:1", ""))
    assert "127.0.0.1:1" in table.complaint
    assert not table.frames


@pytest.mark.long
def test_a_policy_plays_the_game_of_another_program() -> None:
    live = game_entry("balatro").live
    assert live is not None
    host = LiveHost([live.host("1.x", True, (), FolderFiles())]).start()
    try:
        table = finished(live_game(find_player("random", "balatro"), f"http://127.0.0.1:{host.ports[0]}", "7LB2WVPK"))
    finally:
        host.stop()
    assert not table.complaint
    assert table.frames[-1]["over"]
    assert table.frames[0]["scene"]["kind"] == "cards"


@pytest.mark.long
def test_the_game_of_another_program_is_followed_while_it_is_played(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page looks on, says what a policy would do, and stops asking when nobody looks any more."""
    entry = game_entry("balatro")
    assert entry.live is not None
    host = LiveHost([entry.live.host("1.x", True, (), FolderFiles())]).start()
    address = f"http://127.0.0.1:{host.ports[0]}"
    try:
        playing = LiveGame(entry, {}, "7LB2WVPK", address)
        table = followed_game(entry, address, find_player("balatro"))
        for seen in range(1, 4):
            shows(table, seen)
            playing.act(int(playing.legal()[0]))
        shows(table, 4)
        monkeypatch.setattr(viewer_tables, "FORGOTTEN_SECONDS", 0.0)
        finished(table)
    finally:
        host.stop()
    assert not table.complaint
    assert all(frame["moves"] for frame in table.frames[:4])
    assert {frame["scene"]["kind"] for frame in table.frames} == {"cards"}
    with pytest.raises(UsageError, match="cannot be followed"):
        followed_game(game_entry("probe"), address, None)


@pytest.mark.long
def test_a_balatro_transcript_is_drawn_move_by_move_with_advice() -> None:
    player = find_player("balatro")
    game = make("balatro", 1, options=player.options)
    game.reset(np.array([7], np.uint64))
    recorder = begin_recording(game, 7, player.options)
    for _ in range(30):
        action = int(player.policy.act(game.observation, game.legal_mask).actions[0])
        recorder.note(action)
        game.step(np.array([action]))
    table = finished(recorded_game(read_recording(recorder.finish(0.0).to_json()), player))
    assert not table.complaint
    assert {frame["scene"]["kind"] for frame in table.frames} == {"cards"}
    assert all(frame["moves"] for frame in table.frames[:-1])
    person = PersonGame(game_entry("balatro"), "7LB2WVPK", player.options)
    while not person.frames:
        time.sleep(0.05)
    for text in ("select", "play 1 2", "discard 1"):
        person.move(text)
    assert person.ask(player)["moves"]
    assert any(offer["zone"] == "hand" for offer in person.frames[-1]["offers"])
