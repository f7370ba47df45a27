"""`jimbot bus`, and what other commands publish with `--bus`."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from jimbot.clients import EventBusClient
from jimbot.proto.events_pb2 import GameActionEvent, GameResultEvent, GameStateEvent, KnowledgeUpdate
from jimbot.training.imitation.dataset import Dataset
from tests.cli.conftest import Jimbot

BUS = "embedded:bus.sqlite"


def published(home: Path) -> list:
    async def read() -> list:
        async with EventBusClient(f"embedded:{home / 'bus.sqlite'}") as bus:
            return [event async for event in bus.replay(["*"])]

    return asyncio.run(read())


def test_an_event_is_published_read_again_copied_and_counted(jimbot: Jimbot) -> None:
    message = '{"game": "probe", "kind": "synergy", "subjects": ["a", "b"]}'
    code, out, _ = jimbot("bus", "publish", "knowledge.update", message, "--bus", BUS, "--event-id", "one")
    assert code == 0
    assert json.loads(out) == {"event_id": "one", "sequence": 1}
    assert jimbot("bus", "publish", "knowledge.update", message, "--bus", BUS, "--event-id", "one")[0] == 0
    code, out, _ = jimbot("bus", "replay", "knowledge.*", "--bus", BUS, "--json", "--since", "1h")
    assert code == 0
    assert [json.loads(line)["message"]["subjects"] for line in out.splitlines()] == [["a", "b"]]
    assert "knowledge.update" in jimbot("bus", "replay", "--bus", BUS)[1]
    for _ in range(2):
        code, _, err = jimbot("bus", "replay", "--bus", BUS, "--to", "embedded:other.sqlite")
        assert (code, "1 events copied" in err) == (0, True)
    found = json.loads(jimbot("bus", "stats", "--bus", "embedded:other.sqlite", "--json")[1])
    assert found["topics"]["knowledge.update"]["events"] == 1
    assert "1 events" in jimbot("bus", "stats", "--bus", BUS)[1]


def test_this_machines_server_is_ended(jimbot: Jimbot) -> None:
    assert "was not running" in jimbot("bus", "stop", "--bus", BUS)[2]
    assert jimbot("bus", "stats", "--bus", BUS)[0] == 0
    assert "has ended" in jimbot("bus", "stop", "--bus", BUS)[2]


def test_games_that_were_watched_become_a_dataset(jimbot: Jimbot, home: Path) -> None:
    quiet = jimbot("watch", "perfect", "--seed", 7, "--games", 3)
    printed = jimbot("watch", "perfect", "--seed", 7, "--games", 3, "--bus", BUS)
    assert quiet == printed, "publishing changes nothing that is seen"
    events = published(home)
    assert Counter(event.topic for event in events) == {"game.state": 24, "game.event": 24, "game.result": 3}
    code, _, err = jimbot("record", "probe", "--from-bus", BUS, "--output", "published.npz")
    assert (code, err) == (0, "")
    with Dataset.open(home / "published.npz") as dataset:
        assert (dataset.info.games, dataset.info.rows, dataset.info.mean_return) == (3, 24, 8.0)
        assert dataset.reward.tolist() == [1.0] * 24
        assert dataset.seeds.tolist() == [7, 8, 9]
        chunk = dataset.chunk(0)
        assert chunk.legal_mask[np.arange(24), chunk.action].all()
    assert jimbot("record", "probe", "--from-bus", BUS, "--output", "published.npz")[0] == 2, "the file is there"


@pytest.mark.long
@pytest.mark.parametrize("learner", ["clone", "BC", "MARWIL"])
def test_a_network_learns_from_games_the_bus_told_of(jimbot: Jimbot, learner: str) -> None:
    """Played and printed elsewhere, recorded here, imitated: it then plays far better than chance."""
    assert jimbot("watch", "perfect", "--seed", 7, "--games", 60, "--bus", BUS)[0] == 0
    assert jimbot("record", "probe", "--from-bus", BUS, "--output", "published.npz")[0] == 0
    how = ("clone", "published.npz", "--run", "learned", "--epochs", 30, "--batch-size", 64, "--lr", 0.01)
    if learner != "clone":
        pytest.importorskip("ray")
        how = ("train", "probe", "--learner", "ray", "--algorithm", learner, "--run", "learned", "--set",
               "offline.data=published.npz", "--total-timesteps", 40_000, "--lr", 0.01)  # fmt: skip
    code, _, err = jimbot(*how)
    assert code == 0, err
    code, out, _ = jimbot("evaluate", "learned", "--games", 50, "--json")
    assert code == 0
    assert json.loads(out)["mean_return"]["mean"] > 6, "the best is 8, chance 2"


def test_tail_shows_events_as_they_are_published(jimbot: Jimbot, home: Path) -> None:
    over = threading.Event()

    def tell() -> None:
        async def work() -> None:
            number = 0
            async with EventBusClient(f"embedded:{home / 'bus.sqlite'}") as bus:
                while not over.is_set():
                    await bus.publish(KnowledgeUpdate(game="probe", kind="synergy"))
                    await bus.publish(GameResultEvent(game="probe", steps=number))
                    number += 1
                    await asyncio.sleep(0.02)

        asyncio.run(work())

    telling = threading.Thread(target=tell)
    telling.start()
    try:
        code, out, err = jimbot("bus", "tail", "game.*", "--bus", BUS, "--count", 3, "--json")
        assert jimbot("bus", "tail", "knowledge.update", "--bus", BUS, "--count", 1)[1].count("kind=synergy") == 1
    finally:
        over.set()
        telling.join(10)
    lines = [json.loads(line) for line in out.splitlines()]
    assert (code, "Listening on" in err, len(lines)) == (0, True, 3)
    assert {line["topic"] for line in lines} == {"game.result"}
    steps = [line["message"].get("steps", 0) for line in lines]
    assert steps == [steps[0], steps[0] + 1, steps[0] + 2]


def test_games_with_gaps_and_illegal_actions_are_left_out(jimbot: Jimbot, home: Path) -> None:
    jimbot("watch", "perfect", "--seed", 7, "--games", 3, "--bus", BUS)
    games = {}
    for event in published(home):
        kind = {"game.state": GameStateEvent, "game.event": GameActionEvent, "game.result": GameResultEvent}[
            event.topic
        ]
        printed = kind()
        event.payload.Unpack(printed)
        games.setdefault(printed.game_id, []).append((event, printed))
    gap, illegal, whole = games.values()

    async def tell() -> None:
        async with EventBusClient(f"embedded:{home / 'second.sqlite'}") as bus:
            for event, printed in (*gap[:4], *gap[5:], *illegal, *whole, *whole):
                if printed.game_id == illegal[0][1].game_id and isinstance(printed, GameActionEvent):
                    printed.action.number = 10_000
                    event.payload.Pack(printed)
                event.event_id = ""
                await bus.publish(event)

    asyncio.run(tell())
    code, out, err = jimbot("record", "probe", "--from-bus", "embedded:second.sqlite", "--json")
    assert code == 0
    assert json.loads(out)["games"] == 1
    assert "1 games left out: states or actions are missing" in err
    assert "1 games left out: they hold an action that was not legal" in err


def test_results_of_an_evaluation_are_told(jimbot: Jimbot, home: Path) -> None:
    code, out, _ = jimbot("evaluate", "perfect", "--games", 5, "--json", "--bus", BUS)
    assert code == 0
    assert json.loads(out)["games"] == 5
    assert Counter(event.topic for event in published(home)) == {"game.result": 5, "run.event": 1}


def test_a_bus_that_is_not_there_changes_no_result(jimbot: Jimbot) -> None:
    quiet = jimbot("watch", "perfect", "--seed", 7)
    assert jimbot("watch", "perfect", "--seed", 7, "--bus", "nats://127.0.0.1:9")[:2] == quiet[:2]
