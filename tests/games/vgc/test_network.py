"""A policy on a real Showdown server on loopback, against poke-env's players."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import numpy as np
import pytest

from jimbot.errors import JimbotError, UsageError
from jimbot.games.vgc import simulator, teams
from jimbot.games.vgc.heuristic import VgcHeuristic
from jimbot.games.vgc.options import DEFAULT_FORMAT
from jimbot.games.vgc.reader import Reader
from jimbot.games.vgc.server import ShowdownServer
from jimbot.processes import free_port, wait_for

pytest.importorskip("poke_env")

from poke_env import AccountConfiguration, ServerConfiguration
from poke_env.player import RandomPlayer

from jimbot.games.vgc.poke_env_player import CyclingTeams, check_server, play_on_server

CHATTER = re.compile(r"^\|(j|l|n|c|c:|raw|html|inactive|inactiveoff|t:|uhtml|uhtmlchange)\||^\|?$|^[^|]")


def take_logs(count: int = 0) -> list[dict[str, Any]]:
    """The battles that the server kept, `count` of which are waited for; their files are deleted."""
    found: list[dict[str, Any]] = []

    def all_there() -> bool:
        for path in sorted((simulator.package_folder() / "logs").glob("*/*/*/*.log.json")):
            with suppress(json.JSONDecodeError):  # still being written
                found.append(json.loads(path.read_text(encoding="utf-8")))
                path.unlink()
        return len(found) >= count

    assert wait_for(all_there, 30), f"the server kept {len(found)} of {count} battles"
    return found


@pytest.fixture(scope="module")
def server() -> Iterator[ShowdownServer]:
    with ShowdownServer(keep_logs=True) as running:
        take_logs()
        yield running


@pytest.fixture
def reader() -> Iterator[Reader]:
    with closing(Reader()) as reading:
        yield reading


def heuristic(observation: np.ndarray, legal_mask: np.ndarray) -> int:
    assert legal_mask.any()
    return int(VgcHeuristic("heuristic").act(observation[None], legal_mask[None])[0][0])


def opponent(server: ShowdownServer, name: str, sheets: bool) -> RandomPlayer:
    return RandomPlayer(
        account_configuration=AccountConfiguration(name, None),
        battle_format=DEFAULT_FORMAT,
        server_configuration=ServerConfiguration(server.websocket, "http://127.0.0.1/action.php?"),
        team=CyclingTeams(teams.split_teams("held-out")[10:20]),
        accept_open_team_sheet=sheets,
        log_level=50,
    )


@pytest.mark.long
@pytest.mark.parametrize("sheets", [True, False])
def test_a_policy_beats_random_players_on_a_server_and_the_battles_can_be_replayed(
    server: ShowdownServer, reader: Reader, sheets: bool
) -> None:
    other = opponent(server, f"rival{sheets}", sheets)
    accepting = asyncio.run_coroutine_threadsafe(other._accept_challenges(None, 3, None), other.ps_client.loop)
    packed = teams.split_teams("held-out")[:10]
    player = play_on_server(
        heuristic, reader, server.websocket, packed, name=f"jim{sheets}", challenge=f"rival{sheets}", battles=3,
        patience=60,
    )  # fmt: skip
    accepting.cancel()
    assert len(player.played) == 3
    assert sum(played.won for played in player.played) >= 2
    assert player.invalid == []
    assert player.events["decisions"] > 9
    logs = take_logs(3)
    for kept in logs:
        again = until_the_end(reader.replay(kept["inputLog"], sheets))
        assert again[-1].startswith("|win|")
        assert until_the_end(kept["log"]) == again


def until_the_end(lines: list[str]) -> list[str]:
    """What belongs to the battle; afterwards players leave their seats."""
    told = [line for line in lines if not CHATTER.match(line)]
    return told[: 1 + next(number for number, line in enumerate(told) if line.startswith("|win|"))]


@pytest.mark.long
def test_challenges_are_accepted(server: ShowdownServer, reader: Reader) -> None:
    other = opponent(server, "challenger", True)
    asyncio.run_coroutine_threadsafe(challenge_later(other), other.ps_client.loop)
    player = play_on_server(
        heuristic, reader, server.websocket, teams.split_teams("held-out")[:4], name="host", patience=60
    )
    assert len(player.played) == 1
    take_logs(1)


async def challenge_later(player: RandomPlayer) -> None:
    await asyncio.sleep(2.0)
    await player._send_challenges("host", 1)


@pytest.mark.long
def test_an_opponent_nobody_knows_is_one_sentence(server: ShowdownServer, reader: Reader) -> None:
    packed = teams.split_teams("held-out")[:1]
    with pytest.raises(UsageError, match="nobodyhere"):
        play_on_server(heuristic, reader, server.websocket, packed, name="asker", challenge="nobodyhere", patience=30)


@pytest.mark.long
def test_a_silent_opponent_is_given_up(server: ShowdownServer, reader: Reader) -> None:
    silent = opponent(server, "silent", True)
    asyncio.run(silent.ps_client.wait_for_login(wait_for=20))
    packed = teams.split_teams("held-out")[:1]
    with pytest.raises(JimbotError, match="silent"):
        play_on_server(heuristic, reader, server.websocket, packed, name="patient", challenge="silent", patience=3)


def test_wrong_addresses_are_one_sentence() -> None:
    with pytest.raises(UsageError, match="No Showdown server answers"):
        check_server(f"ws://127.0.0.1:{free_port()}/showdown/websocket")
    for address in ("127.0.0.1:8000", "http://127.0.0.1", "ws://"):
        with pytest.raises(UsageError, match="no address of a Showdown server"):
            check_server(address)


@pytest.mark.long
def test_the_command_tells_how_battles_ended(server: ShowdownServer, run_jimbot) -> None:
    other = opponent(server, "rivalcommand", True)
    accepting = asyncio.run_coroutine_threadsafe(other._accept_challenges(None, 1, None), other.ps_client.loop)
    visit = ("--server", server.websocket, "--challenge", "rivalcommand", "--name", "JimBot CLI", "--patience", 60)
    done = run_jimbot("play", "vgc", "--policy", "max_damage", *visit)
    accepting.cancel()
    assert done.returncode == 0, done.stderr
    assert "rivalcommand after" in done.stdout
    assert "of 1 battles won" in done.stdout
    assert " 0 invalid" in done.stdout
    again = run_jimbot("play", "vgc", "--policy", "max_damage", *visit[:2], "--challenge", "nobodyhere")
    assert again.returncode == 2
    assert "nobodyhere" in again.stderr
    assert len(again.stderr.strip().splitlines()) <= 2, "a note where we play, and one sentence"
    take_logs(1)
