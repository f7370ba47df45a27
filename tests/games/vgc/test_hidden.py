"""A row tells only what its player may know: hidden facts change nothing in it, and disguises hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jimbot.games.checker import random_legal
from jimbot.games.contract import make
from tests.games.vgc.lab import plain_team, run_jobs, team

LEADS = ["team 1234", "team 1234"]
FOE = 6


@pytest.mark.parametrize("open_sheets", [True, False])
def test_hidden_facts_change_no_row(open_sheets: bool) -> None:
    (found,) = run_jobs({"job": "hidden", "seed": 5, "moments": 60}, open_team_sheets=open_sheets)
    assert found["changed"] == dict.fromkeys(found["changed"], 0)
    assert found["looked"] == found["control"] == 60, "what everybody sees does show"


def zoroark_scene(**extra: Any) -> dict[str, Any]:
    disguised = team(
        "Zoroark @ Life Orb | Illusion | Night Daze, Protect, Taunt, Snarl | Dark",
        "Blissey | Natural Cure | Seismic Toss, Protect, Soft-Boiled, Helping Hand",
        "Garganacl | Purifying Salt | Salt Cure, Protect, Recover, Explosion",
        "Toxapex | Regenerator | Scald, Protect, Recover, Haze",
    )
    return {"job": "scene", "teams": [plain_team(), disguised], "plays": [LEADS], **extra}


def test_illusion_shows_the_disguise_and_its_sheet() -> None:
    before, after = run_jobs(zoroark_scene(), zoroark_scene(plays=[LEADS, ["move 1 1, move 2", "move 3 2, move 2"]]))
    seen = before["rows"][0]
    assert seen["species"][FOE] == "Toxapex"
    assert seen["moves"][FOE] == ["Scald", "Protect", "Recover", "Haze"]
    assert seen["abilities"][FOE] == "Regenerator"
    assert "Zoroark" in seen["species"][FOE + 2 :]
    assert before["rows"][1]["species"][0] == "Zoroark", "its owner knows"
    assert after["rows"][0]["species"][FOE] == "Zoroark", "a hit ends it"


def test_closed_sheets_show_only_what_was_revealed() -> None:
    first, second = run_jobs(
        {"job": "scene", "teams": [plain_team(), plain_team()], "plays": [LEADS]},
        {
            "job": "scene",
            "teams": [plain_team(), plain_team()],
            "plays": [LEADS, ["move 2, move 2", "move 1 1, move 1 1"]],
        },
        open_team_sheets=False,
    )
    rows = first["rows"][0]
    assert rows["species"][FOE : FOE + 2] == ["Snorlax", "Garganacl"]
    assert rows["moves"][FOE:] == [[]] * 6
    assert rows["items"][FOE:] == [""] * 6
    assert rows["abilities"][FOE:] == [""] * 6
    assert rows["teras"][FOE:] == [""] * 6
    assert rows["moves"][0] == ["Body Slam", "Protect", "Rest", "Explosion"], "one's own sheet is known"
    assert second["rows"][0]["moves"][FOE : FOE + 2] == [["Body Slam"], ["Salt Cure"]]


def test_an_item_that_shows_itself_belongs_to_its_holder_not_to_its_victim() -> None:
    bells = team(
        "Snorlax @ Shell Bell | Thick Fat | Body Slam, Protect, Rest, Explosion",
        "Garganacl @ Rocky Helmet | Purifying Salt | Salt Cure, Protect, Recover, Explosion",
        "Blissey | Natural Cure | Seismic Toss, Protect, Soft-Boiled, Helping Hand",
        "Toxapex | Regenerator | Scald, Protect, Recover, Haze",
    )
    # Their Snorlax, hurt, slams ours and is healed by its bell; our Snorlax hits Garganacl and feels the helmet.
    plays = [LEADS, {"tweak": "health", "side": 1, "place": 0, "hp": 60}, ["move 1 2, move 2", "move 1 1, move 3"]]
    (scene,) = run_jobs(
        {"job": "scene", "teams": [plain_team(), bells], "plays": plays}, open_team_sheets=False
    )  # fmt: skip
    assert scene["rows"][0]["items"][FOE : FOE + 2] == ["Shell Bell", "Rocky Helmet"]
    assert scene["rows"][1]["items"][FOE : FOE + 2] == ["", ""], "the victim showed nothing"


def test_open_sheets_show_all_six_from_the_start() -> None:
    (scene,) = run_jobs({"job": "scene", "teams": [plain_team(), plain_team()], "plays": []})
    rows = scene["rows"][0]
    assert len([name for name in rows["species"][FOE:] if name]) == 6
    assert all(len(moves) == 4 for moves in rows["moves"][FOE:])
    assert rows["teras"][FOE:] == ["Normal"] * 6


def test_redrawing_changes_what_comes_but_not_what_is_seen() -> None:
    game = make("vgc", 6, options={"opponent": "random"})
    try:
        game.reset(np.arange(6, dtype=np.uint64))
        rng = np.random.default_rng(1)
        for _ in range(3):
            game.step(random_legal(rng, game.legal_mask))
        saved = game.snapshot()
        rows = np.arange(6)
        futures = []
        for redraw in (0, 1):
            game.restore(saved)
            before = game.observation.copy()
            game.redraw_hidden(rows, np.arange(6, dtype=np.uint64) + np.uint64(100 * redraw))
            np.testing.assert_array_equal(game.observation, before)
            moves = game.legal_mask.argmax(axis=1)
            game.step(moves)
            futures.append(game.observation.copy())
        assert (futures[0] != futures[1]).any(axis=1).sum() >= 3, "other dice, other battles"
        again = game.snapshot()
        seen = game.observation.copy()
        game.step(game.legal_mask.argmax(axis=1))
        game.restore(again)
        np.testing.assert_array_equal(game.observation, seen)
    finally:
        game.close()
