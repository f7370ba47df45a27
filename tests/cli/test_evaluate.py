"""`jimbot evaluate` and `jimbot compare`: known results, and metrics as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

from jimbot.games.seeds import bank_seeds
from tests.cli.making import save_perfect


def test_a_perfect_policy_is_judged_perfect(jimbot) -> None:
    code, out, err = jimbot("evaluate", "perfect", "--games", 40)
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith("perfect/1000 on probe: 40 games, held-out seeds")
    assert "return  8.00" in out
    assert "matches" not in out, "the rest is asked for"


def test_full_shows_the_rest_below_the_headline(jimbot) -> None:
    headline = jimbot("evaluate", "perfect", "--games", 40)[1]
    code, out, err = jimbot("evaluate", "perfect", "--games", 40, "--full")
    assert (code, err) == (0, "")
    assert out.startswith(headline)
    assert "illegal actions" in out
    assert "matches" in out
    assert "games per hour" in out


def test_json_carries_the_figures_and_nothing_else(jimbot) -> None:
    code, out, err = jimbot("evaluate", "perfect", "--games", 40, "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert report["games"] == 40
    assert report["mean_return"]["mean"] == 8
    assert report["mean_return"]["low"] == report["mean_return"]["high"] == 8
    assert report["distributions"]["matches"] == {"8": 40}
    assert report["illegal_actions"] == 0
    assert report["win_rate"] is None, "nobody wins the probe game"


def test_random_play_has_an_interval_around_a_quarter(jimbot) -> None:
    report = json.loads(jimbot("evaluate", "random", "--game", "probe", "--games", 256, "--json")[1])
    interval = report["mean_return"]
    assert interval["low"] < 2.0 < interval["high"]
    assert interval["low"] < interval["mean"] < interval["high"]


def test_a_seeds_file_is_played_as_it_stands(jimbot, home: Path) -> None:
    seeds = bank_seeds("validation", 5).tolist()
    (home / "seeds.txt").write_text("# mine\n" + "\n".join(map(str, seeds)) + "\n")
    report = json.loads(jimbot("evaluate", "perfect", "--seeds-file", "seeds.txt", "--json")[1])
    assert report["games"] == 5
    assert report["seeds"] == "seeds.txt"


def test_options_change_the_game_that_is_judged(jimbot) -> None:
    out = jimbot("evaluate", "perfect", "--games", 10, "--option", "horizon=3", "--json")[1]
    assert json.loads(out)["mean_return"]["mean"] == 3


def test_a_policy_is_judged_with_the_options_it_was_trained_with(jimbot, home: Path) -> None:
    save_perfect(home / "runs" / "short", game_options={"horizon": 2})
    assert json.loads(jimbot("evaluate", "short", "--games", 10, "--json")[1])["mean_return"]["mean"] == 2


def test_few_games_at_a_time_give_the_same_figures(jimbot) -> None:
    def metrics(*arguments: object) -> dict:
        report = json.loads(jimbot("evaluate", "perfect", "--games", 30, "--json", *arguments)[1])
        return {name: report[name] for name in ("mean_return", "mean_length", "distributions", "reward_terms")}

    assert metrics("--num-envs", 7) == metrics()


def test_compare_tells_the_better_one(jimbot) -> None:
    code, out, err = jimbot("compare", "perfect", "random", "--games", 40)
    assert (code, err) == (0, "")
    assert "perfect/1000 is better than random" in out


def test_compare_as_json_pairs_everybody(jimbot, home: Path) -> None:
    save_perfect(home / "runs" / "twin")
    report = json.loads(jimbot("compare", "perfect", "random", "twin", "--games", 40, "--json")[1])
    verdicts = {(pair["one"], pair["other"]): pair["significant"] for pair in report["differences"]}
    assert verdicts == {
        ("perfect/1000", "random"): True,
        ("perfect/1000", "twin/1000"): False,
        ("random", "twin/1000"): True,
    }
    assert report["policies"][0]["mean_return"]["mean"] == 8


def test_the_real_command_pipes_clean_json(run_jimbot, home: Path) -> None:
    done = run_jimbot("evaluate", "perfect", "--games", 8, "--json", cwd=home)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["games"] == 8
    assert done.stderr == ""


def test_analyze_says_where_the_report_is(jimbot, home: Path) -> None:
    code, out, err = jimbot("analyze", "perfect", "--games", 8, "--examples", 1)
    assert (code, err) == (0, "")
    assert out == "The report is runs/perfect/report.html; open it in a browser.\n"
    assert (home / "runs" / "perfect" / "report.html").read_text().startswith("<!doctype html>")
    report = json.loads(jimbot("analyze", "random", "--game", "probe", "--games", 8, "--json")[1])
    assert (report["report"], report["games"]) == ("report-random.html", 8)


def test_a_game_of_two_players_is_judged_against_opponents(jimbot, home: Path) -> None:
    code, out, err = jimbot("evaluate", "vgc", "max_power", "--opponent", "random", "--games", 4, "--json")
    assert (code, err) == (0, "")
    assert [duel["opponent"] for duel in json.loads(out)["opponents"]] == ["random"]
    code, out, err = jimbot(
        "compare", "max_power", "random", "--game", "vgc", "--no-scripted", "--games", 2, "--picture", "table.png"
    )
    assert code == 0
    assert "table.png" in err
    assert (home / "table.png").stat().st_size > 0
    assert "Ratings" in out


def test_in_a_pipe_a_line_now_and_then_says_how_far_it_is(jimbot, monkeypatch) -> None:
    monkeypatch.setattr("jimbot.cli.shared.terminal.PLAIN_BEAT", 0.0)
    code, _, err = jimbot("evaluate", "random", "--game", "probe", "--games", 200)
    assert code == 0
    assert re.search(r"^\S.*: \d+ of 200, [\d,.e+]+ a second, \d+:\d\d left$", err, re.MULTILINE), err
    assert jimbot("evaluate", "random", "--game", "probe", "--games", 200, "--json")[2] == ""
