"""The probe game is what its docstring says: worth `horizon` with the mask, hopeless without."""

from __future__ import annotations

import numpy as np
import pytest

from jimbot.errors import UsageError
from jimbot.games import make
from jimbot.games.checker import random_legal
from jimbot.games.probe import COLOURS, DOORS, Options
from jimbot.games.seeds import bank_seeds

GAMES = 2_000
HORIZON = Options().horizon


def returns(choose, checked: bool = True) -> np.ndarray:
    """The return of each of GAMES full games under `choose(observation, legal_mask)`."""
    game = make("probe", GAMES, checked=checked)
    game.reset(bank_seeds("held-out", GAMES))
    total = np.zeros(GAMES)
    for step in range(HORIZON):
        game.step(choose(game.observation, game.legal_mask))
        total += game.reward
        assert game.terminated.all() == (step == HORIZON - 1)
    return total


def shown_colour(observation: np.ndarray) -> np.ndarray:
    return observation[:, : len(COLOURS)].argmax(axis=1)


def test_with_the_mask_every_step_pays() -> None:
    def choose(observation: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
        return legal_mask.argmax(axis=1) + shown_colour(
            observation
        )  # first colour of the open door, then the right one

    assert (returns(choose) == HORIZON).all()


def test_random_legal_play_finds_the_colour_by_chance() -> None:
    rng = np.random.default_rng(0)
    mean = returns(lambda observation, legal_mask: random_legal(rng, legal_mask)).mean()
    assert mean == pytest.approx(HORIZON / len(COLOURS), abs=0.15)


def test_without_the_mask_no_door_is_better_than_another() -> None:
    """The best any player without the mask can do is the right colour of some door: `horizon / DOORS` on average."""
    for door in (0, DOORS - 1):
        mean = returns(lambda seen, _, door=door: door * len(COLOURS) + shown_colour(seen), checked=False).mean()
        assert mean == pytest.approx(HORIZON / DOORS, abs=0.1)


def test_the_observation_says_nothing_about_the_open_door() -> None:
    """Chi-square of door against colour, turn by turn: independence within five deviations."""
    game = make("probe", GAMES)
    game.reset()
    counts = np.zeros((HORIZON, len(COLOURS), DOORS))
    for step in range(HORIZON):
        door = game.spec.actions.block_of[game.legal_mask.argmax(axis=1)]
        np.add.at(counts[step], (shown_colour(game.observation), door), 1)
        game.step(game.legal_mask.argmax(axis=1))
    expected = GAMES / (len(COLOURS) * DOORS)
    chi_square = ((counts - expected) ** 2 / expected).sum()
    freedom = HORIZON * (len(COLOURS) * DOORS - 1)
    assert abs(chi_square - freedom) < 5 * np.sqrt(2 * freedom)


def test_exactly_the_colours_of_one_door_are_legal() -> None:
    game = make("probe", 64)
    game.reset()
    assert (game.legal_mask.sum(axis=1) == len(COLOURS)).all()
    assert (game.legal_mask.reshape(64, DOORS, len(COLOURS)).all(axis=2).sum(axis=1) == 1).all()


def test_words_name_the_paying_side() -> None:
    game = make("probe", 1)
    game.reset()
    colour = COLOURS[int(shown_colour(game.observation)[0])]
    door = int(game.spec.actions.block_of[game.legal_mask[0].argmax()])
    assert game.describe(0) == f"turn 0: the {colour} side of door {door} pays"
    assert game.describe_action(0, game.spec.actions.index("door 3 gold")) == "door 3 gold"


@pytest.mark.parametrize(
    ("options", "sentence"), [({"horizon": 0}, "horizon is 0"), ({"step_limit": -1}, "step_limit")]
)
def test_senseless_options_are_refused(options: dict[str, int], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        make("probe", options=options)


def test_an_absurd_number_of_games_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match=r"num_envs is 10,000,000,000; expected at most 1,048,576 games at once"):
        make("probe", 10_000_000_000)
