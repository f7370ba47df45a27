"""Files that other programs read (GitHub, pre-commit, citation tools) are well formed and say what the project says."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
GITHUB = REPOSITORY / ".github"
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
CHANGELOG = (REPOSITORY / "CHANGELOG.md").read_text()
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
TITLE = re.compile(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", re.MULTILINE)


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def test_the_workflow_runs_what_everybody_runs() -> None:
    workflow = read(GITHUB / "workflows" / "checks.yml")
    assert {"push", "pull_request"} <= workflow[True].keys()  # YAML 1.1 reads the key `on` as true
    commands = {step.get("run") for job in workflow["jobs"].values() for step in job["steps"]}
    assert {".ci/run", "make test-long"} <= commands
    assert os.access(REPOSITORY / ".ci" / "run", os.X_OK)


@pytest.mark.parametrize("path", sorted(GITHUB.glob("ISSUE_TEMPLATE/*.yml")), ids=lambda path: path.stem)
def test_issue_forms_have_what_github_asks_for(path: Path) -> None:
    form = read(path)
    if path.stem == "config":
        assert form["blank_issues_enabled"] in (True, False)
        return
    assert {"name", "description", "body"} <= form.keys()
    for field in form["body"]:
        assert field["type"] in {"dropdown", "textarea", "input", "checkboxes", "markdown"}
        assert field["attributes"]["label"]
    assert len({field["id"] for field in form["body"]}) == len(form["body"])


def test_every_hook_calls_a_tool_that_make_lint_or_the_repository_has() -> None:
    config = read(REPOSITORY / ".pre-commit-config.yaml")
    hooks = [hook for repository in config["repos"] for hook in repository["hooks"]]
    assert all(repository["repo"] == "local" for repository in config["repos"]), "no network at commit time"
    for hook in hooks:
        words = hook["entry"].split()
        if words[0] == ".venv/bin/python" and words[1] == "-m":
            assert importlib.util.find_spec(words[2]), hook["entry"]
        files = [word for word in words if word.endswith(".py")]
        assert all((REPOSITORY / name).is_file() for name in files), hook["entry"]
    makefile = (REPOSITORY / "Makefile").read_text()
    entries = " ".join(hook["entry"] for hook in hooks)
    for tool in (
        "ruff check",
        "ruff format",
        "ty check jimbot benchmarks tools tests examples",
        "oxlint --deny-warnings",
    ):
        assert tool in makefile
        assert tool in entries


def test_the_citation_names_this_version() -> None:
    citation = read(REPOSITORY / "CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert f"## [{citation['version']}] - {citation['date-released']}" in CHANGELOG


def test_releases_are_dated_newest_first_under_the_usual_headings() -> None:
    titles = TITLE.findall(CHANGELOG)
    assert titles[0] == ("Unreleased", "")
    assert len(titles) == CHANGELOG.count("\n## ")
    days = [date.fromisoformat(day) for _, day in titles[1:]]
    assert days
    assert days == sorted(days, reverse=True)
    assert set(re.findall(r"^### (.+)$", CHANGELOG, re.MULTILINE)) <= KINDS


def judged(tmp_path: Path, message: str) -> tuple[int, str]:
    """(exit code, sentences) of the hook that git calls."""
    path = tmp_path / "COMMIT_EDITMSG"
    path.write_text(message)
    command = [sys.executable, REPOSITORY / ".ci" / "commit_message.py", path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


GOOD = "Resume keeps the league's scores\n\nA resumed run met its members as if they were new.\n"


@pytest.mark.parametrize("message", [GOOD, f"# a comment of git\n{GOOD}# Please enter\n", "Merge branch 'x'\n"])
def test_a_subject_with_a_reason_is_a_good_message(tmp_path: Path, message: str) -> None:
    assert judged(tmp_path, message) == (0, "")


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("x" * 73 + "\n\nBecause.\n", "73 characters"),
        ("Fix it.\n\nBecause.\n", "full stop"),
        ("Fix it\nBecause.\n", "second line"),
        ("Fix it\n", "why"),
        ("Fix it\n\n# only a comment\n", "why"),
        ("# nothing\n", "empty"),
    ],
)
def test_other_messages_are_refused_with_what_to_put_right(tmp_path: Path, message: str, sentence: str) -> None:
    code, said = judged(tmp_path, message)
    assert code == 1
    assert sentence in said
