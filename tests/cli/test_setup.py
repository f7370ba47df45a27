"""`jimbot setup vgc`: installed once, checked every time, one sentence when something is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jimbot.games.vgc import simulator


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JIMBOT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_an_installed_simulator_is_found_and_checked(jimbot) -> None:
    code, out, _ = jimbot("setup", "vgc", "--json")
    assert code == 0
    report = json.loads(out)
    assert report["version"] == simulator.VERSION
    assert Path(report["folder"]) == simulator.package_folder()


def test_without_node_one_sentence_says_what_to_install(
    jimbot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, _, err = jimbot("setup", "vgc")
    assert code == 2
    assert "Node.js" in err
    assert "install version" in err


def test_without_a_network_nothing_is_left_behind(jimbot, monkeypatch: pytest.MonkeyPatch, empty_cache: Path) -> None:
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9")
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    monkeypatch.setenv("npm_config_cache", str(empty_cache / "npm"))
    code, _, err = jimbot("setup", "vgc")
    assert code == 1
    assert "npm could not install" in err
    assert not simulator.is_installed()
    assert list((empty_cache / "vgc").iterdir()) == []


def test_a_missing_simulator_names_the_command(empty_cache: Path) -> None:
    with pytest.raises(Exception, match="jimbot setup vgc"):
        simulator.package_folder()
