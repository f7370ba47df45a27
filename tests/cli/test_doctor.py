"""`jimbot doctor`: a row per part, advice where something is wrong, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jimbot.cli.operate import doctor
from jimbot.errors import install_command


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "SMOKE_SECONDS", 0.01)


def test_a_healthy_machine_passes(jimbot) -> None:
    code, out, _ = jimbot("doctor")
    assert code == 0, out
    for part in (
        "python",
        "packages",
        "processor",
        "memory",
        "jax devices",
        "runs directory",
        "compile cache",
        "games",
    ):
        assert part in out
    assert "0 illegal actions" in out
    assert "✗" not in out


def test_a_game_that_is_not_set_up_is_named_with_the_command(
    jimbot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JIMBOT_CACHE_DIR", str(tmp_path / "empty"))
    code, out, _ = jimbot("doctor")
    assert code == 0
    assert "jimbot setup vgc" in out
    assert "Everything works here except game vgc" in out


def test_json_holds_the_same_findings(jimbot) -> None:
    code, out, _ = jimbot("doctor", "--json")
    report = json.loads(out)
    assert code == 0
    assert report["works"] is True
    assert {finding["state"] for finding in report["findings"]} <= {"ok", "note"}
    assert {"name", "state", "found", "advice"} == report["findings"][0].keys()


def test_a_runs_directory_that_cannot_be_written_is_broken(jimbot, home: Path) -> None:
    (home / "file").write_text("")
    code, out, _ = jimbot("doctor", "--runs-dir", "file/runs")
    assert code == 1
    assert "✗  runs directory" in out
    assert "Choose another --runs-dir" in out


def test_a_missing_package_is_broken_and_another_version_only_noted(jimbot, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = doctor._installed
    answers = {"numba": None, "rich": "1.0"}
    monkeypatch.setattr(doctor, "_installed", lambda package: answers.get(package, installed(package)))
    code, out, _ = jimbot("doctor")
    assert code == 1
    assert "✗  numba" in out
    assert "pip install 'numba<" in out
    assert "!  rich" in out


def test_an_absent_extra_is_no_fault(jimbot, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = doctor._installed
    monkeypatch.setattr(doctor, "_installed", lambda package: None if package == "wandb" else installed(package))
    code, out, _ = jimbot("doctor")
    assert code == 0
    assert "!  extra wandb" in out
    assert "".join(install_command("wandb").split()) in "".join(out.split()), "a long path is folded, never cut"


def test_a_part_that_fails_oddly_is_a_row_not_a_crash(jimbot, monkeypatch: pytest.MonkeyPatch) -> None:
    def explode() -> doctor.Finding:
        raise RuntimeError("driver on fire")

    monkeypatch.setattr(doctor, "_devices", explode)
    code, out, _ = jimbot("doctor")
    assert code == 1
    assert "RuntimeError: driver on fire" in out


def test_requirements_are_read_from_the_package_itself() -> None:
    found = {(wanted.name, extra) for wanted, extra in doctor.requirements()}
    assert {("numpy", None), ("wandb", "wandb"), ("torch", "sb3"), ("torch", "ray")} <= found
    assert "jimbot" not in {name for name, _ in found}
