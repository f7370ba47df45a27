"""Some games begin where earlier ones came to a milestone, with new luck; what is judged are whole games."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from jimbot.errors import SettingsError
from jimbot.games import make
from jimbot.games.balatro.game import BalatroGame
from jimbot.games.checker import random_legal
from jimbot.training.curriculum.deep_starts import KEPT, DeepStartGame
from jimbot.training.settings.record import load_settings

ROWS = 4


def build(share: float) -> DeepStartGame:
    game = DeepStartGame(make("balatro", ROWS, seed=3, checked=True), share)
    game.reset()
    return game


def records(game: DeepStartGame) -> np.ndarray:
    return cast(BalatroGame, game.game).games


def advance(game: DeepStartGame, rng: np.random.Generator) -> None:
    game.step(random_legal(rng, game.legal_mask))


def lose(game: DeepStartGame, row: int) -> None:
    """The last hand of the row's first round is a card that will not do."""
    select, play = (game.spec.actions.index(label) for label in ("select", "play 1"))
    hold = np.arange(ROWS) != row
    if game.legal_mask[row, select]:
        game.step(np.full(ROWS, select), hold)
    records(game)["hands_left"][row] = 1
    records(game)["requirement"][row] = 1e9
    game.step(np.full(ROWS, play), hold)
    assert game.terminated[row]


def test_a_place_is_kept_when_a_milestone_is_reached_and_games_begin_there() -> None:
    game, rng = build(0.99), np.random.default_rng(1)
    records(game)["ante"][2] = 5  # as if it had been won
    money = int(records(game)["money"][2])
    advance(game, rng)
    streams = cast(Any, game.game).arrays.streams.copy()
    lose(game, 0)
    assert game.whole[0], "the game that ended was played from its beginning"
    assert records(game)["ante"][0] == 5
    assert records(game)["money"][0] <= money + 25
    assert np.array_equal(cast(Any, game.game).arrays.streams, streams), "which games come next stays with the row"
    lose(game, 0)
    assert not game.whole[0]
    assert game.whole[1:].all()


def test_without_luck_games_begin_as_ever() -> None:
    game, rng = build(1e-9), np.random.default_rng(1)
    records(game)["ante"][2] = 5
    advance(game, rng)
    lose(game, 0)
    assert records(game)["ante"][0] == 1
    assert not game.legal_mask[0, game.spec.actions.index("play 1")]


def test_only_the_newest_places_are_kept() -> None:
    game, rng = build(0.5), np.random.default_rng(1)
    for _ in range(KEPT + 3):
        records(game)["ante"][2] = 1
        advance(game, rng)
        records(game)["ante"][2] = 3
        advance(game, rng)
    assert {milestone: len(places) for milestone, places in game._places.items()} == {3: KEPT}


def test_a_snapshot_goes_on_exactly() -> None:
    game, rng = build(0.7), np.random.default_rng(1)
    records(game)["ante"][[1, 2]] = 2, 6
    advance(game, rng)
    lose(game, 0)
    saved = game.snapshot()
    other = build(0.7)
    other.restore(saved)
    for row in (3, 0, 1, 0, 3):
        for one in (game, other):
            lose(one, row)
        assert np.array_equal(game.observation, other.observation)
        assert np.array_equal(game.whole, other.whole)
    assert game._deep.any()


def test_begin_deep_or_end_early() -> None:
    with pytest.raises(SettingsError, match="there is a curriculum"):
        load_settings({"game": "balatro", "deep_starts": 0.2, "use_curriculum": True})
