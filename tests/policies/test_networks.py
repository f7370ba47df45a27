"""Architectures as data: the board network's fixed steps, JAX against ONNX, sentences for what does not fit."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnxruntime
import pytest

from jimbot.errors import CheckpointError, SettingsError, UnknownNameError
from jimbot.games.probe import SPEC as PROBE
from jimbot.games.spec import BoardView, Field, GameSpec, ObservationSpec
from jimbot.policies import masking
from jimbot.policies.board import recoding, turning
from jimbot.policies.jax_networks import make_network
from jimbot.policies.networks import (
    describe_network,
    feature_size,
    forward_flops,
    layer_shapes,
    train_flops,
)
from jimbot.policies.onnx_form import onnx_from_params

ROWS, COLS, CHANNELS = 3, 4, 9
BOARD_GAME: GameSpec = dataclasses.replace(
    PROBE,
    id="boardlike",
    observation=ObservationSpec(
        (
            Field("place", (2,), "row and column, scaled"),
            Field(
                "grid",
                (ROWS, COLS, CHANNELS),
                "cells",
                board=BoardView(("place", 0), ("place", 1), one_hot=((2, 8),), opaque=(0, 8), walls=(0,), goals=(1,)),
            ),
            Field("rest", (3,), "other numbers"),
        )
    ),
)


def observations(count: int, seed: int = 0) -> np.ndarray:
    """Random observations of the board game; each cell holds at most one of the six one-hot ids."""
    rng = np.random.default_rng(seed)
    spec = BOARD_GAME.observation
    values = rng.random((count, spec.size)).astype(np.float32)
    values[:, 0] = rng.integers(0, ROWS, count) / (ROWS - 1)
    values[:, 1] = rng.integers(0, COLS, count) / (COLS - 1)
    ids = rng.integers(-1, 6, (count, ROWS, COLS))
    grid = spec.view(values, "grid").copy()
    grid[..., [0, 1, 8]] *= rng.random((count, ROWS, COLS, 3)) < 0.3  # walls, goals and the rest stand apart
    grid[..., 2:8] = ids[..., None] == np.arange(6)
    values[:, spec.span("grid")] = grid.reshape(count, -1)
    return values


@pytest.mark.parametrize("kind", ["mlp", "board"])
def test_onnx_gives_the_same_masked_policy_and_value_as_jax(kind: str) -> None:
    described = describe_network(BOARD_GAME, kind, hidden_dim=24, num_layers=3)
    network = make_network(described)
    params = network.init(1)
    params["policy.weight"] = params["policy.weight"] * 300  # far from uniform
    size, actions = described["observation_size"], described["num_actions"]
    seen = observations(50)
    legal_mask = np.random.default_rng(1).random((50, actions)) < 0.1
    legal_mask[:, 5] = True
    model = onnx_from_params(described, {k: np.asarray(v) for k, v in params.items()}, size, actions)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    log_probability, value = session.run(None, {"observation": seen, "legal_mask": legal_mask})
    logits, expected_value = network.apply(params, network.prepare(seen))
    np.testing.assert_allclose(log_probability, masking.log_probabilities(logits, legal_mask), atol=1e-5)
    np.testing.assert_allclose(value, expected_value, atol=1e-5)


def test_the_board_is_turned_so_that_the_viewers_cell_comes_first() -> None:
    table = turning({"rows": ROWS, "cols": COLS})
    assert (table[:, 0] == np.arange(ROWS * COLS)).all()
    for cells in table:
        assert sorted(cells) == list(range(ROWS * COLS))
    viewer = 1 * COLS + 2
    assert table[viewer][1] == 1 * COLS + 3, "one to the right"
    assert table[viewer][COLS] == 2 * COLS + 2, "one row on"


def test_recoding_loses_nothing() -> None:
    matrix = recoding(describe_network(BOARD_GAME, "board")["board"])
    assert matrix.shape == (CHANNELS, CHANNELS - 6 + 3)
    ids = np.concatenate([np.zeros((1, CHANNELS)), np.eye(CHANNELS)[2:8]])
    codes = ids @ matrix
    assert len({tuple(code) for code in codes}) == 7, "six ids and nothing are all told apart"
    plain = np.eye(CHANNELS)[[0, 1, 8]] @ matrix
    assert (plain.sum(axis=1) == 1).all(), "other channels pass unchanged"


def test_prepared_features_depend_only_on_what_surrounds_the_viewer() -> None:
    """Moving viewer and world together changes only the viewer's own row and column."""
    described = describe_network(BOARD_GAME, "board")
    network = make_network(described)
    seen = observations(1)
    grid = BOARD_GAME.observation.view(seen, "grid")
    seen[0, :2] = 0
    moved = seen.copy()
    moved[0, 0] = 1 / (ROWS - 1)
    moved[:, BOARD_GAME.observation.span("grid")] = np.roll(grid, 1, axis=1).reshape(1, -1)
    cells = ROWS * COLS * recoding(described["board"]).shape[1]
    first = BOARD_GAME.observation.size - ROWS * COLS * CHANNELS + ROWS + COLS
    a, b = (np.asarray(network.prepare(x))[0, first : first + cells] for x in (seen, moved))
    np.testing.assert_array_equal(a, b)


WALL, GOAL, LAMP = 0, 1, 8  # channels of the drawn boards below
RAY_STEPS = max(ROWS, COLS) - 1


def prepared(drawing: list[str]) -> np.ndarray:
    """The features of a board drawn with @ viewer, # wall, o lamp (opaque, no wall), x goal; the last line is row 0."""
    seen = np.zeros((1, BOARD_GAME.observation.size), np.float32)
    grid = np.zeros((ROWS, COLS, CHANNELS), np.float32)
    for row, line in enumerate(reversed(drawing)):
        for col, sign in enumerate(line):
            if sign == "@":
                seen[0, :2] = row / (ROWS - 1), col / (COLS - 1)
            elif sign in "#ox":
                grid[row, col, {"#": WALL, "x": GOAL, "o": LAMP}[sign]] = 1
    seen[:, BOARD_GAME.observation.span("grid")] = grid.reshape(1, -1)
    return np.asarray(make_network(describe_network(BOARD_GAME, "board")).prepare(seen))[0]


def rays_of(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """((up, down, left, right) × steps: where the view ends, × channels: what stands there)"""
    channels = CHANNELS - 6 + 3
    rays = features[-9 - 4 * (RAY_STEPS + channels) : -9]
    return rays[: 4 * RAY_STEPS].reshape(4, RAY_STEPS), rays[4 * RAY_STEPS :].reshape(4, channels)


def test_rays_end_at_the_first_thing_in_sight_or_at_the_edge() -> None:
    ends, seen = rays_of(prepared(["....", "@.o#", "...."]))
    assert ends.tolist() == [[0, 1, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0]], (
        "edge above, below and beside; a lamp two steps away"
    )
    assert seen[3, -1] == 1, "the lamp"
    assert seen[3, WALL] == 0, "it hides the wall behind it"
    assert (seen[:3] == 0).all(), "the edge shows nothing"


@pytest.mark.parametrize(
    ("drawing", "distance", "closer", "nowhere"),
    [
        (["....", "@..x", "...."], 3, [0, 0, 0, 1], [0, 0, 1, 0]),
        ([".#..", "@#.x", "...."], 5, [0, 1, 0, 0], [0, 0, 1, 1]),
        ([".#..", "@#.x", ".#.."], 16, [0, 0, 0, 0], [1, 1, 1, 1]),
        (["x...", "@..x", "...."], 1, [1, 0, 0, 0], [0, 0, 1, 0]),
    ],
)
def test_paths_tell_the_way_to_the_nearest_goal(
    drawing: list[str], distance: int, closer: list[int], nowhere: list[int]
) -> None:
    paths = prepared(drawing)[-9:]
    assert paths[0] == distance / 16
    assert paths[1:5].tolist() == closer
    assert paths[5:].tolist() == nowhere


def test_a_description_without_rays_and_paths_still_computes() -> None:
    """Checkpoints from before they existed name neither."""
    old = describe_network(BOARD_GAME, "board")
    for name in ("opaque", "walls", "goals"):
        del old["board"][name]
    features = make_network(old).prepare(observations(2))
    assert features.shape == (2, feature_size(old))
    assert feature_size(old) < feature_size(describe_network(BOARD_GAME))


def test_sizes_and_flops_follow_from_the_description() -> None:
    described = describe_network(PROBE, "mlp", 32, 2)
    assert layer_shapes(described) == {"trunk_0": (5, 32), "trunk_1": (32, 32), "policy": (32, 48), "value": (32, 1)}
    assert forward_flops(described) == 2 * (5 * 32 + 32 * 32 + 32 * 48 + 32)
    assert train_flops(described) == 3 * forward_flops(described) - 2 * 5 * 32
    assert feature_size(described) == 5


def test_auto_takes_the_board_where_there_is_one() -> None:
    assert describe_network(BOARD_GAME)["kind"] == "board"
    assert describe_network(PROBE)["kind"] == "mlp"


def test_what_does_not_fit_is_one_sentence() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown network 'bord'. Did you mean 'board'"):
        describe_network(PROBE, "bord")
    with pytest.raises(SettingsError, match="needs a game with a board; 'probe' has none"):
        describe_network(PROBE, "board")
    described = describe_network(PROBE, "mlp", 8)
    params = {k: np.asarray(v) for k, v in make_network(described).init(0).items()}
    with pytest.raises(CheckpointError, match="belongs to another game"):
        onnx_from_params(described, params, 6, 48)
    with pytest.raises(CheckpointError, match=r"'trunk_0.weight' has shape"):
        onnx_from_params(described, {**params, "trunk_0.weight": np.zeros((2, 2))}, 5, 48)
    del params["value.bias"]
    with pytest.raises(CheckpointError, match=r"'value.bias' is missing"):
        onnx_from_params(described, params, 5, 48)
