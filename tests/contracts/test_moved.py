"""Old import paths keep working for one release, and nobody here uses them."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jimbot.moved import MOVED

REPOSITORY = Path(__file__).resolve().parents[2]
NEEDS_AN_EXTRA = re.compile(r"jimbot\.training\.(ray|sb3)\b")


@pytest.mark.parametrize("old", [old for old, new in MOVED.items() if not NEEDS_AN_EXTRA.match(new)])
def test_an_old_path_gives_the_module_of_the_new_one(old: str) -> None:
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=re.escape(f"{old} is now {MOVED[old]}")):
        module = importlib.import_module(old)
    assert module is importlib.import_module(MOVED[old])
    assert module.__name__ == module.__spec__.name == MOVED[old]


def test_names_can_be_imported_from_an_old_path_in_every_form() -> None:
    code = (
        "import warnings; warnings.simplefilter('ignore');"
        "from jimbot.games.balatro import state, shop; from jimbot.games.balatro.jokers.registry import define;"
        "import jimbot.games.balatro.jokers.phases as phases; from jimbot.training.config import TrainerConfig;"
        "from jimbot.games.balatro.rules import state as new; assert state is new and phases and define"
    )
    subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, check=True)


def test_modules_that_became_rooms_still_give_their_names() -> None:
    from jimbot.games.balatro.seeds import find, preview
    from jimbot.training.curriculum import AnteCurriculum
    from jimbot.training.league import League
    from jimbot.training.session import Session
    from jimbot.training.settings import TrainSettings, load_settings

    assert all((find, preview, AnteCurriculum, League, Session, TrainSettings, load_settings))


@pytest.mark.parametrize(
    ("room", "name", "place"),
    [
        ("bosses", "refresh_card", "debuffs"),
        ("bosses", "is_face_to_boss", "definitions"),
        ("consumables", "can_use", "using"),
        ("tags", "gain_tag", "held"),
    ],
)
def test_a_room_gives_the_names_of_the_module_it_was(room: str, name: str, place: str) -> None:
    rules = "jimbot.games.balatro.rules"
    module = importlib.import_module(f"{rules}.{room}")
    with pytest.warns(DeprecationWarning, match=rf"{room}\.{name} is now in {rules}\.{room}\.{place}"):
        found = getattr(module, name)
    assert found is getattr(importlib.import_module(f"{rules}.{room}.{place}"), name)
    with pytest.raises(AttributeError, match="has no attribute nobody"):
        getattr(module, "nobody")  # noqa: B009 - as an importer would ask


def old_paths(text: str) -> Iterator[str]:
    """Every moved module that a text names, alone or with something of it."""
    for found in re.finditer(r"(?<![\w.])jimbot(?:\.\w+)+", text):
        parts = found.group().split(".")
        yield from {".".join(parts[:length]) for length in range(2, len(parts) + 1)} & MOVED.keys()


def test_nothing_in_the_repository_uses_an_old_path() -> None:
    assert (
        list(old_paths("from jimbot.training.config import x; see jimbot.training.config.TrainerConfig."))
        == ["jimbot.training.config"] * 2
    )
    files = [*REPOSITORY.glob("jimbot/**/*.py"), *REPOSITORY.glob("docs/**/*.md"), *REPOSITORY.glob("examples/*.py")]
    wrong = [
        f"{path.relative_to(REPOSITORY)}: {old}"
        for path in files
        if path.name != "moved.py"
        for old in old_paths(path.read_text())
    ]
    assert not wrong
