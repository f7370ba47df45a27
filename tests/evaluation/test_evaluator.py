"""evaluate and compare from the outside: named policies in, honest figures out."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from jimbot.errors import CheckpointError, UnknownNameError, UsageError
from jimbot.evaluation import Evaluation, compare, compare_evaluations, evaluate, play_games
from jimbot.evaluation.evaluator import choose_seeds, read_seeds_file
from jimbot.games import game_entry
from jimbot.games.seeds import bank_of, bank_seeds
from jimbot.runs import CheckpointStore, Manifest, load_checkpoint
from tests.envs.games import COMPILED_ROWS

FIXTURE = Path(__file__).parents[1] / "runs" / "fixtures" / "format-1"


def shown(value: object, width: int = 160) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(value)
    return out.getvalue()


def test_figures_of_known_games(countdown, always) -> None:
    result = evaluate(always(0, "taker"), "countdown", games=70, seeds_file=None)
    lengths = 1 + bank_seeds("held-out", 70) % 7
    assert result.count == 70
    assert result.mean_return.mean == pytest.approx(lengths.mean())
    assert result.win_rate is not None
    assert (result.win_rate.mean, result.win_rate.high) == (1.0, 1.0)
    counts = np.bincount(lengths.astype(int))
    assert result.distributions == {"taken": {i: int(counts[i]) for i in range(1, 8)}}
    loser = evaluate(always(1, "passer"), "countdown", games=70)
    assert loser.win_rate is not None
    assert (loser.win_rate.mean, loser.win_rate.low) == (0.0, 0.0)
    assert loser.win_rate.high == pytest.approx(0.052, abs=1e-3)


def test_the_report_is_plain_json_and_a_table(countdown, always) -> None:
    result = evaluate(always(2, "cheater"), "countdown", games=3, options={"endless": False})
    report = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert report["illegal_actions"] == result.games.lengths.sum()
    assert report["seeds"] == "held-out"
    assert report["options"] == {"endless": False}
    assert set(report["mean_return"]) == {"mean", "low", "high", "spread", "count"}
    assert report["games_per_hour"] > 0
    text = shown(result)
    assert "cheater on countdown: 3 games, held-out seeds, best action" in text
    assert "illegal actions" in text
    one = evaluate(always(0, "taker"), "countdown", games=1)
    json.dumps(one.to_dict(), allow_nan=False)
    assert "unknown" in shown(one)


def test_figures_follow_the_ladder_a_game_declares() -> None:
    result = evaluate("random", "hackmatrix", games=12, num_envs=COMPILED_ROWS)
    stages = result.games.stat("stage")
    assert [share.mean for share in result.ladder.values()] == [
        (stages >= rung).mean() for rung in range(1, int(stages.max()) + 1)
    ]
    report = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert report["ladder"]["stat"] == "stage"
    assert report["ladder"]["reached"]["1"]["mean"] == 1
    assert report["maxima"] == {"highest_stage": stages.max()}
    assert report["quantiles"]["score"]["50"] == np.median(result.games.stat("score"))
    assert set(report["quantiles"]) == {"return", "length", "stage", "score"}


def test_the_headline_has_wins_progress_and_return_on_a_narrow_screen() -> None:
    result = evaluate("random", "hackmatrix", games=12, num_envs=COMPILED_ROWS, against=0.5)
    lines = shown(result.headline(), width=80).splitlines()
    assert lines[0] == "random on hackmatrix: 12 games, held-out seeds, best action"
    assert [line.split()[0] for line in lines[1:4]] == ["wins", "stage", "return"]
    assert "0.0%" in lines[1]
    assert "0.00% … 24.25%" in lines[1], "with its interval"
    assert "half of the games" in lines[2]
    assert "below 50.00%" in lines[4], "against what was claimed"
    assert max(map(len, lines)) <= 80


def test_a_claimed_win_rate_is_judged(countdown, always) -> None:
    result = evaluate(always(1, "passer"), "countdown", games=50, against=0.0235)
    assert result.to_dict()["claim"]["verdict"] == "open"
    assert (
        "does not differ significantly from 2.35% yet; if it stays as it is, 160 games would decide (110 more)"
        in shown(result)
    )
    assert (
        evaluate(always(1, "passer"), "countdown", games=160, against=0.0235).to_dict()["claim"]["verdict"] == "below"
    )
    with pytest.raises(UsageError, match="between 0 and 1"):
        evaluate(always(1, "passer"), "countdown", games=5, against=2.35)


def test_win_rates_are_compared_beside_every_metric(countdown, always) -> None:
    players = [always(0, "taker"), always(1, "passer"), always(0, "twin")]
    result = compare(players, "countdown", games=60, metric="taken")
    wins = {(pair.one, pair.other): pair for pair in result.win_differences}
    assert wins["taker", "passer"].sentence.startswith("taker is better than passer: win rate +100.00 points (+")
    assert wins["taker", "twin"].interval.low < 0 < wins["taker", "twin"].interval.high, "60 games are not certainty"
    assert "do not differ significantly after 60 games: no difference was seen" in wins["taker", "twin"].sentence
    assert "win rate" in shown(result)
    alone = compare(players[:2], "countdown", games=60, metric="won")
    assert (alone.metric, alone.win_differences) == ("win_rate", ())
    assert alone.differences[0].to_dict()["better"] == 60
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["win_rate_differences"][0]["significant"]


def test_held_out_seeds_are_the_default_and_stay_the_same(countdown, always) -> None:
    seeds = evaluate(always(0, "taker"), "countdown", games=20).games.seeds
    assert {bank_of(int(seed)) for seed in seeds} == {"held-out"}
    assert np.array_equal(seeds, evaluate(always(0, "taker"), "countdown", games=20).games.seeds)
    other = evaluate(always(0, "taker"), "countdown", games=20, bank="validation").games.seeds
    assert not set(seeds) & set(other)


def test_a_seeds_file_is_played_in_its_order(countdown, always, tmp_path: Path) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text("# mine\n18446744073709551615\n\n  7  # lucky\n0\n")
    result = evaluate(always(0, "taker"), "countdown", seeds_file=file)
    assert result.games.seeds.tolist() == [2**64 - 1, 7, 0]
    assert result.bank == str(file)
    assert evaluate(always(0, "taker"), "countdown", games=2, seeds_file=file).games.seeds.tolist() == [2**64 - 1, 7]
    with pytest.raises(UsageError, match="has 3 seeds"):
        choose_seeds(games=4, seeds_file=file)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1\n2\nthree\n", "line 3: 'three' is not a seed"),
        ("1\n-5\n", "line 2: '-5' is not a seed"),
        ("18446744073709551616\n", "line 1"),
        ("9" * 5000, "line 1"),
        ("٣\n", "line 1"),
        ("4\n5\n4\n", "line 3: seed 4 was already given in line 1"),
        ("# nothing\n\n", "holds no seeds"),
    ],
)
def test_a_wrong_seeds_file_names_the_line(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=words) as caught:
        read_seeds_file(file)
    assert len(str(caught.value)) < 400


def test_a_missing_or_binary_seeds_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name in ("missing", "binary"):
        with pytest.raises(UsageError, match="cannot be read"):
            read_seeds_file(tmp_path / name)


def test_a_checkpoint_brings_its_game_and_options(tmp_path: Path) -> None:
    model = load_checkpoint(FIXTURE / "000000004096").policy_onnx()
    manifest = Manifest.for_game(
        game_entry("probe").spec, learner="jax", algorithm="PPO", step=1, game_options={"horizon": 3}
    )
    CheckpointStore(tmp_path / "mine" / "checkpoints").save(manifest, model, {}, {})
    result = evaluate("mine", games=5, runs_root=tmp_path)
    assert (result.games.game, result.options, result.policy) == ("probe", {"horizon": 3}, "mine/1")
    assert (result.games.lengths == 3).all()
    assert (evaluate("mine", games=5, runs_root=tmp_path, options={}).games.lengths == 8).all()


def test_evaluating_twice_gives_the_same_figures() -> None:
    one, two = (evaluate(FIXTURE, games=40, deterministic=False) for _ in range(2))
    assert np.array_equal(one.games.returns, two.games.returns)
    assert one.illegal_actions == 0


def test_a_policy_without_a_game_asks_for_one() -> None:
    with pytest.raises(UsageError, match="does not say which game"):
        evaluate("random")
    with pytest.raises(CheckpointError, match="no checkpoint or run"):
        evaluate("nothing-of-that-name", runs_root="no-such-folder")


def test_comparison_finds_the_better_one_on_equal_seeds(countdown, always) -> None:
    result = compare([always(0, "taker"), always(1, "passer"), always(0, "taker")], "countdown", games=50)
    names = [one.policy for one in result.evaluations]
    assert names == ["taker #1", "passer", "taker #2"]
    first, same, last = result.differences
    assert first.significant
    assert first.verdict == "taker #1 is better than passer"
    assert last.verdict == "taker #2 is better than passer"
    assert (same.equal, same.significant, same.verdict) == (50, False, "no difference seen")
    assert result.pair_confidence == pytest.approx(1 - 0.05 / 3)
    json.dumps(result.to_dict(), allow_nan=False)
    assert "taker #1 − passer" in shown(result)


def test_comparison_does_not_claim_what_it_cannot_know(countdown, always) -> None:
    players = [always(0, "one", pass_chance=0.5), always(0, "two", pass_chance=0.52)]
    (pair,) = compare(players, "countdown", games=30, deterministic=False).differences
    assert not pair.significant
    assert pair.games_needed is None or pair.games_needed > 30
    assert pair.better + pair.equal + pair.worse == 30


def test_equal_policies_are_rarely_told_apart(countdown, always) -> None:
    """Three equal gamblers, 100 comparisons: all claims together may be wrong about 5 times."""
    players = [always(0, name, pass_chance=0.5) for name in "abc"]
    seeds = np.arange(40, dtype=np.uint64)
    wrong = 0
    for trial in range(100):
        played = [
            play_games(player, "countdown", seeds, deterministic=False, rng_seed=1000 * trial + i)
            for i, player in enumerate(players)
        ]
        judged = [Evaluation(games, "mine", False, {}) for games in played]
        wrong += any(pair.significant for pair in compare_evaluations(judged).differences)
    assert wrong <= 11


def test_scripted_and_random_players_compare_with_a_checkpoint() -> None:
    result = compare(["random", FIXTURE], games=20, metric="matches")
    assert [one.policy for one in result.evaluations] == ["random", "format-1/4096"]
    assert {one.games.game for one in result.evaluations} == {"probe"}


def test_wrong_comparisons_are_one_sentence(countdown, always) -> None:
    taker = always(0, "taker")
    with pytest.raises(UsageError, match="at least two"):
        compare([taker], "countdown")
    with pytest.raises(UnknownNameError, match="Did you mean 'taken'"):
        compare([taker, taker], "countdown", metric="takn")
    with pytest.raises(UsageError, match="None of the policies says"):
        compare([taker, "random"])
    with pytest.raises(CheckpointError, match="no checkpoint or run 'mispelled'"):
        compare(["mispelled", "random"], runs_root="no-such-folder")
    with pytest.raises(UsageError, match="same seeds"):
        compare_evaluations([evaluate(taker, "countdown", games=n) for n in (2, 3)])


def test_scripted_players_are_evaluated_by_name(countdown) -> None:
    assert evaluate("taker", "countdown", games=5).policy == "taker"


def test_importing_evaluation_and_runs_is_light() -> None:
    code = "import sys, jimbot.evaluation, jimbot.runs.directory, jimbot.runs.recorder, jimbot.runs.sinks\n"
    code += "heavy = ('jax', 'torch', 'wandb', 'tensorboardX', 'onnx', 'onnxruntime', 'rich', 'scipy')\n"
    code += "print([name for name in heavy if name in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stdout == "[]\n", ended.stderr
