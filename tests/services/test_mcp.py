"""`jimbot mcp` as an assistant meets it: through the SDK's own client, in the process, over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from jimbot.cli import main
from jimbot.games import available_games
from jimbot.runs.directory import RunDirectory
from jimbot.services.mcp.models import Acted, Advice, Games, Judged, LegalMoves, SeedsFound, TableSeen
from jimbot.services.mcp.open_games import MOST_OPEN
from jimbot.services.mcp.server import build_server, http_server
from jimbot.services.mcp.tools import Tools
from tests.cli.making import save_perfect

REPOSITORY = Path(__file__).resolve().parents[2]
Work = Callable[[Client], Awaitable[None]]


def with_client(work: Work, tools: Tools | None = None) -> None:
    tools = tools or Tools()

    async def run() -> None:
        async with Client(build_server(tools)) as client:
            await work(client)

    try:
        asyncio.run(run())
    finally:
        tools.close()


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    return answer.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    return getattr(answer.content[0], "text", "")


def test_a_whole_game_is_played_through_tools_alone() -> None:
    async def work(client: Client) -> None:
        table = TableSeen(**await call(client, "start_game", game="balatro", seed="7LB2WVPK"))
        assert "choose a blind" in table.words
        assert table.metrics["ante"] == 1
        for _ in range(3000):
            if table.over:
                break
            advice = Advice(**await call(client, "ask_policy", handle=table.handle, top=3))
            assert advice.value is not None
            assert advice.best == advice.moves[0]
            acted = Acted(**await call(client, "act", handle=table.handle, move=advice.best.label))
            assert acted.table.turn == table.turn + 1
            table = acted.table
        assert table.over
        assert table.stats["blinds_cleared"] >= 1
        assert table.outcome == table.words
        assert "is over" in await refused(client, "act", handle=table.handle, move="select")
        assert "is over" in await refused(client, "ask_policy", handle=table.handle)
        left = await call(client, "close_game", handle=table.handle)
        assert left == {"tables": []}

    with_client(work)


def test_a_live_game_is_played_through_the_same_tools() -> None:
    from jimbot.games import game_entry
    from jimbot.services.live_host import FolderFiles, LiveHost

    live = game_entry("balatro").live
    assert live is not None
    host = LiveHost([live.host("1.x", True, (), FolderFiles())]).start()
    tools = Tools(live=f"http://127.0.0.1:{host.ports[0]}")
    try:
        table = tools.start_game("balatro", "111116DK", {"stake": "gold"}, live=True)
        assert (table.live, table.seed, table.not_read) == (True, "111116DK", [])
        while not table.over:
            table = tools.act(table.handle, tools.ask_policy(table.handle).best.label).table
        assert table.turn > 10
        assert table.stats["steps"] > 0
    finally:
        host.stop()
    with pytest.raises(Exception, match="jimbot mcp --live URL"):
        Tools().start_game("balatro", live=True)


def test_moves_are_listed_filtered_and_made_by_label_or_words() -> None:
    async def work(client: Client) -> None:
        table = TableSeen(**await call(client, "start_game", game="balatro", seed="5"))
        acted = Acted(**await call(client, "act", handle=table.handle, move="Select the small  blind"))
        assert acted.move.label == "select"
        assert acted.changes["round"] == 1
        every = LegalMoves(**await call(client, "list_legal_moves", handle=table.handle, limit=7))
        assert (every.count, len(every.moves)) == (acted.table.legal_moves, 7)
        aces = LegalMoves(**await call(client, "list_legal_moves", handle=table.handle, contains="discard A♠"))
        assert 0 < aces.count < every.count
        assert all("discard A♠" in move.words for move in aces.moves)
        sentence = await refused(client, "act", handle=table.handle, move="plai 1 2")
        assert "Did you mean 'play 1 2'?" in sentence

    with_client(work)


def test_every_game_is_told_with_its_options_and_what_else_it_offers() -> None:
    async def work(client: Client) -> None:
        games = {game.id: game for game in Games(**await call(client, "list_games")).games}
        assert set(games) == set(available_games())
        balatro = games["balatro"]
        assert {"deck", "stake"} <= set(balatro.options)
        assert balatro.policies[0] == "balatro"
        assert "heuristic" in balatro.policies
        assert "joker" in balatro.glossary
        assert "voucher:v_telescope@1" in balatro.seeds
        assert games["probe"].glossary == []

    with_client(work)


@pytest.mark.parametrize(
    ("name", "kind", "key", "told"),
    [
        ("Blueprint", "", "j_blueprint", "to its right"),
        ("the hook", "blind", "bl_hook", "iscard"),
        ("tag_negative", "", "tag_negative", "egative"),
        ("Telescope", "voucher", "v_telescope", "elestial"),
        ("The Fool", "", "c_fool", "copy"),
        ("Mega Arcana Pack", "pack", "p_arcana_mega_1", "Choose 2 of 5"),
        ("Flush Five", "hand", "Flush Five", "160 chips"),
        ("gold", "stake", "stake_gold", ""),
        ("Jokerless", "challenge", "c_jokerless_1", ""),
    ],
)
def test_things_are_explained_from_the_tables(name: str, kind: str, key: str, told: str) -> None:
    found = Tools().explain(name, "balatro", kind).found
    assert found[0].key == key
    assert told in found[0].effect
    assert found[0].effect


def test_wrong_names_are_answered_with_the_nearest() -> None:
    async def work(client: Client) -> None:
        assert "Did you mean 'Blueprint'?" in await refused(client, "explain", name="Bluprint")
        assert "Did you mean 'joker'?" in await refused(client, "explain", name="Blueprint", kind="jokr")
        assert "balatro can be asked" in await refused(client, "explain", name="x", game="probe")
        assert "Did you mean 'balatro'?" in await refused(client, "start_game", game="balatr")
        assert "Unknown game in play 'g'" in await refused(client, "see_table", handle="g")
        assert "is not a seed" in await refused(client, "start_game", game="probe", seed="-4")
        assert "decks" in await refused(client, "start_game", game="balatro", options={"decks": "blue"})
        assert "limit" in await refused(client, "list_legal_moves", handle="g", limit=0)

    with_client(work)


def test_seeds_are_previewed_and_searched() -> None:
    async def work(client: Client) -> None:
        page = await call(client, "preview_seed", seed="4WAX5M4D", options={"antes": 2, "deck": "ghost"})
        assert page["holds"]["deck"] == "b_ghost"
        assert [ante["ante"] for ante in page["holds"]["antes"]] == [1, 2]
        question = "voucher:Telescope@1 and tag:'Negative Tag'@2"
        found = SeedsFound(
            **await call(client, "search_seeds", question=question, limit=2, options={"start": "11111111"})
        )
        assert (found.seeds, found.complete) == (["111111A3", "111111KB"], True)
        cut = SeedsFound(
            **await call(client, "search_seeds", question=question, limit=2, options={"max_seeds": 10, "antes": 2})
        )
        assert (cut.seeds, cut.looked_at, cut.complete) == ([], 10, False)
        assert "expected one like voucher" in await refused(client, "search_seeds", question="telescope")
        assert "Did you mean 'antes'?" in await refused(client, "preview_seed", seed="4WAX5M4D", options={"ante": 1})

    with_client(work)


def test_a_game_in_play_is_reviewed() -> None:
    async def work(client: Client) -> None:
        table = TableSeen(**await call(client, "start_game", game="balatro", seed="7LB2WVPK"))
        for _ in range(4):
            advice = await call(client, "ask_policy", handle=table.handle)
            await call(client, "act", handle=table.handle, move=advice["best"]["label"])
        found = await call(client, "review_game", handle=table.handle, seconds=0.1)
        assert len(found["moves"]) > 1
        assert 0 < found["moves"][-1]["chance"]["mean"] < 1
        assert "one of them" in await refused(client, "review_game")
        assert "It tells of no move" in await refused(client, "review_game", recording="hello")

    with_client(work)


def test_a_policy_is_judged_and_may_be_named_for_the_whole_server() -> None:
    async def work(client: Client) -> None:
        judged = Judged(**await call(client, "evaluate_policy", game="probe", games=4))
        assert (judged.policy, judged.games, judged.seeds, judged.illegal_actions) == ("random", 4, "held-out", 0)
        assert judged.mean_return.low <= judged.mean_return.mean <= judged.mean_return.high
        assert "two players" in await refused(client, "evaluate_policy", game="vgc")
        assert "1000" in await refused(client, "evaluate_policy", game="probe", games=5000)

    with_client(work, Tools(policy="random"))


def test_a_policy_of_another_game_gives_no_advice() -> None:
    tools = Tools()
    handle = tools.start_game("probe").handle
    with pytest.raises(Exception, match="two games"):
        tools.ask_policy(handle, "balatro")
    tools.close()


def test_advice_of_a_policy_that_knows_the_game_with_other_options_says_so() -> None:
    tools = Tools()
    handle = tools.start_game("balatro", "5").handle
    assert not tools.ask_policy(handle).remark
    other = tools.start_game("balatro", "5", {"helpers": False}).handle
    assert "helpers=True (here False)" in tools.ask_policy(other).remark
    tools.close()


def test_the_number_of_games_in_play_is_bounded() -> None:
    tools = Tools()
    for _ in range(MOST_OPEN):
        tools.start_game("probe")
    with pytest.raises(Exception, match="close one of probe-1"):
        tools.start_game("probe")
    tools.close_game("probe-1")
    assert tools.start_game("probe").handle == f"probe-{MOST_OPEN + 1}"
    tools.close()


def test_runs_and_reports_are_resources(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path, "mine")
    with run.open_or_create():
        run.write_config({"game": "probe", "learner": "jax", "algorithm": "PPO"})
        save_perfect(run.path, step=256)

    async def read(client: Client, uri: str) -> str:
        return getattr((await client.read_resource(uri)).contents[0], "text", "")

    async def work(client: Client) -> None:
        listed = json.loads(await read(client, "jimbot://runs"))["runs"]
        assert [(run["name"], run["has_report"]) for run in listed] == [("mine", False)]
        assert json.loads(await read(client, "jimbot://runs/mine"))["summary"]["name"] == "mine"
        with pytest.raises(MCPError, match="jimbot analyze mine"):
            await read(client, "jimbot://runs/mine/report")
        (tmp_path / "mine" / "report.html").write_text("<p>good</p>")
        assert await read(client, "jimbot://runs/mine/report") == "<p>good</p>"
        with pytest.raises(MCPError, match="There is no run 'other'"):
            await read(client, "jimbot://runs/other/report")

    with_client(work, Tools(tmp_path))


def test_the_command_answers_over_standard_input_and_output(tmp_path: Path) -> None:
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "jimbot", "mcp"], cwd=str(tmp_path), env={"PYTHONPATH": str(REPOSITORY)}
    )

    async def run() -> None:
        async with Client(command) as client:
            table = TableSeen(**await call(client, "start_game", game="probe", seed="5"))
            while not table.over:
                moves = LegalMoves(**await call(client, "list_legal_moves", handle=table.handle))
                acted = Acted(**await call(client, "act", handle=table.handle, move=moves.moves[0].label))
                table = acted.table
            assert table.turn == 8

    asyncio.run(run())


def test_the_same_tools_answer_over_http() -> None:
    tools = Tools()
    server = http_server(tools, "127.0.0.1", 0)
    thread = threading.Thread(target=server.run)
    thread.start()

    async def run() -> None:
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            assert (await call(client, "start_game", game="probe", seed="5"))["seed"] == "5"

    try:
        asyncio.run(run())
    finally:
        server.should_exit = True
        thread.join(20)
        tools.close()


def test_other_machines_are_not_served(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["mcp", "--http", "--host", "0.0.0.0"]) == 2
    assert "listen on 127.0.0.1" in " ".join(capsys.readouterr().err.split())


def test_a_seed_given_as_an_option_is_the_seed_that_is_said() -> None:
    async def work(client: Client) -> None:
        fixed = await call(client, "start_game", game="balatro", options={"seed_text": "abc"})
        same = await call(client, "start_game", game="balatro", options={"seed_text": "ABC"}, seed="12")
        assert (fixed["seed"], same["seed"]) == ("ABC", "ABC")
        assert fixed["words"] == same["words"]

    with_client(work)


def test_arguments_are_described_and_wrong_ones_refused_in_a_sentence() -> None:
    async def work(client: Client) -> None:
        for tool in (await client.list_tools()).tools:
            assert tool.input_schema["additionalProperties"] is False, tool.name
            for name, about in tool.input_schema.get("properties", {}).items():
                assert about.get("description"), f"{tool.name}.{name}"
        assert "Did you mean 'seed'" in await refused(client, "start_game", game="probe", sead="3")
        handle = (await call(client, "start_game", game="probe"))["handle"]
        for tool, arguments, said in (
            ("list_legal_moves", {"handle": handle, "limit": 0}, "argument limit of list_legal_moves"),
            ("list_legal_moves", {}, "argument handle of list_legal_moves"),
            ("start_game", {"game": "probe", "options": {"horizn": 3}}, "horizon"),
            ("evaluate_policy", {"game": "probe", "seeds": "mine"}, "held-out"),
        ):
            sentence = await refused(client, tool, **arguments)
            assert said in sentence
            assert "\n" not in sentence
            assert "--" not in sentence

    with_client(work)
