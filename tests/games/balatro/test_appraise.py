"""The shop's helper: what an offer would do for typical hands, by the real rules and without a look at the future."""

from __future__ import annotations

import numpy as np
import pytest

from jimbot.games.balatro.encoding import batch_kernel
from jimbot.games.balatro.game import SPEC, BalatroGame
from jimbot.games.balatro.options import Options
from jimbot.games.balatro.rules.content import CONSUMABLES, JOKERS
from jimbot.games.balatro.rules.state import OFFER_CONSUMABLE, OFFER_JOKER

ACTIONS = SPEC.actions


@pytest.fixture(scope="module")
def game() -> BalatroGame:
    game = BalatroGame(1, options=Options(helpers=True), checked=True)
    game.reset(np.array([5], np.uint64))
    return game


def in_shop(game: BalatroGame) -> np.record:
    """The game in its first shop, the blind won by decree."""
    game.reset(np.array([5], np.uint64))
    game.step(np.array([ACTIONS.index("select")]))
    game.games[0].score = game.games[0].requirement
    game.look()
    game.step(np.array([ACTIONS.index("play 1")]))
    game.step(np.array([ACTIONS.index("cash_out")]))
    return game.games[0]


def offer(record: np.record, row: int, joker: str = "", planet: str = "") -> None:
    record.offer_kind[row] = OFFER_JOKER if joker else OFFER_CONSUMABLE
    record.offer_id[row] = JOKERS.id(joker) if joker else CONSUMABLES.id(planet)
    record.offer_edition[row] = record.offer_flags[row] = 0


def worth(game: BalatroGame, field: str, row: int) -> tuple[float, float]:
    typical, best = SPEC.observation.view(game.observation, field)[0, row]
    return float(typical), float(best)


def test_a_joker_that_multiplies_by_three_is_worth_log_three(game: BalatroGame) -> None:
    record = in_shop(game)
    offer(record, 0, joker="j_cavendish")
    offer(record, 1, joker="j_golden")
    game.look()
    assert worth(game, "shop_worth", 0) == pytest.approx((np.log(3), np.log(3)), abs=0.02)
    assert worth(game, "shop_worth", 1) == (0.0, 0.0), "a joker that only pays"


def test_a_planet_is_worth_something_for_its_own_hand_only(game: BalatroGame) -> None:
    record = in_shop(game)
    offer(record, 0, planet="c_jupiter")
    offer(record, 1, planet="c_ceres")
    game.look()
    typical, _ = worth(game, "shop_worth", 0)
    assert 0 < typical < 0.3
    assert worth(game, "shop_worth", 1)[0] == 0, "no typical hand is a Flush House"


def test_what_a_held_joker_adds_is_what_is_lost_without_it(game: BalatroGame) -> None:
    record = in_shop(game)
    offer(record, 0, joker="j_cavendish")
    record.money = 50
    game.look()
    game.step(np.array([ACTIONS.index("buy 1")]))
    assert worth(game, "joker_worth", 0) == pytest.approx((np.log(3), np.log(3)), abs=0.02)


def test_a_joker_for_one_kind_of_hand_counts_as_often_as_that_hand_is_played(game: BalatroGame) -> None:
    record = in_shop(game)
    offer(record, 0, joker="j_tribe")  # x2 for a Flush
    game.look()
    seldom, _ = worth(game, "shop_worth", 0)
    record.hand_played[6] = 30  # Flush
    game.look()
    often, _ = worth(game, "shop_worth", 0)
    assert 0 < seldom < often < np.log(2)


def test_looking_leaves_the_game_as_it_was_and_no_future_shows(game: BalatroGame) -> None:
    record = in_shop(game)
    offer(record, 0, joker="j_misprint")
    before = record.tobytes()
    game.look()
    assert record.tobytes() == before
    row = game.observation.copy()
    game.redraw_hidden(np.array([0]), np.array([99], np.uint64))
    np.testing.assert_array_equal(game.observation, row)


def test_without_helpers_nothing_is_written() -> None:
    game = BalatroGame(1, options=Options(helpers=False))
    in_shop(game)
    assert not SPEC.observation.view(game.observation, "shop_worth").any()
    assert game.arrays.settings[batch_kernel.SETTINGS.index("helpers")] == 0
