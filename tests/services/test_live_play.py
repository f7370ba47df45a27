"""Playing live games: our client against our host with the mod's faults switched on, and against servers that are none.

The host is a real one on a real socket. Deadlines are short, so that calls that are never answered cost little.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jimbot.cli import main
from jimbot.errors import UsageError
from jimbot.games.contract import game_entry
from jimbot.games.hooks.programs import LiveCall, Standing
from jimbot.policies.players import find_player
from jimbot.services.decision import DecisionService, ServedPolicy
from jimbot.services.live_host import FolderFiles, LiveHost
from jimbot.services.live_play.client import (
    LARGEST_ANSWER,
    AwayError,
    LiveClient,
    LiveError,
    RefusedError,
    UnansweredError,
)
from jimbot.services.live_play.driver import LiveDriver, Timeouts, check_indices
from jimbot.services.live_play.player import SIMPLE, LivePlayer, PlayedLive, summarised
from jimbot.services.live_play.record import LiveRecord
from tests.services.running import running

ENTRY = game_entry("balatro")
assert ENTRY.live is not None
assert ENTRY.live.play is not None
LIVE, PLAY = ENTRY.live, ENTRY.live.play
QUICK = Timeouts(deadline=0.3, settling=10.0, away=3.0, pause=0.0)
GOLD = {"stake": "gold"}
SHORT = ("111116DK", "1111131A", "111112XY")  # on the Gold Stake the shipped policy loses these early
TRAPS = ("hang=20", "drop=10", "stale-id=15", "slow-reroll", "slow-deal", "tag-pack", "sell", "clicks")


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """The rules are compiled before anybody's deadline runs."""
    LIVE.host("1.x", True, (), FolderFiles()).answer(
        b'{"jsonrpc":"2.0","id":1,"method":"start","params":{"deck":"RED","stake":"WHITE","seed":"ABCDEFGH"}}'
    )


@contextmanager
def hosted(*traps: str, dialect: str = "1.x", fair: bool = True, timeouts: Timeouts = QUICK) -> Generator[LiveDriver]:
    host = LiveHost([LIVE.host(dialect, fair, traps, FolderFiles())]).start()
    driver = LiveDriver(LiveClient(f"http://127.0.0.1:{host.ports[0]}", timeouts.deadline), PLAY, timeouts)
    try:
        driver.connect()
        yield driver
    finally:
        host.stop()


def live_player(driver: LiveDriver, policy: str = "balatro", **more: Any) -> LivePlayer:
    player = find_player(policy, "balatro", {"helpers": True, **more.pop("options", {})})
    fallback = find_player("heuristic", "balatro", player.options)
    return LivePlayer(ENTRY, player, driver, fallback=fallback, **more)


def assert_played(played: PlayedLive) -> None:
    assert played.finished, played.trouble
    assert played.counts["refused"] == 0
    assert played.counts["by heuristic"] == played.counts[f"by {SIMPLE}"] == 0, "every state was read exactly"


# --- whole games ---


def test_games_with_every_quick_trap_at_once_are_played_to_their_end(tmp_path: Path) -> None:
    """The short form of the test below: drops, stale ids and unfinished states in two games."""
    record = LiveRecord(tmp_path / "games.jsonl")
    with hosted("drop=7", "stale-id=9", "slow-reroll", "slow-deal", "tag-pack", "sell", fair=False) as driver:
        playing = live_player(driver, record=record, options=GOLD)
        played = [playing.play(SHORT[0]), playing.play(SHORT[1])]
    record.close()
    for one in played:
        assert_played(one)
        assert one.counts["unanswered"] > 0
    judged = summarised(ENTRY, playing.player, played, "live")
    assert judged.count == 2
    assert judged.illegal_actions == 0
    lines = [json.loads(line) for line in record.path.read_text().splitlines()]
    assert [line["kind"] for line in lines if line["kind"] != "decision"] == ["run", "end", "run", "end"]
    decisions = [line for line in lines if line["kind"] == "decision"]
    assert len(decisions) == sum(one.moves for one in played)
    made = next(line for line in decisions if line["label"] == "select")
    assert made["request"]["method"] == "select"
    assert made["response"]["result"]["state"] == "SELECTING_HAND"
    assert made["state_before"] != made["state_after"]
    assert len(made["legal"]) == len(made["probabilities"])
    assert len(made["policy_hash"]) == 64
    assert made["dialect"] == "1.x"
    assert made["wire_ms"] > 0
    assert ENTRY.verify is not None
    (report,) = ENTRY.verify(record.path)  # every game played is a proof of the simulator
    assert (report.entries, report.agreeing) == (2, 2), report.differences


def test_a_live_game_is_the_game_that_the_simulator_plays() -> None:
    """The same policy on the same seed: the same moves, the same statistics, the same return."""
    from jimbot.evaluation import evaluate

    with hosted(dialect="dev") as driver:
        played = live_player(driver, options=GOLD).play(SHORT[2])
    assert_played(played)
    assert played.result is not None
    simulated = evaluate("balatro", "balatro", bank=[SHORT[2]], options={"helpers": True, **GOLD})
    assert played.moves == simulated.games.lengths[0]
    assert played.result.total_return == pytest.approx(simulated.games.returns[0], abs=1e-4)
    assert played.result.stats == pytest.approx(simulated.games.stats[0], rel=1e-5)


@pytest.mark.long
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("trap", TRAPS)
def test_fifty_games_with_every_trap(trap: str) -> None:
    patient = replace(QUICK, settling=120.0, away=60.0)  # beside other work an answer may take longer than a deadline
    with hosted(trap, "tag-pack", fair=False, timeouts=patient) as driver:
        playing = live_player(driver)
        for number in range(50):
            assert_played(playing.play(f"{TRAPS.index(trap) + 1}TRAP{111 + number}".replace("0", "Z")))


# --- calls that are not answered ---


def test_what_was_not_answered_is_sent_again_only_when_the_state_says_it_did_not_happen() -> None:
    """Every call's connection breaks, by turns before and after it was done: nothing is lost, nothing done twice."""
    with hosted("drop=1") as driver:
        state = driver.begin(live_player(driver)._options, "7LB2WVPK")
        run = PLAY.follow("1.x", live_player(driver)._options)
        run.see(state)
        happened = []
        for call in (LiveCall("select", {}), LiveCall("select", {}), LiveCall("discard", {"cards": [0, 1]})):
            if PLAY.standing(state) is Standing.ASKING and call.method == "select" and True in happened:
                continue
            assert driver.make(call) is None
            state = driver.settled()
            run.see(state, call)
            happened.append(run.happened)
        assert True in happened
        assert False in happened
        assert not run.assumed


def test_indices_that_cancel_each_other_are_never_sent() -> None:
    with pytest.raises(UsageError, match=r"'play' names cards \[0, 0\], one of them twice"):
        check_indices(LiveCall("play", {"cards": [0, 0]}))


def test_a_run_that_is_joined_half_way_is_played_by_the_scripted_player_or_not_at_all() -> None:
    with hosted() as driver:
        driver.begin(live_player(driver, options=GOLD)._options, SHORT[0])
        driver.make(LiveCall("select", {}))
        driver.make(LiveCall("play", {"cards": [0, 1, 2, 3, 4]}))
        given_up = live_player(driver, unread="stop", options=GOLD).play(join=True)
        assert not given_up.finished
        assert "cannot be read exactly" in given_up.trouble
        assert given_up.moves == 0
        played = live_player(driver, options=GOLD).play(join=True)
        assert played.finished, played.trouble
        assert played.counts["by heuristic"] > 0


def test_the_dialect_is_told_by_what_the_server_offers() -> None:
    for dialect in ("1.x", "dev"):
        with hosted(dialect=dialect) as driver:
            assert driver.dialect == dialect


def test_a_game_that_is_away_is_started_again_by_the_users_command(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    host = tmp_path / "host.py"
    host.write_text(
        "import json\nfrom http.server import BaseHTTPRequestHandler, HTTPServer\n"
        "class Mod(BaseHTTPRequestHandler):\n"
        "    def do_POST(self):\n"
        "        asked = json.loads(self.rfile.read(int(self.headers['Content-Length'])))\n"
        "        result = {'methods': [{'name': 'gamestate'}]}\n"
        "        body = json.dumps({'jsonrpc': '2.0', 'result': result, 'id': asked['id']}).encode()\n"
        "        self.send_response(200)\n        self.send_header('Content-Length', str(len(body)))\n"
        "        self.end_headers()\n        self.wfile.write(body)\n"
        f"HTTPServer(('127.0.0.1', {port}), Mod).serve_forever()\n"
    )
    command = f"{sys.executable} {host}"
    timeouts = Timeouts(deadline=5.0, settling=30.0, away=60.0, pause=0.05, restarts=1)
    driver = LiveDriver(LiveClient(f"http://127.0.0.1:{port}", 5.0), PLAY, timeouts, command)
    try:
        assert driver.connect() == "1.x"
        assert driver.counts["restarts"] == 1
    finally:
        assert driver.process is not None
        driver.process.terminate()
        driver.process.wait(10)


def test_nobody_there_and_no_command_is_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    driver = LiveDriver(LiveClient(f"http://127.0.0.1:{port}"), PLAY, Timeouts(away=0.1, pause=0.01))
    with pytest.raises(AwayError, match="no --restart was given"):
        driver.connect()


# --- servers that are none ---


@contextmanager
def answering(*answers: bytes) -> Generator[LiveClient]:
    """A server that answers every request with these bytes in turn, whatever was asked; then the last again."""
    door = socket.create_server(("127.0.0.1", 0))
    left = list(answers)

    def serve() -> None:
        while True:
            try:
                client, _ = door.accept()
            except OSError:
                return
            with client:
                client.recv(65_536)
                client.sendall(left.pop(0) if len(left) > 1 else left[0])

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield LiveClient(f"http://127.0.0.1:{door.getsockname()[1]}", 0.5)
    finally:
        door.close()


def http(body: str | bytes, length: int | None = None) -> bytes:
    data = body if isinstance(body, bytes) else body.encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(data) if length is None else length, data)


def answer(result: Any, identity: int = 1) -> bytes:
    return http(json.dumps({"jsonrpc": "2.0", "result": result, "id": identity}))


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n", LiveError, "is no HTTP. Check the address"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", LiveError, "does not say how long it is"),
        (http("<html>"), UnansweredError, "cannot be read: Expecting value"),
        (http('{"ok": true}'), LiveError, "is no JSON-RPC 2.0"),
        (http("[]"), LiveError, "is no JSON-RPC 2.0"),
        (http('{"jsonrpc": "2.0", "id": 1}'), LiveError, "neither a result nor an error"),
        (http('{"jsonrpc": "2.0", "result": {"state": "SH', 400), UnansweredError, "in the middle of the answer"),
        (http('{"jsonrpc": "2.0", "result": {"state": "SH'), UnansweredError, "cannot be read"),
        (http("", LARGEST_ANSWER + 1), LiveError, "more than any state"),
        (http('{"jsonrpc": "2.0", "id": 1, "result": {"chips": NaN}}'), UnansweredError, "NaN is not a number"),
        (http('{"jsonrpc": "2.0", "id": 1, "result": ' + "[" * 5000), UnansweredError, "cannot be read"),
        (answer({}, 77), UnansweredError, "the id 77 of another call"),
        (http('{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}'), RefusedError, "no \\(-32601\\)"),
        (http('{"jsonrpc":"2.0","id":1,"error":"no"}'), RefusedError, "refused 'gamestate'"),
    ],
)  # fmt: skip
def test_whatever_answers_there_is_told_in_a_sentence(reply: bytes, kind: type[Exception], words: str) -> None:
    with answering(reply) as client, pytest.raises(kind, match=words):
        client.call("gamestate")


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"openrpc": "1.3.2", "methods": [{"name": "eth_call"}]}, "not the game's mod"),
        ({"methods": {"gamestate": 1}}, "not the game's mod"),
        ([], "not the game's mod"),
    ],
)
def test_a_server_of_something_else_is_not_played(result: Any, words: str) -> None:
    with answering(answer(result)) as client:
        driver = LiveDriver(client, PLAY, Timeouts(settling=0.2, away=0.2, pause=0.01))
        with pytest.raises(LiveError, match=words):
            driver.connect()


@pytest.mark.parametrize(
    "address", ["", "ftp://x", "http://", "http://h:x", "http://127.0.0.1:12346/api", "https://a:1"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="expected one like"):
        LiveClient(address)


def test_a_state_nobody_knows_is_waited_out() -> None:
    assert PLAY.standing({"state": "SMODS_REDEEM_VOUCHER"}) is Standing.PASSING
    assert PLAY.standing({"state": "SOMETHING_OF_A_MOD"}) is Standing.PASSING
    assert PLAY.standing([]) is Standing.PASSING
    driver_states = [answer({"state": "HAND_PLAYED"}, number) for number in (1, 2)]
    with answering(*driver_states, answer({"state": "MENU"}, 3), answer({"state": "MENU"}, 4)) as client:
        driver = LiveDriver(client, PLAY, Timeouts(settling=3.0, pause=0.0))
        assert driver.settled() == {"state": "MENU"}
        assert driver.counts["looks"] == 4
    with answering(http('{"jsonrpc": "2.0", "id": 1, "result": {"state": "SPLASH"}}')) as client:
        driver = LiveDriver(client, PLAY, Timeouts(settling=0.2, pause=0.01))
        with pytest.raises(LiveError, match="did not come to rest"):
            driver.settled()


# --- states that cannot be read ---


class Modded:
    """A hosted game in whose shop and among whose jokers lie things of a mod."""

    def __init__(self, change: Any) -> None:
        self.seconds = 0.0
        self._game, self._change = LIVE.host("1.x", True, (), FolderFiles()), change

    def answer(self, body: bytes) -> Any:
        told = self._game.answer(body)
        assert isinstance(told, bytes)
        value = json.loads(told)
        if isinstance(value.get("result"), dict) and value["result"].get("state") not in (None, "MENU"):
            self._change(value["result"])
        return json.dumps(value).encode()

    def complaint(self, message: str) -> bytes:
        return self._game.complaint(message)


def add_modded_joker(state: dict[str, Any]) -> None:
    card = {"id": 999, "key": "j_cryptid_googol", "set": "JOKER", "label": "Googol", "value": {}, "modifier": [],
            "state": [], "cost": {"sell": 1, "buy": 2}}  # fmt: skip
    state["jokers"]["cards"] = [*state["jokers"]["cards"], card]


def rename_boss(state: dict[str, Any]) -> None:
    state["blinds"]["boss"]["name"] = "The Modded One"


def strange_stake(state: dict[str, Any]) -> None:
    state["stake"] = "PLATINUM"


@pytest.mark.parametrize(
    ("change", "named"),
    [(add_modded_joker, "j_cryptid_googol"), (rename_boss, "The Modded One"), (strange_stake, "PLATINUM")],
)
def test_a_state_with_things_of_a_mod_is_never_the_policys(change: Any, named: str) -> None:
    host = LiveHost([Modded(change)]).start()
    driver = LiveDriver(LiveClient(f"http://127.0.0.1:{host.ports[0]}", 5.0), PLAY, QUICK)
    try:
        driver.connect()
        stopped = live_player(driver, unread="stop").play("7LB2WVPK")
        assert (stopped.finished, stopped.moves) == (False, 0)
        assert named in stopped.trouble
        played = live_player(driver).play("7LB2WVPK")
        assert played.finished, played.trouble
        assert played.counts[f"by {SIMPLE}"] == played.moves > 0
    finally:
        host.stop()


def test_unknown_keys_of_a_mod_change_nothing() -> None:
    def more(state: dict[str, Any]) -> None:
        state |= {"talisman": {"notation": "e"}, "modded": [1, 2]}
        state["round"]["extra"] = "x"
        for card in state["hand"]["cards"]:
            card["ability"] = {"perma_bonus": 3}

    host = LiveHost([Modded(more)]).start()
    driver = LiveDriver(LiveClient(f"http://127.0.0.1:{host.ports[0]}", 5.0), PLAY, QUICK)
    try:
        driver.connect()
        assert_played(live_player(driver, options=GOLD).play(SHORT[0]))
    finally:
        host.stop()


# --- the command ---


def test_the_command_plays_shows_and_sums_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    host = LiveHost([LIVE.host("dev", True, (), FolderFiles())]).start()
    address, file = f"http://127.0.0.1:{host.ports[0]}", tmp_path / "game.jsonl"
    try:
        words = ["play", "balatro", "--live", address, "--stake", "gold", "--seed", SHORT[0]]
        assert main.run([*words, "--record", str(file)]) == 0
        told = capsys.readouterr().out
        assert "select the Small Blind" in told
        assert f"Seed {SHORT[0]}: over" in told
        assert "balatro (shipped)" in told
        first = json.loads(file.read_text().splitlines()[0])
        assert (first["state"]["deck"], first["state"]["stake"]) == ("b_red", "stake_gold")
        assert main.run([*words, "--record", str(file), "--json"]) == 0
        summary = json.loads(capsys.readouterr().out)
        assert summary["games"] == 1
        assert summary["live"][0]["finished"]
    finally:
        host.stop()


def test_a_service_answers_for_live_states_and_its_policy_plays_the_live_game(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    player = find_player("balatro", "balatro")
    service = DecisionService()
    service.add(ServedPolicy.make(player.entry, player.policy, player.manifest))
    host = LiveHost([LIVE.host("1.x", True, (), FolderFiles())]).start()
    live, record, asked = f"http://127.0.0.1:{host.ports[0]}", tmp_path / "game.jsonl", tmp_path / "asked.json"
    try:
        with running(service) as server:
            words = ["play", "balatro", "--live", live, "--policy", f"grpc://{server.address}/balatro"]
            assert main.run([*words, "--stake", "gold", "--seed", SHORT[0], "--record", str(record), "--json"]) == 0
            assert json.loads(capsys.readouterr().out)["live"][0]["finished"]
            lines = [json.loads(line) for line in record.read_text().splitlines()]
            state = next(line["response"]["result"] for line in lines if line.get("label") == "select")
            asked.write_text(json.dumps({"game": "balatro", "form": "balatrobot/1", "body": state}))
            assert main.run(["ask", str(asked), "--address", server.address, "--json"]) == 0
            answer = json.loads(capsys.readouterr().out)
            asked.write_text(
                json.dumps({"game": "balatro", "form": "balatrobot/1", "body": {**state, "money": "much"}})
            )
            assert main.run(["ask", str(asked), "--address", server.address]) == 1
            assert "does not fit game 'balatro'" in capsys.readouterr().err
    finally:
        host.stop()
    assert answer["selected_action"]["block"] in ("play", "discard", "choose", "sort", "grab_hand")
    assert answer["selected_action"]["words"]
    assert {line["policy_hash"][:16] for line in lines if line["kind"] == "decision"} == {answer["policy"]["hash"]}


def test_a_person_confirms_changes_and_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import io

    host = LiveHost([LIVE.host("1.x", True, (), FolderFiles())]).start()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO("\nfly\nplay 1\nq\n"))
    try:
        address = f"http://127.0.0.1:{host.ports[0]}"
        assert main.run(["play", "balatro", "--live", address, "--confirm", "--seed", "7LB2WVPK"]) == 0
    finally:
        host.stop()
    told = capsys.readouterr()
    assert "'fly' is not a move" in told.err
    file = next((tmp_path / "live").glob("balatro-*.jsonl"))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["label"] for line in lines if line["kind"] == "decision"] == ["select", "play 1"]


def test_the_command_refuses_what_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    for words, sentence in (
        (["play", "probe", "--live", "http://127.0.0.1:1"], "--live is for balatro"),
        (["play", "balatro", "--live", "nowhere:x"], "expected one like http://127.0.0.1:12346"),
        (["play", "balatro", "--live", "http://127.0.0.1:1", "--unread", "guess"], "'guess'"),
        (["play", "balatro", "--live", "http://127.0.0.1:1", "--restart", "'"], "cannot be read"),
    ):
        assert main.run(words) == 2
        assert sentence in capsys.readouterr().err


def test_the_command_asks_an_adviser_where_the_policy_is_not_sure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.adviser.messages_api import chosen, playing_the_api, table_of

    host = LiveHost([LIVE.host("dev", True, (), FolderFiles())]).start()
    address, file = f"http://127.0.0.1:{host.ports[0]}", tmp_path / "game.jsonl"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    monkeypatch.setenv("JIMBOT_ADVISER_LEDGER", str(tmp_path / "books.sqlite"))
    monkeypatch.setenv("JIMBOT_GRAPH", str(tmp_path / "graph"))
    try:
        with playing_the_api(lambda table: chosen(table["legal_moves"][1]["action"], reason="It grows.")) as api:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", api.address)
            words = ["play", "balatro", "--live", address, "--stake", "gold", "--seed", SHORT[0], "--adviser"]
            assert main.run([*words, "--record", str(file)]) == 0
    finally:
        host.stop()
    told = capsys.readouterr()
    assert "claude-haiku-5-5 says: " in told.out
    assert "It grows." in told.out
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    decisions = [line for line in lines if line["kind"] == "decision"]
    advised = [line for line in decisions if line["used_llm"]]
    assert 0 < len(advised) <= 0.05 * len(decisions)
    assert len(api.requests) == len(advised)
    assert advised[0]["advice"] == "claude-haiku-5-5: It grows."
    assert all(line["probabilities"][line["legal"].index(line["action"])] < 0.7 for line in advised)
    page = api.requests[0]["system"][-1]["text"]
    assert "Blueprint" in page  # what every part does is told once, and kept by the service
    assert "Ante " in table_of(api.requests[0])["table"]
