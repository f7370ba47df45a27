"""Several settings side by side, the figures of episodes, and exported files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from jimbot.cli.main import run
from jimbot.errors import SettingsError, UnknownNameError, UsageError
from jimbot.training import export
from jimbot.training.experiment import MultiAlgorithmBenchmark, load_experiments
from jimbot.training.metrics import (
    BalatroMetrics,
    compute_moving_average,
    plot_training_curves,
    print_comparison_table,
)

FILE = """
game: probe
n_eval_episodes: 32
root: {root}
common:
  n_envs: 64
  total_timesteps: 10240
  learner: sb3
  use_feature_extractor: false
  hyperparams: {{policy_net_arch: [32], value_net_arch: [32], learning_rate: 5e-3}}
experiments:
  PPO:
    hyperparams:
      policy_net_arch: [32]
      value_net_arch: [32]
      learning_rate: 5e-3
      algorithm_specific: {{n_steps: 16, batch_size: 256, n_epochs: 4}}
  asleep:
    algorithm: A2C
    hyperparams: {{learning_rate: 1e-9}}
"""


def test_experiments_are_trained_compared_drawn_and_not_repeated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    file = tmp_path / "compare.yaml"
    file.write_text(FILE.format(root=tmp_path / "runs"))
    assert run(["experiment", str(file), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["best"] == "PPO"
    by_name = {result["name"]: result for result in said["results"]}
    assert by_name["PPO"]["mean_return"] > 7 > 4 > by_name["asleep"]["mean_return"]
    assert len(by_name["PPO"]["curve"]) > 5
    assert Path(said["picture"]).read_bytes()[:4] == b"\x89PNG"

    assert run(["experiment", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "Best: PPO" in shown
    assert "0.0" in shown, "nothing was trained again"
    file.write_text(file.read_text().replace("1e-9", "2e-9"))
    assert run(["experiment", str(file)]) == 2
    assert "was finished with other settings" in capsys.readouterr().err

    checkpoint = by_name["PPO"]["checkpoint"]
    import torch

    for name in ("model.pt", "model.onnx"):
        assert export.main(["--checkpoint", checkpoint, "--output", str(tmp_path / name)]) == 0
    tensors = torch.load(tmp_path / "model.pt", weights_only=True)
    assert "policy.weight" in tensors
    assert export.main(["--checkpoint", checkpoint, "--output", str(tmp_path / "model.h5")]) == 2


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("game: probe", SettingsError, "has no experiments"),
        ("experiment: {}", UnknownNameError, "Did you mean 'experiments'"),
        ("experiments: {SAC: {}}", UnknownNameError, "Unknown algorithm 'SAC'"),
        ("experiments: {PPO: {n_env: 3}}", UnknownNameError, "Did you mean 'n_envs'"),
    ],
)
def test_an_unusable_file_is_one_sentence(tmp_path: Path, text: str, error: type, words: str) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text(text)
    with pytest.raises(error, match=words):
        load_experiments(file)


def test_a_benchmark_without_experiments_or_results_says_what_to_call(tmp_path: Path) -> None:
    benchmark = MultiAlgorithmBenchmark("probe", tmp_path)
    with pytest.raises(UsageError, match="Call add_experiment first"):
        benchmark.run_all()
    with pytest.raises(UsageError, match="Call run_all first"):
        benchmark.get_best_result()
    benchmark.add_experiment("PPO")
    with pytest.raises(UsageError, match="two experiments called 'PPO'"):
        benchmark.add_experiment("PPO")


def test_moving_averages_equal_the_definition() -> None:
    values = np.random.default_rng(0).normal(size=50)
    expected = [values[max(0, i - 6) : i + 1].mean() for i in range(50)]
    np.testing.assert_allclose(compute_moving_average(values.tolist(), 7), expected)
    with pytest.raises(UsageError, match="window is 0"):
        compute_moving_average([1.0], 0)


def test_figures_of_episodes_are_summarised_drawn_and_tabled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics = BalatroMetrics()
    assert metrics.get_summary() == {"episodes": 0.0}
    with pytest.raises(UsageError, match="nothing to draw"):
        plot_training_curves(metrics, tmp_path / "curves.png")
    for i in range(10):
        metrics.add_episode(reward=i, ante=i // 3, score=100 * i, length=50)
    assert metrics.get_summary()["mean_score"] == 450
    assert plot_training_curves(metrics, save_path=tmp_path / "curves.png").stat().st_size > 1000
    picture = tmp_path / "new folder" / "plot.png"
    assert plot_training_curves({"reward": [1, 2.5, 4], "loss": (3, 1)}, save_path=picture) == picture
    assert picture.read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(UsageError, match=r"'mean_reward' is 4.5; expected a list of numbers"):
        plot_training_curves({"mean_reward": 4.5}, picture)
    print_comparison_table({"one": metrics.get_summary(), "two": {"episodes": 3.0}})
    assert "mean_score" in capsys.readouterr().out.replace("\n", "")
