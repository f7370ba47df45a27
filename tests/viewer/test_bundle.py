"""The page that is shipped is the one that the sources build."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
WEB, STATIC = REPOSITORY / "web", REPOSITORY / "jimbot" / "viewer" / "static"
INPUTS = ("build.mjs", "index.html", "package-lock.json", "package.json", "tsconfig.json")
FILES = ("app.css", "app.js", "index.html", "review.js")


def digest(names: list[str], folder: Path) -> str:
    found = hashlib.sha256()
    for name in names:
        found.update(f"{name}\0".encode() + (folder / name).read_bytes() + b"\0")
    return found.hexdigest()


def sources() -> list[str]:
    inside = [path.relative_to(WEB).as_posix() for path in (WEB / "src").rglob("*") if path.is_file()]
    return sorted([*INPUTS, *inside])


def test_the_bundle_was_built_from_these_sources() -> None:
    built = json.loads((STATIC / "built.json").read_text())
    assert built["sources"] == digest(sources(), WEB), "web/ was changed; type: make web"
    assert built["files"] == digest(list(FILES), STATIC), "the bundle was changed by hand; type: make web"


def test_the_page_loads_nothing_from_elsewhere() -> None:
    page = (STATIC / "index.html").read_text()
    loaded = {found for found in re.findall(r'(?:src|href)="([^"]*)"', page) if not found.startswith("data:")}
    assert loaded == {"/assets/app.css", "/assets/app.js"}
    addresses = re.findall(r"https?://[^\"'`\s)]+", (STATIC / "app.js").read_text() + (STATIC / "app.css").read_text())
    assert {address.split("/")[2] for address in addresses} <= {"www.w3.org"}  # names of SVG and MathML, never loaded


def test_the_lockfile_names_no_registry() -> None:
    lock = json.loads((WEB / "package-lock.json").read_text())
    assert not [name for name, package in lock["packages"].items() if "resolved" in package]
    assert all(package.get("integrity") for name, package in lock["packages"].items() if name)


@pytest.mark.long
def test_building_again_gives_the_same_bundle(tmp_path: Path) -> None:
    npm = shutil.which("npm")
    assert npm, "Node 20 or newer builds the page; install it to run this test."
    copy, target = tmp_path / "web", tmp_path / "static"
    shutil.copytree(WEB, copy, ignore=shutil.ignore_patterns("node_modules"))
    environment = {**os.environ, "JIMBOT_WEB_TARGET": str(target)}
    for words in (["ci", "--no-audit", "--no-fund"], ["run", "build"]):
        done = subprocess.run([npm, *words], cwd=copy, env=environment, capture_output=True, text=True, timeout=400)
        assert done.returncode == 0, done.stdout + done.stderr
    for name in (*FILES, "built.json"):
        assert (target / name).read_bytes() == (STATIC / name).read_bytes(), name


def test_the_server_knows_every_page_of_the_frame() -> None:
    """Addresses of pages are answered by Python and drawn by TypeScript, from one list."""
    from jimbot.viewer.http.server import PAGES

    assert list(PAGES) == list(json.loads((WEB / "src" / "pages.json").read_text()))
    shown = (WEB / "src" / "main.tsx").read_text().split("const SHOWN", 1)[1].split(";", 1)[0]
    assert set(re.findall(r"(\w+|\"\"): \w+[,} ]", shown.split("=", 1)[1])) == {word or '""' for word in PAGES}
