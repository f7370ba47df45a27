"""What the simulator says about jokers together: signs that follow from the rules, and players' lists as judge."""

from __future__ import annotations

import numpy as np
import pytest

from jimbot.errors import UnknownNameError, UsageError
from jimbot.games.balatro.entry import KNOWLEDGE
from jimbot.games.balatro.rules.content import ENHANCEMENTS, JOKERS
from jimbot.games.balatro.rules.state import GAME_DTYPE
from jimbot.games.balatro.synergy.shared_starts import SHAPES, hand_starts
from jimbot.games.balatro.synergy.statistics import interactions, resampling, shrunk, steered
from jimbot.knowledge.documents import read_document
from jimbot.knowledge.first_use import shipped_graph
from tests.games.balatro import documented_pairs as documented


def measured(pairs, **how):
    assert KNOWLEDGE.measure is not None
    return {(one.a, one.b, one.channel): one for one in KNOWLEDGE.measure(pairs=pairs, **how)}


def ranking(better: np.ndarray, worse: np.ndarray) -> float:
    """The chance that one of the better ones ranks before one of the worse ones."""
    return float(((better[:, None] > worse).mean() + (better[:, None] >= worse).mean()) / 2)


def test_what_the_rules_say_of_a_few_pairs_is_found():
    found = measured(
        [("j_baron", "j_mime"), ("j_joker", "j_stencil"), ("j_blueprint", "j_cavendish"), ("j_ice_cream", "j_mail"),
         ("j_egg", "j_swashbuckler"), ("j_chicot", "j_matador"), ("j_credit_card", "j_droll")]
    )  # fmt: skip
    assert found["j_baron", "j_mime", "score"].low > 0
    assert found["j_baron", "j_mime", "retrigger"].strength > 0.05
    assert found["j_joker", "j_stencil", "score"].high < 0
    copied = found["j_blueprint", "j_cavendish", "copying"]
    assert copied.order == "a_left"
    assert copied.strength == pytest.approx(np.log(3), abs=0.2)  # another three times the Mult
    assert found["j_egg", "j_swashbuckler", "growth"].low > 0
    assert found["j_chicot", "j_matador", "money"].high < 0
    assert found["j_credit_card", "j_droll", "score"].strength == 0.0
    assert ("j_chicot", "j_matador", "score") not in found  # nothing, where the money is against them


def test_measuring_again_gives_the_same_numbers_and_channels_can_be_chosen():
    pair = [("j_fibonacci", "j_hack")]
    first, again = measured(pair), measured(pair, channels=["score"])
    key = ("j_fibonacci", "j_hack", "score")
    assert first[key] == again[key]
    assert set(again) == {key}


def test_hands_and_bosses_are_measured_like_pairs():
    found = measured([("j_droll", "Flush"), ("j_chicot", "bl_flint"), ("Pair", "bl_psychic"), ("Pair", "j_smeared")])
    assert found["j_droll", "Flush", "score"].relation == "favours"
    assert found["j_droll", "Flush", "score"].low > 0
    assert found["j_chicot", "bl_flint", "score"].relation == "counters"
    assert found["j_chicot", "bl_flint", "score"].low > 0
    assert found["Pair", "bl_psychic", "score"].strength < 0  # which wants five cards
    assert ("j_smeared", "Pair", "score") in found


def test_a_group_is_more_than_its_pairs_or_not():
    assert KNOWLEDGE.measure_group is not None
    three = KNOWLEDGE.measure_group(("j_blueprint", "j_baron", "j_mime"))
    assert (three.a, three.b, three.others, three.order) == ("j_baron", "j_blueprint", ("j_mime",), "b_left")
    assert three.details["score"] > 0.1
    with pytest.raises(UsageError, match="3 to 4 different jokers"):
        KNOWLEDGE.measure_group(("j_baron", "j_baron", "j_mime"))


def test_unknown_names_are_refused_before_anything_is_played():
    with pytest.raises(UnknownNameError, match="j_baron"):
        measured([("j_barn", "j_mime")])
    with pytest.raises(UnknownNameError, match="growth"):
        measured([("j_baron", "j_mime")], channels=["grwth"])
    with pytest.raises(UsageError, match="cannot be measured together"):
        measured([("bl_wall", "bl_eye")])


def test_decks_hold_what_they_are_full_of():
    starts = hand_starts(3, 2)
    games = starts.records.view(GAME_DTYPE)[:, 0]
    for number, shape in enumerate(SHAPES):
        g = games[4 * number]
        owned = g["cards"][: g["card_count"]]
        assert len(owned) == shape.cards
        assert (g["card_place"][owned] == 1).all()
        if shape.enhancement:
            assert g["enhancement_count"][shape.enhancement] == round(0.6 * shape.cards)
        if shape.suits:
            assert np.isin(g["card_suit"][owned], shape.suits).mean() > 0.5
    assert len({shape.name for shape in SHAPES}) == len(SHAPES) > ENHANCEMENTS.size


def test_the_shape_of_a_deck_follows_steering_not_the_mean():
    alone, other = np.zeros((1, 2, 1)), np.zeros((1, 2, 1))
    alone[0, 0], other[0, 1] = 1.0, 1.0  # each wants another deck
    apart = interactions(alone + other, (alone, other), (-1, -1), resampling(2, 1, 0))
    agreed = interactions(2 * alone, (alone, alone), (-1, -1), resampling(2, 1, 0))
    assert apart.strength[0] < 0 < agreed.strength[0]
    even = np.full((1, 2, 3), 0.5)
    assert interactions(2 * even, (even, even), (-1, -1), resampling(2, 3, 0)).strength[0] == pytest.approx(0)
    assert steered(np.full((4, 5), 0.3)) == pytest.approx(0.3)


def test_what_chance_would_give_is_taken_off():
    assert shrunk(np.array([0.1, -0.1, 1.0, 0.0]), np.array([0.2, 0.2, 0.1, 0.0])).tolist() == [0, 0, 0.99, 0]


def test_players_lists_rank_before_random_pairs():
    """A few of each list; the whole of it is the long test below."""
    good, bad = documented.STRONG[::4], documented.AGAINST[::5]
    others = documented.unlisted(list(JOKERS.keys), 24)
    found = measured([*good, *bad, *others])
    strength = {(a, b): one.strength for (a, b, channel), one in found.items() if channel == "all"}
    random = np.array([strength[pair] for pair in others])
    assert ranking(np.array([strength[pair] for pair in good]), random) >= 0.85
    assert ranking(random, np.array([strength[pair] for pair in bad])) >= 0.6


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_players_whole_lists_rank_before_random_pairs():
    lists = {"strong": documented.STRONG, "good": documented.GOOD, "against": documented.AGAINST}
    lists["random"] = documented.unlisted(list(JOKERS.keys), 300)
    found = measured([pair for pairs in lists.values() for pair in pairs])
    strength = {(a, b): one.strength for (a, b, channel), one in found.items() if channel == "all"}
    by_list = {name: np.array([strength[pair] for pair in pairs]) for name, pairs in lists.items()}
    random = by_list["random"]
    assert ranking(by_list["strong"], random) >= 0.95
    assert ranking(np.concatenate([by_list["strong"], by_list["good"]]), random) >= 0.88
    assert (by_list["strong"] > np.quantile(random, 0.85)).mean() >= 0.9
    assert (by_list["against"] < np.median(random)).mean() >= 0.7


@pytest.mark.timeout(1800)  # where the rules have to be compiled first, on a busy machine
def test_what_ships_is_what_is_measured_again():
    """Every claim has a command that measures it again, to the same numbers."""
    shipped = shipped_graph("balatro")
    assert shipped is not None
    graph = read_document(shipped)
    known = {(edge.a, edge.b, edge.channel): edge for edge in graph.edges if not edge.others}
    assert len({(a, b) for a, b, channel in known if channel == "all"}) == len(JOKERS) * (len(JOKERS) - 1) // 2
    for key, one in measured([("j_hack", "j_wee"), ("j_droll", "Flush"), ("j_chicot", "j_matador")]).items():
        assert known[key].strength == one.strength
        assert known[key].order == one.order
        assert known[key].command.endswith("--effort 1 --seed 0")
