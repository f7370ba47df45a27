"""Games as pixels and in notebooks, and through the doors other libraries open by themselves."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import RenderCollection

import jimbot.envs
from jimbot.envs.pictures import CELL, SCREEN, raster
from jimbot.games import available_games, game_entry, make


def test_every_step_is_a_picture_of_one_size() -> None:
    env = RenderCollection(gymnasium.make("jimbot/Probe-v1", render_mode="rgb_array", horizon=3))
    env.reset(seed=1)
    ended = False
    while not ended:
        _, _, terminated, truncated, _ = env.step(env.unwrapped.action_space.sample())
        ended = terminated or truncated
    frames = env.render()
    assert len(frames) == 4
    columns, rows = game_entry("probe").canvas
    assert all(frame.shape == (rows * CELL[1], columns * CELL[0], 3) for frame in frames)
    assert all(frame.dtype == np.uint8 for frame in frames)
    assert (frames[0] != frames[-1]).any()


def test_colours_and_letters_stand_in_their_cells() -> None:
    picture = raster("[on red] [/] A", (120, 44))
    cells = picture[: CELL[1]].reshape(CELL[1], 120, CELL[0], 3)
    red, gap, letter, rest = cells[:, 0], cells[:, 1], cells[:, 2], cells[:, 3:]
    assert (red == red[0, 0]).all()
    assert red[0, 0, 0] > red[0, 0, 1:].max()
    assert (gap == gap[0, 0]).all()
    assert (letter != gap[0, 0]).any()
    assert (rest == gap[0, 0]).all()


@pytest.mark.parametrize("game_id", available_games())
def test_pictures_are_as_large_as_a_screen_takes_and_fit_every_video_format(game_id: str) -> None:
    height, width, _ = raster("a board", game_entry(game_id).canvas).shape
    assert width <= SCREEN[0]
    assert height <= SCREEN[1]
    assert width > SCREEN[0] / 2 or height > SCREEN[1] / 2
    assert width % 2 == height % 2 == 0, "H.264 wants even sides"


def test_a_small_board_fills_its_picture() -> None:
    env = gymnasium.make("jimbot/HackMatrix-v1", render_mode="rgb_array")
    env.reset(seed=1)
    frame = env.render()
    inked = (frame != frame[-1, -1]).any(axis=2)
    lines, columns = inked.any(axis=1).nonzero()[0], inked.any(axis=0).nonzero()[0]
    assert columns.max() > 0.9 * frame.shape[1]
    assert lines.max() > 0.7 * frame.shape[0], "the rest is for programs to come"


def test_sb3_makes_environments_by_name() -> None:
    env_util = pytest.importorskip("stable_baselines3.common.env_util")
    made = env_util.make_vec_env("jimbot/Probe-v1", n_envs=4, seed=0)
    observations = made.reset()
    assert observations.shape[0] == 4
    masks = np.stack(made.env_method("action_masks"))
    _, rewards, _, _ = made.step(masks.argmax(axis=1))
    assert rewards.shape == (4,)
    assert made.render().shape[2] == 3
    made.close()


def test_notebooks_show_games_and_results() -> None:
    env = jimbot.envs.make_env("probe")
    assert "has not begun" in env._repr_html_()
    env.reset(seed=1)
    assert "side of door" in env._repr_html_()
    game = make("probe", 4)
    assert "call reset()" in game._repr_html_()
    game.reset()
    assert "side of door" in game._repr_html_()
    judged = jimbot.evaluate("random", "probe", games=8)
    assert "matches" in judged._repr_html_()
    assert "<pre" in jimbot.compare(["random", "random"], "probe", 8)._repr_html_()
