"""`jimbot adviser` and `jimbot evaluate --adviser`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jimbot.adviser.ledger import Ledger, Limits, Reservation
from jimbot.adviser.prices import Cost
from jimbot.adviser.settings import AdviserSettings
from tests.adviser.messages_api import chosen, last_listed, playing_the_api


@pytest.fixture(autouse=True)
def books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "adviser.sqlite"
    monkeypatch.setenv("JIMBOT_ADVISER_LEDGER", str(path))
    return path


def test_the_books_are_shown(jimbot, books: Path) -> None:
    code, _, said = jimbot("adviser", "budget")
    assert (code, "No books yet" in said) == (0, True)
    ledger = Ledger(books)
    reserved = ledger.reserve("evening", "m", Cost(5000, 30_000_000), Limits.of(AdviserSettings()))
    assert isinstance(reserved, Reservation)
    ledger.settle(reserved, Cost(900, 10_000_000), "answered")
    ledger.reserve("evening", "m", Cost(5000, 30_000_000), Limits.of(AdviserSettings()))
    code, shown, _ = jimbot("adviser", "budget")
    assert code == 0
    assert "1 open, 1 answered. The books balance." in " ".join(shown.split())
    code, shown, _ = jimbot("adviser", "budget", "--json", "--adviser-set", "dollars_per_hour=2")
    said = json.loads(shown)
    assert said["hour"] == said["runs"]["evening"] == {"calls": 2, "tokens": 5900, "dollars": 0.04}
    assert said["limits_per_hour"]["dollars"] == 2
    assert said["reserved"]["calls"] == 1
    assert said["balanced"] is True


def test_damaged_books_are_one_sentence(jimbot, books: Path) -> None:
    books.write_bytes(b"rubbish" * 1000)
    code, _, said = jimbot("adviser", "budget")
    assert code == 1
    assert "cannot be used" in said
    assert "Traceback" not in said


def test_settings_and_prices_are_listed(jimbot) -> None:
    _, shown, _ = jimbot("adviser", "settings", "--json")
    said = json.loads(shown)
    assert said["settings"]["confidence_threshold"] == 0.7
    assert said["dollars_per_million_tokens"][said["settings"]["model"]] == [0.1, 0.5]


def test_evaluate_with_an_adviser_compares_with_and_without(jimbot) -> None:
    """No key: the planner stands in, and the whole path is measured."""
    code, shown, said = jimbot(
        "evaluate",
        "random",
        "--game",
        "probe",
        "--adviser",
        "--adviser-set",
        "rollouts=16",
        "--games",
        "32",
        "--num-envs",
        "8",
        "--json",
    )
    assert code == 0, said
    judged = json.loads(shown)
    adviser = judged["adviser"]
    assert "planner" in said
    assert (adviser["source"], adviser["dollars"]) == ("planner", 0)
    assert 0 < adviser["asked"] <= 0.05 * adviser["decisions"]
    assert adviser["followed"] == adviser["outcomes"]["answered"]
    difference = adviser["differences"][0]
    assert difference["difference"]["mean"] == pytest.approx(
        judged["mean_return"]["mean"] - adviser["alone"]["mean_return"]["mean"]
    )
    assert judged["illegal_actions"] == 0


def test_evaluate_asks_claude_where_there_is_a_key(jimbot, books: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    with playing_the_api(last_listed) as api:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.address)
        code, shown, said = jimbot(
            "evaluate",
            "random",
            "--game",
            "probe",
            "--adviser",
            "--adviser-set",
            "calls_per_run=3",
            "--games",
            "32",
            "--num-envs",
            "8",
        )
    assert code == 0, said
    assert "The adviser is claude-haiku-5-5, within $0.25 an hour" in " ".join(said.split())
    assert len(api.requests) == 3
    assert "moves as advised" in shown
    assert "do not differ significantly" in shown
    assert Ledger(books).books().all.calls == 3


def test_watch_shows_a_second_opinion_and_plays_its_own_moves(jimbot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    with playing_the_api(lambda table: chosen(table["legal_moves"][-1]["action"], reason="Gold [bold]pays[/].")) as api:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.address)
        watching = ("watch", "random", "--game", "probe", "--seed", "3", "--games", "3")
        _, plain, _ = jimbot(*watching)
        code, shown, said = jimbot(*watching, "--advise")
    assert code == 0
    assert "claude-haiku-5-5 says: door" in shown
    assert "Gold [bold]pays[/]." in shown  # text, not markup
    assert "0 moves as advised" in said
    ends = [line for line in plain.splitlines() if line.startswith("Game ")]
    assert ends == [line for line in shown.splitlines() if line.startswith("Game ")]


def test_a_server_without_manners_changes_nothing(jimbot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every answer is illegal: the games are those of the policy alone."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    with playing_the_api(chosen("rm -rf /")) as api:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.address)
        code, shown, _ = jimbot(
            "evaluate", "random", "--game", "probe", "--adviser", "--games", "32", "--num-envs", "8", "--json"
        )
    assert code == 0
    judged = json.loads(shown)
    assert judged["adviser"]["outcomes"] == {"unknown_move": judged["adviser"]["asked"]}
    assert judged["mean_return"] == judged["adviser"]["alone"]["mean_return"]
