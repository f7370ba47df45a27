"""Makes the pictures of `jimbot ui` for the docs, of a run that was really trained (needs Chromium and the extra dev):

jimbot train hackmatrix --minutes 12
python docs/img/ui.py runs
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from PIL import Image
from playwright.sync_api import sync_playwright

from tests.viewer.conftest import ARGUMENTS, chromium, serving

HERE = Path(__file__).resolve().parent
RUN = "hackmatrix-jax-ppo"
PICTURES = {
    "ui-first.png": ("", "/", ".fan .card"),
    "ui-run.png": ("runs", f"/run/0/{RUN}", ".chart svg"),
    "ui-watch.png": ("runs", "/watch?game=balatro&policy=balatro&seed=7LB2WVPK#move=57", '.where a:text-is("57")'),
}
"""File → (folder of the runs, or none yet; address; what must be there)"""
PATIENCE = 300_000  # milliseconds: the first game on a machine compiles the rules


def main(runs_dir: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        for file, (runs, path, there) in PICTURES.items():
            with serving(runs_dir if runs else Path(folder) / "none-yet") as served:
                tab = browser.new_page(viewport={"width": 1280, "height": 760}, color_scheme="light")
                tab.goto(served.address + path)
                tab.locator(there).first.wait_for(timeout=PATIENCE)
                tab.wait_for_timeout(2_000)
                tab.screenshot(path=HERE / file)
                Image.open(HERE / file).convert("RGB").quantize(64).save(HERE / file, optimize=True)
                print(HERE / file)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
