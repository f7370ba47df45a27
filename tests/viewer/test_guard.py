"""Who may ask the page, and what it says to those who may not."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from jimbot.cli import main
from jimbot.doors.access import Tokens
from tests.viewer.conftest import Served, serving
from tests.viewer.making import make_run

TOKEN, LOOKING = "a-token-of-many-letters", "another-token-for-looking"


@pytest.fixture(scope="module")
def open_page(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    root = tmp_path_factory.mktemp("runs")
    make_run(root, "one", rows=3)
    with serving(root) as served:
        yield served


@pytest.fixture(scope="module")
def locked_page(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    root = tmp_path_factory.mktemp("locked")
    make_run(root / "runs", "one", rows=3)
    (root / "tokens").write_text(f"{TOKEN}\n{LOOKING} look\n")
    with serving(root / "runs", tokens=Tokens(root / "tokens")) as served:
        yield served


def ask(served: Served, path: str, body: Any = None, **headers: str) -> tuple[int, Any, Any]:
    """(status, headers, body)"""
    data = None if body is None else json.dumps(body).encode()
    given = {"content-type": "application/json"} if data is not None else {}
    request = urllib.request.Request(served.address + path, data, {**given, **headers})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            text = answer.read()
            return answer.status, answer.headers, json.loads(text) if text.startswith(b"{") else text
    except urllib.error.HTTPError as problem:
        text = problem.read()
        return problem.code, problem.headers, json.loads(text) if text.startswith(b"{") else text


def test_the_browser_is_told_to_run_nothing_but_the_page(open_page: Served) -> None:
    for path in ("/", "/run/0/one", "/api/runs", "/assets/app.js", "/nowhere"):
        policy = ask(open_page, path)[1]["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
        assert "unsafe" not in policy


def test_a_name_that_points_here_from_elsewhere_is_turned_away(open_page: Served) -> None:
    status, _, body = ask(open_page, "/api/runs", host="evil.example:8600")
    assert (status, "this machine only" in body["error"]) == (403, True)


def test_other_pages_cannot_change_anything(open_page: Served) -> None:
    address = "/api/runs/0/one/words"
    assert ask(open_page, address, {"add": ["x"]}, origin="http://evil.example")[0] == 403
    assert ask(open_page, address, {"add": ["x"]}, **{"content-type": "text/plain"})[0] == 415
    assert ask(open_page, address, {"add": ["x"]}, origin=open_page.address)[2] == {"tags": ["x"]}


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/api/runs/0/none", None, 404, "no run 'none'"),
        ("/api/runs/7/one", None, 404, "no folder number 7"),
        ("/api/runs/0/..%2f..%2fetc", None, 404, "nothing at this address"),
        ("/api/runs/0/.hidden", None, 400, "cannot be used"),
        ("/api/runs?limit=99999999", None, 400, "limit"),
        ("/api/runs/0/one/curves?names=a&points=-1", None, 400, "points is -1"),
        ("/api/runs/0/one/delete", {"name": "other"}, 400, "once more"),
        ("/api/runs/0/one/rename", {"name": "a/b"}, 400, "cannot be used"),
        ("/api/runs/0/one/rename", {}, 400, "cannot be understood"),
        ("/api/runs/0/one/words", {"add": ["<script>"]}, 400, "cannot be used"),
        ("/api/tables", {"game": "probe", "policy": "random", "plan": -1}, 400, "plan"),
        ("/api/runs/0/one/report", None, 404, "jimbot analyze one"),
    ],
)
def test_wrong_questions_get_a_sentence(open_page: Served, path: str, body: Any, status: int, words: str) -> None:
    found, _, answer = ask(open_page, path, body)
    assert (found, words in json.dumps(answer)) == (status, True), answer


def test_a_report_is_shown_and_nothing_in_it_runs(open_page: Served) -> None:
    root = open_page.page.index.roots[0]
    (root / "one" / "report.html").write_text("<script>alert(1)</script><h1>hello</h1>")
    status, headers, body = ask(open_page, "/api/runs/0/one/report")
    assert (status, b"hello" in body) == (200, True)
    assert headers["content-security-policy"].startswith("sandbox; default-src 'none'")


def test_without_a_token_only_the_empty_page_is_told(locked_page: Served) -> None:
    assert ask(locked_page, "/")[0] == 200
    assert ask(locked_page, "/api/hello")[2]["token_needed"]
    for path in ("/api/runs", "/api/runs/0/one", "/api/events"):
        status, _, body = ask(locked_page, path)
        assert (status, "token" in body["error"]) == (401, True)
    assert ask(locked_page, "/api/login", {"token": "wrong"})[0] == 401


def test_a_token_opens_the_page_and_its_limit_holds(locked_page: Served) -> None:
    status, headers, _ = ask(locked_page, "/api/login", {"token": LOOKING})
    cookie = headers["set-cookie"].split(";")[0]
    assert (status, "HttpOnly" in headers["set-cookie"], LOOKING in cookie) == (200, True, False)
    assert ask(locked_page, "/api/runs", cookie=cookie)[2]["total"] >= 0
    assert ask(locked_page, "/api/runs/0/one/words", {"add": ["x"]}, cookie=cookie)[0] == 403
    bearer = f"Bearer {TOKEN}"
    assert ask(locked_page, "/api/runs/0/one/words", {"add": ["y"]}, authorization=bearer)[2] == {"tags": ["y"]}


def test_the_command_refuses_what_cannot_be_served(
    open_page: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "short").write_text("abc\n")
    for words, sentence in (
        (["--port", str(open_page.port)], "Choose another port"),
        (["--port", "99999"], "expected 0 (any free one) to 65535"),
        (["--host", "0.0.0.0"], "add --token-file"),
        (["--host", "0.0.0.0", "--token-file", str(tmp_path / "short")], "shorter than 16"),
        (["--token-file", str(tmp_path / "missing")], "cannot be read"),
    ):
        assert main.run(["ui", *words]) == 2
        assert sentence in " ".join(capsys.readouterr().err.split())
