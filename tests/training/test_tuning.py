"""The parts of a search that need no Ray: what is tried, what is remembered, what is written."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from jimbot.errors import CheckpointError, SettingsError, UnknownNameError
from jimbot.training.search import BEST, SEARCH, TURNS, Search, Tuning, counts, parse_parameters, tune
from jimbot.training.settings.layers import resolve_settings
from jimbot.training.trials import TURNS as TURNS_FILE
from jimbot.training.trials import Turn, chosen_ranges
from tests.training.small import small_settings

RANGES = chosen_ranges("PPO", {"lr": [1e-4, 1e-2], "gamma": []}, whole=True)


def opened(folder: Path, **changes: object) -> Tuning:
    folder.mkdir(exist_ok=True)
    ranges = json.loads(json.dumps({name: asdict(span) for name, span in RANGES.items()}))
    wanted = Search(**{"trial_steps": 9 * 512, "games": 8, "ranges": ranges, **changes})
    return Tuning.open(folder, small_settings(), wanted, RANGES)


def take_turns(tuning: Tuning, number: int, scores: list[float | None]) -> None:
    folder = tuning.folder / tuning.trial(number).run
    folder.mkdir(parents=True)
    turns = [Turn(512 * (place + 1), 512 * (place + 1), score, 1.0) for place, score in enumerate(scores)]
    (folder / TURNS_FILE).write_text("".join(json.dumps(asdict(turn)) + "\n" for turn in turns))


def test_the_best_trial_is_the_best_of_those_that_got_furthest(tmp_path: Path) -> None:
    tuning = opened(tmp_path)
    for proposed in ({"lr": 1e-3, "gamma": 0.01}, {"lr": 2e-3, "gamma": 0.02}, {"lr": 3e-3, "gamma": 0.03}):
        tuning.propose(proposed)
    take_turns(tuning, 0, [1.0] * TURNS)
    take_turns(tuning, 1, [1.0] * (TURNS - 1) + [2.0])
    take_turns(tuning, 2, [9.0])
    best = tuning.best()
    assert best is not None
    assert (best.number, best.score, best.turns) == (1, 2.0, TURNS)
    assert best.values == {"lr": 2e-3, "gamma": 0.98}


def test_the_best_settings_are_a_file_that_train_takes(tmp_path: Path) -> None:
    tuning = opened(tmp_path)
    tuning.propose({"lr": 0.0012345, "gamma": 0.004})
    assert tuning.write_best() is None, "nothing was judged yet"
    take_turns(tuning, 0, [3.0])
    path = tuning.write_best()
    assert path == tmp_path / BEST
    settings = resolve_settings(path, {})
    assert (settings.ppo.lr, settings.gamma) == (0.0012345, 0.996)
    ours = small_settings(lr=0.0012345, gamma=0.996).flat()
    assert {name: value for name, value in settings.flat().items() if ours[name] != value} == {}


def test_the_first_trial_has_the_settings_that_were_given(tmp_path: Path) -> None:
    tuning = opened(tmp_path)
    tuning.propose(tuning.own_proposal())
    assert tuning.trial(0).values == {"lr": tuning.settings.ppo.lr, "gamma": tuning.settings.gamma}


def test_a_search_is_remembered_and_continued_only_as_it_was(tmp_path: Path) -> None:
    opened(tmp_path).propose({"lr": 0.1, "gamma": 0.01})
    again = opened(tmp_path)
    again.propose({"lr": 0.1, "gamma": 0.01})
    assert len(again.search.proposed) == 1, "the same proposal is the same trial"
    with pytest.raises(SettingsError, match=r"was started with trial_steps 4608, now it is 999\. Use --fresh"):
        opened(tmp_path, trial_steps=999)
    (tmp_path / SEARCH).write_text("{")
    with pytest.raises(CheckpointError, match="is damaged"):
        opened(tmp_path)


def test_counts_are_powers_of_two_and_minibatches_divide_every_batch() -> None:
    settings = small_settings(num_envs=6)
    ranges = chosen_ranges("PPO", {"num_steps": [16, 64], "num_minibatches": [], "num_layers": []}, whole=True)
    assert counts("num_steps", ranges["num_steps"], settings, ranges) == [16, 32, 64]
    assert counts("num_minibatches", ranges["num_minibatches"], settings, ranges) == [1, 2, 4, 8, 16, 32]
    assert counts("num_layers", ranges["num_layers"], settings, ranges) == [1, 2, 3, 4]


def test_parameters_that_cannot_be_read_or_are_unknown_are_one_sentence() -> None:
    with pytest.raises(SettingsError, match="--parameter got 'lr=1'; expected name or name=low:high"):
        parse_parameters(["lr=1"])
    with pytest.raises(UnknownNameError, match="Did you mean 'gae_lambda'"):
        tune(small_settings(), parameters={"gae_lamda": []})
    with pytest.raises(SettingsError, match="has no population"):
        tune(small_settings(population=2))
