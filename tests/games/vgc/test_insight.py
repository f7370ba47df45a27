"""The insight: hits and speeds as a good player works them out; the simulator agrees, and nothing hidden comes in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jimbot.errors import JimbotError
from jimbot.games.contract import make
from jimbot.games.vgc import fields, teams
from jimbot.games.vgc.fields import FORESIGHT, INSIGHT, INSIGHT_PARTS, OBSERVATION, WITH_FORESIGHT, WITH_INSIGHT, column
from jimbot.games.vgc.game import SPEC
from jimbot.games.vgc.heuristic import Scripted
from jimbot.games.vgc.options import Options
from tests.games.vgc.lab import plain_team, run_jobs, team

PAGE = Path(__file__).parents[3] / "docs" / "games" / "vgc.md"
LEADS = ["team 1234", "team 1234"]
LOW, HIGH, KNOCK_OUT = range(3)
EVERYTHING = (*INSIGHT_PARTS, FORESIGHT.name)
FAST = (
    "Regieleki @ Choice Scarf | Transistor | Thunderbolt, Protect, Volt Switch, Rapid Spin",
    "Torkoal @ Life Orb | Drought | Heat Wave, Protect, Earth Power, Body Press",
    "Whimsicott @ Focus Sash | Prankster | Tailwind, Protect, Moonblast, Encore",
    "Hatterene @ Lum Berry | Magic Bounce | Trick Room, Protect, Psychic, Dazzling Gleam",
)


def scene(*plays: Any, mine: str = team(*FAST), theirs: str = plain_team()) -> dict[str, Any]:
    return {"job": "scene", "teams": [mine, theirs], "plays": [LEADS, *plays]}


@pytest.fixture(scope="module")
def answers() -> list:
    """All jobs in one process: starting it is what costs."""
    back = ["team 3412", "team 1234"]
    windy, turned = (
        {**scene(), "plays": [back, [mine, "move 2, move 2"]]} for mine in ("move 1, move 2", "move 2, move 1")
    )
    return run_jobs(
        {"job": "sight", "count": 12, "seed": 4},
        {"job": "hidden", "seed": 5, "moments": 20},
        {"job": "shadow", "count": 1, "seed": 3},
        scene(),
        windy,
        turned,
        layout=fields.layout(EVERYTHING),
        teams=teams.split_teams("train"),
    )


def shown(answer: dict[str, Any], name: str, side: int = 0) -> np.ndarray:
    return WITH_FORESIGHT.view(np.array(answer["shown"][side]["row"]), name)


def test_damage_falls_into_its_range_and_the_certain_come_first(answers: list) -> None:
    found = answers[0]
    assert found["outside"] == []
    assert found["late"] == []
    assert found["hits"] > 30
    assert found["certain"] > 30
    assert found["width"] / found["hits"] < 40, "percent points: it says something"


@pytest.mark.long
def test_damage_falls_into_its_range_in_many_battles() -> None:
    layout, every = fields.layout(INSIGHT_PARTS), [t for split in teams.SPLITS for t in teams.split_teams(split)]
    (found,) = run_jobs({"job": "sight", "count": 400, "seed": 9}, layout=layout, teams=every)
    assert found["hits"] > 1000
    assert len(found["outside"]) <= 0.005 * found["hits"], found["outside"][:20]
    assert len(found["late"]) <= 0.005 * found["orders"], found["late"][:20]
    assert abs(found["knockOuts"] - found["expected"]) < 0.15 * found["knockOuts"], "chances are what happens"


def test_hidden_facts_change_nothing_and_servers_show_the_same(answers: list) -> None:
    hidden, shadow = answers[1:3]
    assert hidden["changed"] == dict.fromkeys(hidden["changed"], 0)
    assert hidden["looked"] == hidden["control"] == 20
    assert shadow["rows"] > 10
    assert shadow["wrong"] == []


def test_closed_sheets_tell_of_no_move_that_was_not_seen() -> None:
    quiet = ["move 2, move 2", "move 1 1, move 1 1"]
    first, second = run_jobs(
        scene(), scene(quiet), open_team_sheets=False, layout=fields.layout(EVERYTHING)
    )  # fmt: skip
    assert not shown(first, "dangers").any()
    assert not shown(first, "foresight").any()
    assert shown(first, "strikes").any()
    assert shown(second, "dangers")[:, 0, :, HIGH].any()
    assert not shown(second, "dangers")[:, 1:].any()


def test_ranges_say_what_is_certain(answers: list) -> None:
    strikes = shown(answers[3], "strikes")
    bolt = strikes[0, 0]
    assert 0 < bolt[0, LOW] < bolt[0, HIGH]
    assert (strikes[..., LOW] <= strikes[..., HIGH]).all()
    assert not strikes[:, 1].any(), "Protect hits nobody"
    sure = strikes[..., KNOCK_OUT] == 100
    assert (strikes[..., LOW][sure] >= 100).all()
    assert (strikes[..., KNOCK_OUT][strikes[..., HIGH] < 100] == 0).all()


def test_the_order_follows_scarf_tailwind_and_trick_room(answers: list) -> None:
    before, windy, turned = (shown(answer, "order") for answer in answers[3:])
    assert before[0].tolist() == [0, 100, 100, 100], "the scarf is the fastest of all"
    assert before[1, 0] == 0
    assert windy[0, 2] == 100
    assert windy[1, 3] > before[1, 3], "the wind helps the slow one"
    assert turned[0, 2] == 0
    assert (np.abs(turned[:2, 2:] + turned[2:, :2].T - 100) <= 1).all(), "rounded"


def test_old_fields_stay_where_they_are_and_scripts_play_as_ever() -> None:
    plain, wide = (make("vgc", 4, options={"insight": insight}) for insight in ("", "all"))
    player = Scripted("heuristic")
    try:
        for game in (plain, wide):
            game.reset(np.arange(4, dtype=np.uint64))
        for _ in range(8):
            np.testing.assert_array_equal(wide.observation[:, : OBSERVATION.size], plain.observation)
            actions = player.choose(plain.observation, plain.legal_mask)
            np.testing.assert_array_equal(player.choose(wide.observation, wide.legal_mask), actions)
            for game in (plain, wide):
                game.step(actions)
        assert wide.observation[:, OBSERVATION.size :].any(axis=1).all()
        plain.restore(wide.snapshot())
        assert wide.describe(0) == plain.describe(0)
    finally:
        plain.close()
        wide.close()


def test_the_heuristic_is_foreseen_and_what_it_orders_hurts_as_told() -> None:
    game = make("vgc", 24, options={"insight": "foresight", "opponent": "self", "teams": "validation"})
    player, foreseen, seen = Scripted("heuristic"), 0, 0
    try:
        game.reset(np.arange(24, dtype=np.uint64))
        for _ in range(8):
            orders = player.choose(game.observation, game.legal_mask)
            told = WITH_FORESIGHT.view(game.observation, "foresight")
            turn = OBSERVATION.view(game.observation, "phase")[:, column("phase", "turn")] > 0
            for row in np.flatnonzero(turn & game.acting):
                for slot, code in enumerate(divmod(int(orders[row ^ 1]), 45)):  # the other side's
                    if code < 40 and told[row, slot].any():
                        seen += 1
                        foreseen += told[row, slot, code // 10] == 1
            assert not told[~turn].any()
            assert (told[..., 7:] <= 2.5).all()
            assert not told[..., 7:][told[..., 4:6] == 0].any(), "who is not aimed at is not harmed"
            game.step(orders)
        assert seen > 100
        assert foreseen > 0.7 * seen
        assert not WITH_FORESIGHT.view(game.observation, "strikes").any(), "that part was not asked for"
    finally:
        game.close()


def test_parts_are_chosen_by_name() -> None:
    assert SPEC.under({}).observation.fingerprint == SPEC.observation.fingerprint
    assert SPEC.under({"insight": "order"}).observation.size == WITH_INSIGHT.size
    assert Options(insight="order, strikes").insight_parts == ("strikes", "order")
    assert SPEC.under({"insight": "all"}).observation.size == WITH_INSIGHT.size, "as policies of old were trained"
    assert Options(insight="foresight, all").insight_parts == EVERYTHING
    assert SPEC.under({"insight": "foresight"}).observation.size == WITH_FORESIGHT.size
    with pytest.raises(JimbotError, match="Did you mean 'strikes'"):
        Options(insight="strike")


def test_the_page_names_every_field() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"`{field.name}`" in page for field in (*INSIGHT, FORESIGHT))
