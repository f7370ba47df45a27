"""Public logs read back: of our own battles we know what was chosen, so we can tell how well they are read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from jimbot.cli.main import run
from jimbot.games.contract import make
from jimbot.games.vgc import teams
from jimbot.games.vgc.battle_logs import ReplayError, read_replay, replay_files, replay_log
from jimbot.games.vgc.game import VgcGame
from jimbot.games.vgc.heuristic import VgcHeuristic
from jimbot.games.vgc.reader import Reader
from jimbot.training.imitation.dataset import Dataset
from tests.games.vgc.lab import run_jobs


def spectate(count: int, seed: int, player: str = "", **changes: object) -> dict:
    job = {"job": "spectate", "count": count, "seed": seed, "player": player}
    return run_jobs(job, teams=teams.split_teams("train"), **changes)[0]


def test_what_was_chosen_is_among_the_labels() -> None:
    found = spectate(6, 1)
    assert found["read"] + found["unexplained"] >= 0.97 * found["made"]
    assert len(found["wrong"]) <= 0.02 * found["read"]
    assert found["sure"] > 0.6 * found["read"]
    assert found["results"] == 6


@pytest.mark.long
@pytest.mark.parametrize("player", ["", "heuristic"])
@pytest.mark.parametrize("sheets", [True, False])
def test_what_was_chosen_is_among_the_labels_of_many_battles(player: str, sheets: bool) -> None:
    found = spectate(150, 7, player, open_team_sheets=sheets)
    assert found["read"] > (0.95 if sheets else 0.65) * found["made"]  # without sheets some moves are never seen
    assert len(found["wrong"]) < 0.03 * found["read"]
    assert found["results"] == 150


@pytest.fixture(scope="module")
def logs() -> list[str]:
    """Spectators' logs of a few battles of the heuristic against itself."""
    game = make("vgc", 4, options={"opponent": "self"})
    assert isinstance(game, VgcGame)
    found: dict[int, str] = {}
    try:
        game.reset(np.arange(4, dtype=np.uint64))
        while len(found) < 4:
            game.step(VgcHeuristic("heuristic").act(game.observation, game.legal_mask)[0])
            for battle in np.flatnonzero(game.terminated[::2]).tolist():
                found.setdefault(battle, "\n".join(game.log_lines(battle, ended=True)))
    finally:
        game.close()
    return list(found.values())


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with closing(Reader()) as reading:
        yield reading


def test_a_replay_has_both_sides_with_labels_inside_the_mask(logs: list[str], reader: Reader) -> None:
    for log in logs:
        replay = read_replay(reader, log)
        assert replay.over
        assert sorted(side.result for side in replay.sides) in ([-1, 1], [0, 0])
        for side in replay.sides:
            assert len(side.labels) > 1
            assert side.labels.any(axis=1).all()
            assert not (side.labels & ~side.legal_mask).any()
            assert np.isfinite(side.observation).all()
            assert side.stats[0] == (side.result > 0)


def test_what_is_no_replay_is_said(tmp_path: Path, reader: Reader) -> None:
    files = {
        "a.json": "{}", "b.json": '{"log": 7}', "c.json": "no json", "d.log": "words",
        "e.log": "|gametype|singles\n|gen|9\n|turn|1", "f.log": "|gametype|doubles\n|gen|9",
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert len(replay_files(tmp_path)) == len(files)
    for path in replay_files(tmp_path):
        with pytest.raises(ReplayError):
            read_replay(reader, replay_log(path))


def test_replays_become_a_dataset(
    logs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("replays").mkdir()
    for number, log in enumerate(logs):
        Path(f"replays/{number}.json").write_text(json.dumps({"id": f"battle-{number}", "log": log}))
    Path("replays/other.json").write_text('{"log": "|gametype|singles"}')
    assert run(["record", "vgc", "--replays", "replays", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["games"], sum(told["skipped"].values())) == (len(logs), 1)
    with Dataset.open("vgc-replays.npz") as dataset:
        assert dataset.info.labels
        assert dataset.usable.all()
        assert set(dataset.returns.tolist()) <= {-1.0, 0.0, 1.0}
    for arguments, word in (
        (["record", "vgc", "--replays", "replays"], "exists already"),
        (["record", "vgc", "--replays", "nowhere", "--overwrite"], "nowhere"),
        (["record", "probe", "--replays", "replays", "--overwrite"], "vgc"),
    ):
        assert run(arguments) == 2
        assert word in capsys.readouterr().err
