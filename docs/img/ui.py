"""Makes the pictures of `jimbot ui` for the docs: python docs/img/ui.py (needs Chromium and the extras web and dev)."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from PIL import Image
from playwright.sync_api import sync_playwright

from tests.viewer.conftest import ARGUMENTS, chromium, serving
from tests.viewer.making import make_run

HERE = Path(__file__).resolve().parent
RUNS = (
    ("bal-ppo-from-clone", {"rows": 160, "judged": True, "age": 7_200}),
    ("bal-clone", {"rows": 20, "judged": True, "age": 90_000}),
    ("bal-no-helpers", {"rows": 120, "age": 300_000, "lr": 0.0005}),
    ("hack-baseline", {"rows": 300, "steps": 65_536, "game": "hackmatrix", "age": 4_000, "judged": True}),
    ("vgc-league-3", {"rows": 80, "steps": 32_768, "game": "vgc", "age": 100}),
)
PICTURES = {
    "ui-first.png": ("", "/", ".fan .card"),
    "ui-run.png": ("runs", "/run/0/bal-ppo-from-clone?with=0/bal-no-helpers", "path.line"),
    "ui-watch.png": ("runs", "/watch?game=balatro&policy=balatro&seed=7LB2WVPK#move=57", '.where a:text-is("57")'),
}
"""File → (folder of the runs, or none yet; address; what must be there)"""
PATIENCE = 600_000  # milliseconds: the first game on a machine compiles the rules


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        for name, how in RUNS:
            make_run(Path(folder) / "runs", name, **how)
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        for file, (runs, path, there) in PICTURES.items():
            with serving(Path(folder) / (runs or "none-yet")) as served:
                tab = browser.new_page(viewport={"width": 1280, "height": 760}, color_scheme="light")
                tab.goto(served.address + path)
                tab.locator(there).first.wait_for(timeout=PATIENCE)
                tab.wait_for_timeout(2_000)
                tab.screenshot(path=HERE / file)
                Image.open(HERE / file).convert("RGB").quantize(64).save(HERE / file, optimize=True)
                print(HERE / file)
        browser.close()


if __name__ == "__main__":
    main()
