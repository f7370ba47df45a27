"""Preview and search of seeds."""

import pytest

from jimbot.errors import UnknownNameError, UsageError
from jimbot.games.balatro.rules.chance.streams import seed_text
from jimbot.games.balatro.seeds import finding
from jimbot.games.balatro.seeds.preview_kernel import ACCEPT, REJECT


def holds(text: str, seed: str, **options) -> bool:
    """Asks one seed, found by its number, whether it answers a question."""
    number = 0
    for letter in seed:
        number = number * 35 + "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ".index(letter)
    return finding.find(text, limit=1, start=number, max_seeds=1, **options) == [seed]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("boss:bl_water@2", True),
        ("boss:bl_water@1", False),
        ("voucher:v_planet_merchant@2 and tag:tag_negative@2", True),
        ("voucher:v_planet_merchant@2 and tag:tag_negative@1", False),
        ("voucher:v_hone@2 or tag:tag_voucher@2", True),
        ("not (voucher:v_hone@2 or tag:tag_voucher@2)", False),
        ("not voucher:v_hone@2 and not tag:tag_boss@2", True),
        ("joker:j_faceless+foil@2", True),
        ("joker:j_faceless+holo@2", False),
        ("joker:any+foil@<=2", True),
        ("pack:p_celestial_jumbo_1@2", True),
        ("joker:j_swashbuckler@2-3 AND (voucher:v_hone@2 OR boss:bl_water)", True),
    ],
)
def test_questions_about_the_recorded_seed_4wax5m4d(question, answer):
    assert holds(question, "4WAX5M4D") == answer


def test_every_seed_found_shows_what_was_asked_for_in_its_preview():
    found = finding.find("voucher:v_telescope@1 and joker:j_blueprint@<=2", limit=5)
    assert len(found) == 5
    for seed in found:
        antes = finding.preview(seed, antes=2, shop_cards=4, later_packs=4).antes
        assert antes[0].voucher == "v_telescope"
        items = [item for ante in antes for item in [*ante.shop, *[card for pack in ante.packs for card in pack.cards]]]
        assert "j_blueprint" in {item.key for item in items}


def test_a_search_misses_no_seed_and_does_not_depend_on_threads():
    question = "tag:tag_double@1 and boss:bl_hook@1"
    one = finding.find(question, limit=1000, max_seeds=3000, threads=1)
    two = finding.find(question, limit=1000, max_seeds=3000, threads=2)
    by_hand = []
    for number in range(3000):
        ante = finding.preview(seed_text(number), antes=1, shop_cards=0, first_packs=0).antes[0]
        if "tag_double" in ante.tags and ante.boss == "bl_hook":
            by_hand.append(seed_text(number))
    assert one == two == by_hand
    assert len(by_hand) > 5


def test_a_legendary_joker_is_found_where_the_first_soul_lies():
    for seed in finding.find("joker:j_perkeo@1", limit=2, max_seeds=100_000):
        found = finding.preview(seed, antes=1)
        assert found.legendary == "j_perkeo"
        assert "c_soul" in {card.key for pack in found.antes[0].packs for card in pack.cards}


def test_cheap_conditions_are_asked_first():
    question = finding.compile_question("joker:j_blueprint@<=8 and voucher:v_hone@1")
    assert question["kind"].tolist() == [1, 3]
    assert question["if_false"].tolist() == [REJECT, REJECT]
    assert question["if_true"].tolist() == [1, ACCEPT]


@pytest.mark.parametrize(
    ("question", "error", "message"),
    [
        ("voucher:v_telescop@1", UnknownNameError, "Did you mean 'v_telescope'"),
        ("vouchr:v_telescope@1", UnknownNameError, "Did you mean 'voucher'"),
        ("joker:j_joker+shiny", UnknownNameError, "Unknown edition"),
        ("tag:tag_boss+foil", UsageError, "only jokers"),
        ("boss:bl_hook@9", UsageError, "antes within 1 to 8"),
        ("boss:bl_hook@x", UsageError, "expected one of @3, @<=3"),
        ("boss:bl_hook voucher:v_hone", UsageError, "left over"),
        ("(boss:bl_hook", UsageError, "not closed"),
        ("boss:bl_hook and", UsageError, "ends too early"),
        ("hello", UsageError, "is no condition"),
    ],
)
def test_a_wrong_question_is_refused_in_one_sentence(question, error, message):
    with pytest.raises(error, match=message):
        finding.find(question)


def test_wrong_sizes_are_refused_in_one_sentence():
    with pytest.raises(UsageError, match="antes is 99; expected 1 to 16"):
        finding.preview("TESTSEED", antes=99)
    with pytest.raises(UsageError, match="shop_cards is 41; expected 0 to 40"):
        finding.preview("TESTSEED", shop_cards=41)
    with pytest.raises(UsageError, match="limit is 0"):
        finding.find("boss:bl_hook", limit=0)
