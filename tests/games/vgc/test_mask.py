"""Masks are exact: nothing in them is refused by the simulator but for what nobody could know."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from jimbot.games.vgc import fields
from jimbot.games.vgc.masks import legal_masks
from tests.games.vgc.lab import plain_team, run_jobs, team

LEADS = ["team 1234", "team 1234"]
QUIET = "move 2, move 2"  # both protect

SCENES: dict[str, dict[str, Any]] = {
    "commander": {
        "teams": [
            team(
                "Tatsugiri | Commander | Muddy Water, Protect, Icy Wind, Helping Hand",
                "Dondozo | Unaware | Wave Crash, Protect, Rest, Order Up",
                "Blissey | Natural Cure | Seismic Toss, Protect, Soft-Boiled, Helping Hand",
                "Toxapex | Regenerator | Scald, Protect, Recover, Haze",
            ),
            plain_team(),
        ],
        "plays": [LEADS],
    },
    "revival": {
        "teams": [
            team(
                "Rabsca | Synchronize | Revival Blessing, Protect, Bug Buzz, Psychic",
                "Snorlax | Thick Fat | Explosion, Protect, Rest, Body Slam",
                "Blissey | Natural Cure | Seismic Toss, Protect, Soft-Boiled, Helping Hand",
                "Toxapex | Regenerator | Scald, Protect, Recover, Haze",
            ),
            plain_team(),
        ],
        # Snorlax goes, Blissey comes in its place, then Rabsca calls somebody back.
        "plays": [LEADS, ["move 2, move 1", QUIET], ["pass, switch 3", None], ["move 1, move 2", QUIET]],
    },
    "revived_beside": {
        "teams": [
            team(
                "Rabsca | Synchronize | Revival Blessing, Protect, Bug Buzz, Psychic",
                "Snorlax | Thick Fat | Body Slam, Protect, Rest, Explosion",
                "Blissey | Natural Cure | Seismic Toss, Protect, Soft-Boiled, Helping Hand",
                "Toxapex | Regenerator | Scald, Protect, Recover, Haze",
            ),
            plain_team(),
        ],
        # Nobody is left to replace Snorlax, so Rabsca can call back the partner beside it (place 2).
        "plays": [
            LEADS,
            {"tweak": "faint", "side": 0, "place": 2},
            {"tweak": "faint", "side": 0, "place": 3},
            ["move 2, move 4", QUIET],
            ["move 1, pass", QUIET],
        ],
    },
    "locked": {
        "teams": [
            team(
                "Haxorus | Rivalry | Outrage, Protect, Taunt, Swords Dance",
                "Skarmory | Sturdy | Fly, Protect, Roost, Iron Defense",
                "Blissey | Natural Cure | Seismic Toss, Protect, Soft-Boiled, Helping Hand",
                "Toxapex | Regenerator | Scald, Protect, Recover, Haze",
            ),
            plain_team(),
        ],
        "plays": [LEADS, ["move 1, move 1 1", "move 3, move 3"]],
    },
    "struggle": {
        "teams": [plain_team(), plain_team()],
        "plays": [LEADS, {"tweak": "empty", "side": 0, "place": 0}, ["move 2, move 2", QUIET]],
    },
    "both_forced_two_left": {
        "teams": [plain_team(), plain_team()],
        "plays": [LEADS, ["move 4, move 4", QUIET]],
    },
    "both_forced_one_left": {
        "teams": [plain_team(), plain_team()],
        "plays": [LEADS, {"tweak": "faint", "side": 0, "place": 3}, ["move 4, move 4", QUIET]],
    },
    "fainted_partner": {
        "teams": [plain_team(), plain_team()],
        "plays": [
            LEADS,
            {"tweak": "faint", "side": 0, "place": 2},
            {"tweak": "faint", "side": 0, "place": 3},
            ["move 4, move 2", QUIET],
        ],
    },
    "alone": {  # nobody is left beside or behind
        "teams": [plain_team(), plain_team()],
        "plays": [
            LEADS,
            *({"tweak": "faint", "side": side, "place": place} for side in (0, 1) for place in (2, 3)),
            ["move 4, move 2", QUIET],
        ],
    },
    "only_move": {
        "teams": [
            team(
                "Ditto | Limber | Transform",
                "Snorlax | Thick Fat | Body Slam, Protect, Rest, Explosion",
                "Blissey | Natural Cure | Seismic Toss, Protect, Soft-Boiled, Helping Hand",
                "Toxapex | Regenerator | Scald, Protect, Recover, Haze",
            ),
            plain_team(),
        ],
        "plays": [LEADS],
    },
    "ally_only": {
        "teams": [
            team(
                "Blissey | Natural Cure | Helping Hand, Protect, Soft-Boiled, Acupressure",
                "Snorlax | Thick Fat | Body Slam, Protect, Rest, Heal Pulse",
                "Garganacl | Purifying Salt | Salt Cure, Protect, Recover, Explosion",
                "Toxapex | Regenerator | Scald, Protect, Recover, Haze",
            ),
            plain_team(),
        ],
        "plays": [LEADS],
    },
    "hidden_trap": {
        "teams": [
            plain_team(),
            team(
                "Dugtrio | Arena Trap | Earthquake, Protect, Sandstorm, Substitute",
                "Blissey | Natural Cure | Seismic Toss, Protect, Soft-Boiled, Helping Hand",
                "Garganacl | Purifying Salt | Salt Cure, Protect, Recover, Explosion",
                "Toxapex | Regenerator | Scald, Protect, Recover, Haze",
            ),
        ],
        # The right slot may only suspect the trap: it tries to leave, is refused, and is asked again.
        "plays": [LEADS, ["move 2, switch 3", None]],
    },
}


@pytest.fixture(scope="module")
def scenes() -> dict[str, Any]:
    jobs = [{"job": "scene", **scene} for scene in SCENES.values()]
    return dict(zip(SCENES, run_jobs(*jobs), strict=True))


def check_probes(found: list[dict[str, Any]]) -> None:
    assert found
    for state in found:
        assert not state["refused"], f"in the mask but refused: {state['refused'][:5]}"
        assert state["legal"] <= state["accepted"] + state["hidden"]


def pointless(text: str) -> bool:
    """Accepted beyond the mask: aims at the fainted, or a gimmick word on a locked move."""
    return "move" in text


def test_nothing_in_the_mask_is_refused_and_nothing_useful_is_missing() -> None:
    (found,) = run_jobs({"job": "states", "count": 100, "seed": 3})
    check_probes(found)
    assert len(found) >= 100
    for state in found:
        assert all(pointless(text) for text in state["unmasked"]), state["unmasked"]
    total, unmasked = sum(s["accepted"] for s in found), sum(len(s["unmasked"]) for s in found)
    assert unmasked < total / 4, "most of what the simulator takes is in the mask"
    assert max(state["legal"] for state in found) > 100


@pytest.mark.long
def test_nothing_in_the_mask_is_refused_in_many_states() -> None:
    (found,) = run_jobs({"job": "states", "count": 700, "seed": 11})
    check_probes(found)


def test_every_scene_agrees_with_the_simulator(scenes: dict[str, Any]) -> None:
    for name, scene in scenes.items():
        probes = [probe for probe in scene["probes"] if probe is not None]
        assert probes or scene["ended"], name
        check_probes(probes)


def test_every_scene_shows_in_its_row_what_is_legal(scenes: dict[str, Any]) -> None:
    for name, scene in scenes.items():
        for shown in filter(None, scene["shown"]):
            observation = np.array(shown["row"], np.float32)[None] * fields.scales()
            assert np.flatnonzero(legal_masks(observation)[0]).tolist() == sorted(shown["mask"]), name


def test_a_commanding_pokemon_passes(scenes: dict[str, Any]) -> None:
    legal = scenes["commander"]["legal"][0]
    assert scenes["commander"]["requests"][0]["side"]["pokemon"][0]["commanding"]
    assert legal
    assert all(text.startswith("pass, ") for text in legal)
    assert not any("switch" in text for text in legal), "Dondozo cannot leave with a passenger"


def test_revival_blessing_names_the_fainted(scenes: dict[str, Any]) -> None:
    request = scenes["revival"]["requests"][0]
    assert request["side"]["pokemon"][0]["reviving"]
    fainted = [place for place, entry in enumerate(request["side"]["pokemon"]) if entry["condition"].endswith("fnt")]
    assert fainted == [2]
    assert scenes["revival"]["legal"][0] == ["switch 3, pass"]


def test_revival_blessing_may_name_the_partner_beside_it(scenes: dict[str, Any]) -> None:
    legal = scenes["revived_beside"]["legal"][0]
    assert set(legal) == {"switch 2, pass", "switch 3, pass", "switch 4, pass"}


def test_locked_moves_leave_one_choice(scenes: dict[str, Any]) -> None:
    assert scenes["locked"]["legal"][0] == ["move 1, move 1"]


def test_without_pp_there_is_struggle(scenes: dict[str, Any]) -> None:
    request, legal = scenes["struggle"]["requests"][0], scenes["struggle"]["legal"][0]
    assert request["active"][0]["moves"][0]["id"] == "struggle"
    assert {text.split(", ")[0] for text in legal if text.startswith("move")} == {"move 1"}


def test_two_forced_with_two_left_take_both_orders_and_may_not_pass(scenes: dict[str, Any]) -> None:
    assert set(scenes["both_forced_two_left"]["legal"][0]) == {"switch 3, switch 4", "switch 4, switch 3"}


def test_two_forced_with_one_left_decide_who_gets_it(scenes: dict[str, Any]) -> None:
    assert set(scenes["both_forced_one_left"]["legal"][0]) == {"switch 3, pass", "pass, switch 3"}


def test_two_forced_with_nobody_left_pass() -> None:
    gone = {"condition": "0 fnt", "reviving": False}
    request = {"forceSwitch": [True, True], "side": {"pokemon": [gone] * 4}}
    (legal,) = run_jobs({"job": "request", "request": request, "foes": [True, True]})
    assert legal == ["pass, pass"]


def test_a_fainted_partner_passes_and_is_no_target(scenes: dict[str, Any]) -> None:
    legal = scenes["fainted_partner"]["legal"][0]
    assert all(text.startswith("pass, ") for text in legal)
    assert not any(" -1" in text for text in legal)


def test_moves_for_allies_aim_at_allies(scenes: dict[str, Any]) -> None:
    legal = scenes["ally_only"]["legal"][0]
    firsts = {text.split(", ")[0] for text in legal}
    assert {text for text in firsts if text.startswith("move 1")} == {"move 1 -2", "move 1 -2 terastallize"}
    assert {"move 4 -1", "move 4 -2"} <= firsts, "Acupressure: oneself or the partner"


def test_hidden_trapping_asks_again_and_is_no_decision(scenes: dict[str, Any]) -> None:
    scene = scenes["hidden_trap"]
    assert scene["refused"] == [[], [0]]
    assert scene["events"] == [1, 0]
    assert scene["turn"] == 1
    assert scene["requests"][0]["active"][1]["trapped"]
    assert scene["legal"][0]
    assert not any("switch" in text.split(", ")[1] for text in scene["legal"][0])


def test_pairs_never_share_a_switch_or_a_gimmick() -> None:
    (found,) = run_jobs({"job": "scene", "teams": [plain_team(), plain_team()], "plays": [LEADS]})
    legal = found["legal"][0]
    assert "switch 3, switch 4" in legal
    assert not {"switch 3, switch 3", "switch 4, switch 4", "pass, pass"} & set(legal)
    for first, second in product(("move 1 1", "move 2"), repeat=2):
        assert f"{first}, {second}" in legal
        assert f"{first} terastallize, {second}" in legal
        assert f"{first} terastallize, {second} terastallize" not in legal
