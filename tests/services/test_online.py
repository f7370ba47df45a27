"""Learning from the bus: each game once, whoever is killed, whatever is published, and a policy that gets better."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jimbot.errors import SettingsError
from jimbot.games import make
from jimbot.processes import Child, free_port, wait_for
from jimbot.proto.events_pb2 import Event, GameActionEvent, GameResultEvent
from jimbot.runs import find_checkpoint, load_checkpoint
from jimbot.services.bus import local_server
from jimbot.services.bus.embedded import store_of
from jimbot.services.bus.playing import play_games
from jimbot.services.bus.publisher import BackgroundPublisher
from jimbot.services.bus.stream import BusGames
from jimbot.training.framework import create_trainer
from tests.services.buses import client, in_loop, nats_program

pytest.importorskip("nats")
pytest.importorskip("stable_baselines3")
pytestmark = pytest.mark.skipif(nats_program() is None, reason="nats-server is not installed")

SMALL = {
    "algorithm": "DQN", "learning_starts": 200, "train_freq": 2, "target_update_interval": 200, "lr": 1e-3,
    "log_interval": 1, "eval_games": 20, "no_wandb": True,
}  # fmt: skip


class Random:
    name = "random"

    def act(self, observation: Any, legal_mask: Any, deterministic: bool = True, key: Any = None) -> Any:
        from jimbot.policies.contract import Decision

        chances = legal_mask / legal_mask.sum(axis=1, keepdims=True)
        actions = np.where(legal_mask, key.random(legal_mask.shape), -1.0).argmax(axis=1)
        return Decision(actions, chances.astype(np.float32), np.zeros(len(actions), np.float32))


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    address = f"embedded:{tmp_path / 'bus'}"
    yield address
    local_server.stop(store_of(address))


def publish(address: str, games: int, seed: int = 0, game: str = "probe") -> float:
    publisher = BackgroundPublisher(address)
    returns = play_games(game, Random(), publisher, games, options={}, num_envs=4, seed=seed)
    publisher.close()
    assert not publisher.dropped
    assert len(returns) == games
    return float(returns.sum())


def taken(source: BusGames, most_steps: int = 10**6) -> list[Any]:
    found = []
    while games := source.take(most_steps):
        found += games
    return found


@pytest.mark.parametrize("game", ["probe", "hackmatrix", "balatro"])
def test_each_game_is_taken_once_through_a_checkpoint_in_the_middle_of_games(game: str, address: str) -> None:
    total = publish(address, 6, game=game)
    first = BusGames(address, game, {})
    before = first.take(1)  # stops in the middle of games that are played at once
    kept = first.arrays()
    forgotten = taken(first)  # learned after the checkpoint, and lost with the process
    first.close()
    second = BusGames(address, game, {})
    second.load_arrays(kept)
    again = second.take(1)
    kept = second.arrays()
    second.close()
    third = BusGames(address, game, {})
    third.load_arrays(kept)
    after = [*again, *taken(third)]
    assert len(before) == 1
    assert [len(one.action) for one in after] == [len(one.action) for one in forgotten]
    assert sum(one.total_return for one in (*before, *after)) == pytest.approx(total, rel=1e-5)
    total += publish(address, 2, seed=1, game=game)
    after += taken(third)
    assert len(before + after) == 8
    assert sum(one.total_return for one in (*before, *after)) == pytest.approx(total, rel=1e-5)
    assert not third.left_out
    third.close()


def test_what_is_published_twice_or_hostile_is_learned_once_or_never(address: str) -> None:
    publish(address, 3)
    strange: list[Event] = []

    async def work() -> None:
        async with client(address) as bus:
            old = [event async for event in bus.replay(["game.*"])]
            for event in old:  # a publisher that does not know whether it was heard
                event.event_id += " again"
                await bus.publish(event)
            for number, reward in enumerate((float("nan"), 1e39, 1.0)):
                for event in old[:]:
                    copy = Event()
                    copy.CopyFrom(event)
                    copy.event_id += f" {number}"
                    strange.append(copy)
                    message = {"game.event": GameActionEvent, "game.result": GameResultEvent}.get(event.topic)
                    if message is None:
                        continue
                    told = message()
                    event.payload.Unpack(told)
                    told.game_id += f" {number}"
                    if isinstance(told, GameActionEvent):
                        told.reward = reward
                    else:
                        told.seed = "9" * 10_000
                    copy.payload.Pack(told)
                    await bus.publish(copy)  # its states never come
            foreign = Event(topic="game.result", event_id="foreign")
            foreign.payload.type_url, foreign.payload.value = "type/jimbot.events.v1.GameResultEvent", b"\xff\xff"
            await bus.publish(foreign)
            other = Event(topic="game.result")
            other.payload.Pack(GameResultEvent(game="chess", game_id="x", steps=1))
            await bus.publish(other)

    in_loop(work)
    source = BusGames(address, "probe", {})
    assert len(taken(source)) == 3
    assert source.left_out == {"states or actions are missing": 9, "an event is none of its topic": 1}
    source.close()


def test_rewards_that_are_no_numbers_reach_no_learner(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    publisher = BackgroundPublisher(address)
    game = make("probe", 1)
    game.reset()
    game.close()
    from jimbot.services.bus import run_events

    monkeypatch.setattr(run_events, "GameActionEvent", _poisoned)
    play_games("probe", Random(), publisher, 2, options={}, num_envs=1, seed=0)
    publisher.close()
    source = BusGames(address, "probe", {})
    assert taken(source) == []
    assert source.left_out == {"their rewards or statistics are no finite numbers": 2}
    source.close()


def _poisoned(**values: Any) -> GameActionEvent:
    return GameActionEvent(**{**values, "reward": float("inf")})


def test_another_log_is_read_from_its_beginning_and_one_without_its_end_is_gone_on_with(
    address: str, tmp_path: Path
) -> None:
    publish(address, 3)
    source = BusGames(address, "probe", {})
    assert len(taken(source)) == 3
    kept = source.arrays()
    source.close()
    other = f"embedded:{tmp_path / 'other'}"
    publish(other, 2, seed=5)
    source = BusGames(other, "probe", {})
    source.load_arrays(kept)
    assert len(taken(source)) == 2
    kept["place"][0] = source.arrays()["place"][0]  # the same log, of which less is left
    source.close()
    source = BusGames(other, "probe", {})
    source.load_arrays(kept)
    assert taken(source) == []
    publish(other, 2, seed=6)
    assert len(taken(source)) == 2
    source.close()
    local_server.stop(store_of(other))


def test_a_run_learns_from_games_it_did_not_play_and_goes_on_where_it_was(address: str, tmp_path: Path) -> None:
    publish(address, 120)
    config = {**SMALL, "from_bus": address, "total_timesteps": 960, "run_name": "online"}
    trainer = create_trainer("probe", config, root=tmp_path)
    result = trainer.train()
    assert result.step == 960
    assert result.metrics["stream/games"] == 120
    assert result.metrics["train/mean_episode_return"] == pytest.approx(2.0, abs=0.5)  # of those who played
    assert result.metrics["reward/match"] == pytest.approx(0.25, abs=0.06)
    trainer.close()
    publish(address, 200, seed=1)
    config |= {"total_timesteps": 2560}
    trainer = create_trainer("probe", config, root=tmp_path, resume=True)
    assert trainer.step == 960
    assert trainer.train().step == 2560
    assert trainer.learning_state()["replay/store/counters"][2] == 2560
    assert trainer.evaluate(50)[0] > 5  # who chooses at random gets 2
    trainer.close()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"algorithm": "PPO", "learner": "sb3"}, "DQN"),
        ({"algorithm": "PPO", "learner": "jax"}, "sb3"),
        ({"replay": "plain"}, "plain replay"),
    ],
)
def test_what_cannot_learn_so_says_so(settings: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=sentence):
        create_trainer("probe", {**SMALL, "from_bus": "embedded", **settings}, root=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_actors_service_bus_and_learner_get_better_together_through_kills(tmp_path: Path, address: str) -> None:
    """Four programs, as a person would start them. The learner and the bus's server are killed on the way."""
    port = free_port()
    jimbot = [sys.executable, "-m", "jimbot"]
    settings = [f"--set={name}={value}" for name, value in SMALL.items() if name not in ("algorithm", "no_wandb")]
    train = [
        *jimbot, "train", "probe", "--from-bus", address, "--bus", address, "--run", "online", "--no-wandb",
        *settings, "--set=save_interval=200", "--total-timesteps", "1000000",
    ]  # fmt: skip
    serve = [
        *jimbot, "serve", "--watch-run", "online", "--watch-latest", "--port", str(port), "--bus", address,
    ]  # fmt: skip

    def play(games: int) -> dict[str, Any]:
        actor = [*jimbot, "bus", "play", "probe", "--policy", f"grpc://127.0.0.1:{port}/probe", "--bus", address]
        actor += ["--games", str(games), "--noise", "0.1", "--seed", str(play.number), "--json"]  # ty: ignore
        play.number += 1  # ty: ignore
        done = subprocess.run(actor, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True)
        return json.loads(done.stdout)

    play.number = 0  # ty: ignore
    with ExitStack() as stack:

        def start(command: list[str], name: str) -> Child:
            log = stack.enter_context(open(tmp_path / f"{name}.log", "ab"))
            child = Child(command, log, cwd=tmp_path)
            stack.callback(child.end)
            return child

        learner = start(train, "train")
        assert learner.becomes(lambda: _step(tmp_path) is not None, 120), (tmp_path / "train.log").read_text()
        service = start(serve, "serve")
        assert service.becomes(lambda: "Listening" in (tmp_path / "serve.log").read_text(), 120)
        first = play(60)["mean_return"]
        assert wait_for(lambda: (_step(tmp_path) or 0) > 200, 120)
        learner.kill()
        learner.wait()
        stopped = _step(tmp_path)
        play(60)  # nobody learns, the service answers, the bus keeps it
        with suppress(ProcessLookupError):
            os.kill(_server_of(address), signal.SIGKILL)
        play(60)  # its server is started again by whoever uses it
        learner = start(train, "train")
        assert wait_for(lambda: (_step(tmp_path) or 0) > (stopped or 0), 120)
        last, ends = first, time.monotonic() + 240
        while last < 6 and time.monotonic() < ends:
            last = play(100)["mean_return"]
        learner.send_signal(signal.SIGINT)
        assert learner.wait(120) == 0
        assert service.poll() is None
    assert first < 4 < 6 <= last, f"from {first} to {last}"
    _check_each_game_is_learned_once(tmp_path, address)


def _step(home: Path) -> int | None:
    try:
        return load_checkpoint(find_checkpoint("online", home / "runs")).manifest.step
    except Exception:  # none yet, or one that is just being removed
        return None


def _server_of(address: str) -> int:
    import psutil

    store = str(store_of(address))
    for process in psutil.process_iter(["pid", "cmdline"]):
        if any(store in part for part in process.info["cmdline"] or ()) and "nats" in process.info["cmdline"][0]:
            return process.info["pid"]
    raise AssertionError("no server of this bus runs")


def _check_each_game_is_learned_once(home: Path, address: str) -> None:
    """What the checkpoint says it took is what the log has up to its place: no game less, none twice."""
    checkpoint = load_checkpoint(find_checkpoint("online", home / "runs"))
    state = checkpoint.state()
    place, games = int(state["stream/place"][2]), int(state["stream/counts"][0])
    lengths: dict[str, int] = {}

    async def work() -> None:
        async with client(address) as bus:
            async for event in bus.replay(["game.result"]):
                told = GameResultEvent()
                event.payload.Unpack(told)
                if event.sequence <= place:
                    lengths[told.game_id] = told.steps

    in_loop(work)
    assert games == len(lengths)
    assert checkpoint.manifest.step == sum(lengths.values())
    assert int(state["replay/store/counters"][2]) == sum(lengths.values())
