"""What was legal is computed again from observations alone, bit for bit; stored experience may leave it out."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from jimbot.cli.main import run
from jimbot.games import make
from jimbot.games.checker import random_legal
from jimbot.games.vgc import fields
from jimbot.games.vgc.masks import legal_masks
from jimbot.policies.heuristics import heuristic_policy
from jimbot.training.imitation.dataset import Dataset
from jimbot.training.imitation.record import record


def differing(options: dict[str, object], battles: int, steps: int) -> tuple[int, int]:
    """(rows whose mask came out otherwise, rows) in random battles of two sides."""
    game = make("vgc", battles, seed=4, options={"opponent": "self", **options})
    luck = np.random.default_rng(2)
    wrong = rows = 0
    try:
        game.reset()
        for _ in range(steps):
            shown = game.acting
            computed = legal_masks(game.observation[shown])
            wrong += int((computed != game.legal_mask[shown]).any(axis=1).sum())
            rows += int(shown.sum())
            game.step(random_legal(luck, game.legal_mask))
    finally:
        game.close()
    return wrong, rows


@pytest.mark.parametrize("sheets", [True, False], ids=["open sheets", "closed sheets"])
def test_the_row_tells_what_is_legal(sheets: bool) -> None:
    wrong, rows = differing({"open_team_sheets": sheets}, battles=8, steps=25)
    assert rows > 300
    assert wrong == 0


@pytest.mark.long
@pytest.mark.parametrize("form", ["gen9vgc2023regc", "gen9vgc2024regg", "gen9vgc2025regi"])
def test_the_row_tells_what_is_legal_in_many_battles(form: str) -> None:
    wrong, rows = differing({"format": form}, battles=64, steps=150)
    assert rows > 10_000
    assert wrong == 0


def test_a_row_that_waits_has_no_legal_action() -> None:
    assert not legal_masks(np.zeros((2, fields.OBSERVATION.size), np.float32)).any()


def test_a_dataset_without_masks_gives_the_same_rows(tmp_path: Path) -> None:
    teacher = heuristic_policy("random", "vgc")
    paths = {masks: tmp_path / f"{masks}.npz" for masks in (True, False)}
    for masks, path in paths.items():
        record(teacher, "vgc", 2, path, options={"opponent": "self"}, num_envs=2, masks=masks)
    assert any("legal_mask" in name for name in zipfile.ZipFile(paths[True]).namelist())
    assert not any("legal_mask" in name for name in zipfile.ZipFile(paths[False]).namelist())
    with Dataset.open(paths[True]) as whole, Dataset.open(paths[False]) as lean:
        assert (whole.info.masks, lean.info.masks) == (True, False)
        for one, two in zip(whole.chunk(0), lean.chunk(0), strict=True):
            assert np.array_equal(one, two) if one is not None else two is None


@pytest.mark.parametrize("game", ["balatro", "hackmatrix", "probe"])
def test_a_game_whose_row_does_not_tell_says_so_at_once(
    game: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["record", game, "--policy", "random", "--games", "1", "--no-masks"]) == 2
    said = capsys.readouterr().err
    assert f"Masks of game '{game}' cannot be left out" in said
    assert not list(tmp_path.iterdir())
