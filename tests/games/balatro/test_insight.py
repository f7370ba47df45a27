"""The insight: figures a good player works out, none of which knows more than is shown."""

from __future__ import annotations

from math import comb
from pathlib import Path

import numpy as np
import pytest

from jimbot.errors import JimbotError
from jimbot.games.balatro.encoding.fields import COLUMNS, INSIGHT, WIDTH, WITH_INSIGHT
from jimbot.games.balatro.encoding.scaling import count_log
from jimbot.games.balatro.game import SPEC, BalatroGame
from jimbot.games.balatro.options import Options
from jimbot.games.balatro.rules.content import HANDS, parse_card
from jimbot.policies.heuristics import heuristic_policy

ACTIONS = SPEC.actions
HAND = "S_A C_A D_Q S_J S_9 S_7 C_4 C_2"
PAGE = Path(__file__).parents[3] / "docs/games/balatro-observation.md"


@pytest.fixture(scope="module")
def game() -> BalatroGame:
    return BalatroGame(1, options=Options(helpers=True, insight="all"), checked=True)


def take(game: BalatroGame, *labels: str) -> None:
    for label in labels:
        game.step(np.array([ACTIONS.index(label)]))


def shown(game: BalatroGame, field: str) -> np.ndarray:
    return WITH_INSIGHT.view(game.observation, field)[0]


def dealt(game: BalatroGame, hand: str) -> np.record:
    """The first round with this hand; the cards take their places with those that had been dealt."""
    game.reset(np.array([5], np.uint64))
    take(game, "select")
    record = game.games[0]
    for place, card in enumerate(hand.split()):
        slots = record.cards[: record.card_count]
        wanted = next(s for s in slots if (record.card_rank[s], record.card_suit[s]) == parse_card(card))
        held = record.hand[place]
        for name in ("card_rank", "card_suit"):
            column = getattr(record, name)
            column[wanted], column[held] = column[held], column[wanted]
    game.look()
    return record


def chance(game: BalatroGame, hand: str) -> float:
    return float(shown(game, "draws")[HANDS.id(hand), 0])


def test_cards_know_their_kin_in_hand_and_deck(game: BalatroGame) -> None:
    dealt(game, HAND)
    ace, _, queen, *_ = shown(game, "hand_kin")
    assert ace == pytest.approx([1 / 4, 3 / 5, 2 / 4, 9 / 13])
    assert queen == pytest.approx([0, 0, 3 / 4, 12 / 13])


def test_chances_are_those_of_drawing_without_putting_back(game: BalatroGame) -> None:
    dealt(game, HAND)
    assert chance(game, "Pair") == 1
    assert chance(game, "Flush") == pytest.approx(1 - comb(35, 4) / comb(44, 4), abs=1e-6)  # four to go, one to hit
    assert chance(game, "Three of a Kind") == pytest.approx(1 - comb(42, 5) / comb(44, 5), abs=1e-6)
    assert chance(game, "Four of a Kind") == pytest.approx(comb(42, 3) / comb(44, 5), abs=1e-6)
    assert chance(game, "Flush Five") == 0


def test_a_straight_with_two_gaps_needs_both(game: BalatroGame) -> None:
    dealt(game, "S_5 H_6 D_9 C_K S_K H_K D_K C_2")
    deck, none = comb(44, 5), comb(40, 5)
    both = 1 - 2 * none / deck + comb(36, 5) / deck  # a Seven and an Eight, all eight of them are left
    assert chance(game, "Straight") == pytest.approx(both, abs=1e-6)


def test_without_discards_there_is_nothing_to_draw(game: BalatroGame) -> None:
    record = dealt(game, HAND)
    record.discards_left = 0
    game.look()
    assert not shown(game, "draws").any()


def test_prices_tell_what_is_left_and_what_interest_goes(game: BalatroGame) -> None:
    record = dealt(game, HAND)
    record.score = record.requirement
    game.look()
    take(game, "play 1", "cash_out")
    record.money = 11
    game.look()
    left, lost = shown(game, "reroll_after")  # a reroll costs $5: from $2 of interest to $1
    assert left == pytest.approx(count_log(6))
    assert lost == pytest.approx(1 / 5)
    price = np.expm1(4 * WITH_INSIGHT.view(game.observation, "shop")[0, 0, COLUMNS["shop"].index("price")])
    assert shown(game, "shop_after")[0, 0] == pytest.approx(count_log(11 - round(float(price))))


def test_a_build_that_scores_more_stands_higher_above_its_blinds(game: BalatroGame) -> None:
    game.reset(np.array([5], np.uint64))
    before = shown(game, "build").copy()
    assert before[2] > before[3] > before[5]  # the coming blind asks for less than the boss, who for less than the next
    game.games[0].hand_level[:] = 10
    game.look()
    assert (shown(game, "build") > before).all()


def test_nothing_hidden_comes_in_and_the_old_fields_stay_where_they_are() -> None:
    options = {"seed": 3, "checked": True}
    game = BalatroGame(16, options=Options(helpers=True, insight="all"), **options)
    plain = BalatroGame(16, options=Options(helpers=True), **options)
    player = heuristic_policy("heuristic", "balatro")
    game.reset()
    plain.reset()
    for turn in range(60):
        actions = player.act(plain.observation, plain.legal_mask).actions
        game.step(actions)
        plain.step(actions)
        assert np.array_equal(game.observation[:, :WIDTH], plain.observation)
        assert np.isfinite(game.observation).all()
        assert np.abs(game.observation[:, WIDTH:]).max() <= 10
        before = game.snapshot()
        row = game.observation.copy()
        game.redraw_hidden(np.arange(16), np.arange(16) + turn)
        assert np.array_equal(game.observation, row)
        game.restore(before)
    assert (game.observation[:, WIDTH:] != 0).any(axis=1).mean() > 0.5


def test_each_part_fills_its_own_fields_only() -> None:
    fields = {"cards": {"hand_kin"}, "build": {"build"}, "draws": {"draws"}}
    for part, own in fields.items():
        game = BalatroGame(1, options=Options(helpers=True, insight=part))
        game.reset(np.array([5], np.uint64))
        found = {field.name for field in INSIGHT if WITH_INSIGHT.view(game.observation, field.name).any()}
        take(game, "select")
        found |= {field.name for field in INSIGHT if WITH_INSIGHT.view(game.observation, field.name).any()}
        assert found == own


def test_it_is_chosen_by_name_and_policies_belong_to_what_they_see() -> None:
    assert SPEC.under({"helpers": True}).observation.fingerprint == SPEC.observation.fingerprint
    assert SPEC.under({"helpers": True, "insight": "cards"}).observation.size == WITH_INSIGHT.size
    with pytest.raises(JimbotError, match="Did you mean 'prices'"):
        Options(helpers=True, insight="price")
    with pytest.raises(ValueError, match="add helpers=true"):
        Options(insight="all")


def test_snapshots_fit_whatever_is_shown(game: BalatroGame) -> None:
    plain = BalatroGame(1, options=Options(helpers=True))
    plain.reset(np.array([7], np.uint64))
    game.restore(plain.snapshot())
    assert np.array_equal(game.observation[:, :WIDTH], plain.observation)
    assert "insight" not in str(plain.snapshot()["game"])


def test_the_page_names_every_field_and_column() -> None:
    page = PAGE.read_text()
    for field in INSIGHT:
        assert f"`{field.name}`" in page, field.name
        assert all(column in page for column in COLUMNS[field.name])
