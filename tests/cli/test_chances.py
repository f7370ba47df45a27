"""`jimbot evaluate` leaves a checkpoint's chances to win in its run, and `watch` finds them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from jimbot.games import contract, register_game
from jimbot.policies.networks import describe_network
from jimbot.policies.onnx_form import onnx_from_params
from jimbot.policies.players import find_player
from jimbot.policies.win_chances import FILE, win_chances
from jimbot.runs import CheckpointStore, Manifest
from tests.games.stairs import SPEC, UP


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract, "_GAMES", dict(contract._GAMES))
    register_game("stairs", "tests.games.stairs")


@pytest.fixture
def run(home: Path) -> Path:
    """A run that always climbs: it wins where no stair is wet, and expects more the higher it stands."""
    save_climber(home / "runs" / "mine", 1000, "2026-01-01T00:00:00+00:00")
    return home / "runs" / "mine"


def save_climber(run: Path, step: int, created: str) -> Path:
    network = describe_network(SPEC, "mlp", hidden_dim=2, num_layers=1)
    policy, bias = np.zeros((2, 2), np.float32), np.zeros(2, np.float32)
    bias[UP] = 5
    params = {
        "trunk_0.weight": np.eye(2, dtype=np.float32),
        "trunk_0.bias": np.zeros(2, np.float32),
        "policy.weight": policy,
        "policy.bias": bias,
        "value.weight": np.array([[1], [-1]], np.float32),
        "value.bias": np.zeros(1, np.float32),
    }
    manifest = Manifest.for_game(SPEC, learner="jax", algorithm="PPO", network=network, step=step, created=created)
    model = onnx_from_params(network, params, SPEC.observation.size, SPEC.actions.size)
    return CheckpointStore(run / "checkpoints").save(manifest, model, params, {"update": np.array(1)})


def test_an_evaluation_leaves_the_chances_of_its_checkpoint(jimbot, run: Path) -> None:
    assert win_chances(find_player("mine")) is None
    code, _, err = jimbot("evaluate", "mine", "--games", 300)
    assert (code, err.count("\n")) == (0, 1)
    assert FILE in err
    table = win_chances(find_player("mine"))
    assert table is not None
    assert (table.game, table.games, table.bank, table.by) == ("stairs", 300, "held-out", "")
    low, high = (table.of(np.array([height, 0.0]), float(height)) for height in (0, 7))
    assert low < 0.15 < 0.5 < high
    assert "wins from here" in jimbot("watch", "mine", "--games", 1)[1]
    assert "wins from here" not in jimbot("watch", "mine", "--games", 1, "--stochastic")[1]
    save_climber(run, 2000, "2026-01-02T00:00:00+00:00")
    assert win_chances(find_player("mine")) is None, "the next checkpoint plays otherwise"
    assert win_chances(find_player(run / "checkpoints" / f"{1000:012d}")) is not None


@pytest.mark.parametrize(
    "arguments",
    [
        ("--games", 99),
        ("--games", 100, "--stochastic"),
        ("--games", 100, "--option", "limit=20"),
        ("--games", 100, "--option", "limit=3"),
        ("--games", 100, "--seeds-file", "seeds.txt"),
    ],
)
def test_other_evaluations_leave_nothing(jimbot, home: Path, run: Path, arguments: tuple[object, ...]) -> None:
    (home / "seeds.txt").write_text("\n".join(map(str, range(100))))
    code, _, err = jimbot("evaluate", "mine", *arguments)
    assert (code, err) == (0, "")
    assert not (run / FILE).exists()


def test_games_that_all_ended_alike_leave_nothing(jimbot, home: Path) -> None:
    save_climber(home / "runs" / "short", 1000, "2026-01-01T00:00:00+00:00")
    checkpoint = next((home / "runs" / "short" / "checkpoints").glob("0*"))
    text = (checkpoint / "manifest.json").read_text()
    (checkpoint / "manifest.json").write_text(text.replace('"game_options": {}', '"game_options": {"limit": 3}'))
    assert find_player("short").options == {"limit": 3}, "nobody comes up in three steps"
    assert jimbot("evaluate", "short", "--games", 100)[0] == 0
    assert not (home / "runs" / "short" / FILE).exists()


def test_a_policy_outside_a_run_and_a_run_that_cannot_be_written(jimbot, home: Path, run: Path) -> None:
    jimbot("export", "mine", "--output", "mine.onnx")
    assert jimbot("evaluate", "mine.onnx", "--games", 100)[::2] == (0, "")
    assert not list(home.rglob(FILE))
    (run / FILE).mkdir()  # cannot be replaced by a file, by root neither
    assert jimbot("evaluate", "mine", "--games", 100)[::2] == (0, "")
    assert win_chances(find_player("mine")) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda found: "{",
        lambda found: "[]",
        lambda found: json.dumps({**found, "levels": found["levels"][1:]}),
        lambda found: json.dumps({**found, "levels": [], "chances": []}),
        lambda found: json.dumps({**found, "levels": found["levels"][::-1]}),
        lambda found: json.dumps({**found, "chances": [7.0] * len(found["chances"])}),
        lambda found: json.dumps({**found, "chances": None}),
        lambda found: json.dumps({**found, "by": "nobody"}),
        lambda found: json.dumps({**found, "against": "\x1b[31mnobody"}),
        lambda found: json.dumps({**found, "game": "balatro"}),
        lambda found: json.dumps({**found, "more": 1}),
        lambda found: b"\xff\xfe".decode("latin-1") * 10,
    ],
)
def test_a_damaged_table_is_ignored(jimbot, run: Path, change) -> None:
    jimbot("evaluate", "mine", "--games", 100)
    found = json.loads((run / FILE).read_text())
    (run / FILE).write_text(change(found))
    assert win_chances(find_player("mine")) is None
    assert "wins from here" not in jimbot("watch", "mine", "--games", 1)[1]
