"""The registry: every rule in one place, acting in the phases its table row names; copies through Blueprint."""

import pytest

from jimbot.games.balatro.rules import inventory, run_start
from jimbot.games.balatro.rules.chance import streams
from jimbot.games.balatro.rules.content import JOKERS
from jimbot.games.balatro.rules.jokers import dispatch, registry
from jimbot.games.balatro.rules.jokers.evaluate import acts_as
from jimbot.games.balatro.rules.state import new_games
from tests.games.balatro import test_jokers_between_hands, test_jokers_in_play, test_jokers_scoring

# Phases of the table that are settled where the rule they change lives, not by a function of the joker.
ASKED_ELSEWHERE = {
    "hand_eval", "on_add", "on_remove", "copy", "pool", "shop_price", "shop", "retrigger_held", "on_create",
}  # fmt: skip


EXAMPLES = [
    *(row[0] for row in test_jokers_scoring.ROWS),
    *(example.joker for example in test_jokers_in_play.EXAMPLES),
    *(example.joker for example in test_jokers_between_hands.EXAMPLES),
]


def start(*jokers: str):
    g = new_games(1)[0]
    g.seed, g.seed_length = streams.seed_bytes("TESTSEED")
    g.stake = 1
    run_start.clear_run(g)
    for key in jokers:
        inventory.add_joker(g, JOKERS.id(key), 0, 0, 0, 0)
    return g


def test_all_150_jokers_have_a_rule_and_a_worked_example():
    assert len(JOKERS.keys) == 150
    assert sorted(registry.defined()) == sorted(JOKERS.keys)
    assert sorted(set(JOKERS.keys) - set(EXAMPLES)) == []
    assert set(EXAMPLES) <= set(JOKERS.keys)


@pytest.mark.parametrize("key", JOKERS.keys)
def test_a_joker_acts_in_the_phases_of_its_table_row(key):
    named = set(JOKERS.row(key)["phases"]) - ASKED_ELSEWHERE
    if key == "j_glass":
        named -= {"using_consumable"}  # consumables that destroy cards run `cards_removed`
    written = registry.defined()[key]
    assert written & {*registry.PHASES, "retrigger_played"} == named


def test_a_joker_cannot_be_defined_twice():
    with pytest.raises(ValueError, match="j_joker is defined twice"):
        registry.define("j_joker", passive="again")


@pytest.mark.parametrize(
    ("jokers", "sources"),
    [
        (["j_blueprint", "j_baron"], [1, 1]),
        (["j_baron", "j_blueprint"], [0, -1]),
        (["j_baron", "j_brainstorm"], [0, 0]),
        (["j_brainstorm", "j_baron"], [-1, 1]),
        (["j_blueprint", "j_blueprint", "j_baron"], [2, 2, 2]),
        (["j_blueprint", "j_baron", "j_brainstorm"], [1, 1, 1]),
        (["j_blueprint", "j_brainstorm"], [-1, -1]),
        (["j_blueprint", "j_splash"], [-1, 1]),
    ],
)
def test_copiers_find_the_rule_they_run(jokers, sources):
    g = start(*jokers)
    assert [acts_as(g, place) for place in range(len(jokers))] == sources


def test_a_debuffed_joker_is_not_copied():
    g = start("j_blueprint", "j_baron")
    inventory.set_joker_debuff(g, 1, True)
    assert [acts_as(g, 0), acts_as(g, 1)] == [-1, -1]


def test_every_phase_has_a_dispatcher_that_ignores_jokers_without_a_rule_there():
    assert registry.has_function("before").sum() >= 10
    assert not registry.has_function("before")[JOKERS.id("j_joker")]
    assert dispatch.run_main is not None
