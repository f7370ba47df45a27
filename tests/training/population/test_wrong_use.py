"""Wrong use of populations and searches is one sentence, said before Ray starts or anything is written."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jimbot.cli.main import run
from jimbot.errors import install_command

TRAIN = ("train", "probe", "--num-envs", "16", "--num-steps", "32")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((*TRAIN, "--population", "1"), "population is 1; expected 2 members or more"),
        ((*TRAIN, "--population", "few"), "Setting population is few"),
        ((*TRAIN, "--population", "2", "--population-quantile", "0.9"), "Setting population_quantile is 0.9"),
        ((*TRAIN, "--population", "2", "--set", "mutations.ent_coeff=[0.1,0.2]"), "Did you mean 'ent_coef'?"),
        ((*TRAIN, "--population", "2", "--set", "mutations.lr=[1,0.1]"), "The range of lr is [1, 0.1]"),
        ((*TRAIN, "--population", "2", "--auto-tune"), "batch is measured: it measures one trainer"),
        (("tune", "probe", "--trials", "0"), "--trials is 0; expected a number above 0"),
        (("tune", "probe", "--parameter", "learning_rate"), "Unknown hyper-parameter to tune with PPO 'learning_rate'"),
        (("tune", "probe", "--parameter", "lr=1e-5"), "--parameter got 'lr=1e-5'"),
        (("tune", "prob"), "Did you mean 'probe'?"),
    ],
)
def test_wrong_use_is_one_sentence_and_writes_nothing(
    arguments: tuple[str, ...],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(list(arguments)) == 2
    complaint = capsys.readouterr().err
    assert sentence in complaint
    assert "Starting Ray" not in complaint
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("missing", "extra", "arguments"),
    [
        ("ray", "ray", (*TRAIN, "--population", "2")),
        ("ray", "ray", ("tune", "probe")),
        ("optuna", "tune", ("tune", "probe")),
    ],
)
def test_a_missing_library_is_named_with_its_extra(
    missing: str,
    extra: str,
    arguments: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in list(sys.modules):
        if name.startswith(("jimbot.training.ray", "jimbot.training.population.ray_")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    assert run(list(arguments)) == 2
    complaint = capsys.readouterr().err
    assert f"'{missing}', which" in complaint
    assert install_command(extra) in complaint
    assert not list(tmp_path.iterdir())
