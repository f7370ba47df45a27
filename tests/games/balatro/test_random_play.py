"""What holds in every game, checked over random legal play from every deck, stake and challenge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jimbot.games.balatro.encoding.action_table import INDEX, KIND
from jimbot.games.balatro.rules import decisions
from jimbot.games.balatro.rules.content import CONSUMABLES, JOKERS
from jimbot.games.balatro.rules.state import DEBUFFED, FIRST_PACK_OFFER, MAX_OFFERS, SELECTING_HAND
from tests.games.balatro.roaming import EVERY_START, diverse, help_along, new_game

_CREDIT_CARD, _ANKH = JOKERS.id("j_credit_card"), CONSUMABLES.id("c_ankh")
_PAID = (
    decisions.BUY,
    decisions.BUY_AND_USE,
    decisions.REDEEM,
    decisions.OPEN,
    decisions.REROLL,
    decisions.REROLL_BOSS,
)


def debt_floor(games: np.ndarray) -> np.ndarray:
    """What purchases may leave: 0, and 20 less per active Credit Card."""
    places = np.arange(games["joker_id"].shape[1])[None, :] < games["joker_count"][:, None]
    active = places & (games["joker_id"] == _CREDIT_CARD) & (games["joker_flags"] & DEBUFFED == 0)
    return -20 * active.sum(axis=1)


def uses_ankh(games: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Rows in which Ankh is used: its copy is not asked for a slot, and Eternal jokers do not make room."""
    rows, kinds, index = np.arange(len(games)), KIND[actions], INDEX[actions]
    held = (kinds == decisions.USE) & (games["consumable_id"][rows, np.minimum(index, 31)] == _ANKH)
    place = np.where(kinds == decisions.PICK, FIRST_PACK_OFFER + index, index) % MAX_OFFERS
    offered = np.isin(kinds, (decisions.PICK, decisions.BUY_AND_USE)) & (games["offer_id"][rows, place] == _ANKH)
    return held | offered


def play_and_check(options: dict[str, Any], count: int, steps: int, seed: int) -> int:
    """Plays; after every step the records are sound and nobody got what the rules do not give. Returns games ended."""
    game = new_game(count, seed=seed, **options)
    rng = np.random.default_rng(seed)
    ended = 0
    for step in range(steps):
        help_along(rng, game)
        actions = diverse(rng, game)
        before = game.games.copy()
        floor = debt_floor(before)
        game.step(actions)
        ended += int((game.terminated | game.truncated).sum())
        where = f"{options}, seed {seed}, step {step}"
        after, going_on = game.games, ~(game.terminated | game.truncated)
        assert game.faults() == [], where
        assert game.legal_mask.any(axis=1).all(), where
        assert np.isfinite(game.observation).all(), where
        assert np.isfinite(game.reward).all(), where
        assert (after["hand_level"] >= 1).all(), where
        for what in ("joker", "consumable"):
            grew = going_on & (after[f"{what}_count"] > before[f"{what}_count"])
            fits = (after[f"{what}_count"] <= after[f"{what}_slots"]) | uses_ankh(before, actions)
            assert fits[grew].all(), f"{where}: more {what}s than slots"
        bought = going_on & np.isin(KIND[actions], _PAID) & (after["money"] < before["money"])
        assert (after["money"] >= floor)[bought].all(), f"{where}: bought without money"
        in_round = after["phase"] == SELECTING_HAND
        assert (after["hands_left"] >= 1)[in_round & going_on].all(), where
        assert (after["hand_count"] >= 1)[in_round & going_on].all(), where
    game.close()
    return ended


@pytest.mark.parametrize("number", range(6))
def test_random_legal_play_keeps_every_invariant(number: int):
    """Over 100,000 steps in all six parts."""
    ended = sum(play_and_check(options, 48, 55, seed) for seed, options in enumerate(EVERY_START) if seed % 6 == number)
    assert ended > 0


@pytest.mark.long
@pytest.mark.parametrize("number", range(len(EVERY_START)))
def test_long_random_legal_play_keeps_every_invariant(number: int):
    """Over 1,000,000 steps in all parts."""
    play_and_check(EVERY_START[number], 80, 300, 1000 + number)


@pytest.mark.long
def test_endless_games_reach_scores_beyond_all_numbers():
    game = new_game(64, seed=1, endless=True, step_limit=100_000)
    rng = np.random.default_rng(1)
    for _ in range(1500):
        help_along(rng, game, odds=0.5)
        game.step(diverse(rng, game))
        assert game.faults() == []
        assert np.isfinite(game.observation).all()
    assert game.games["ante"].max() > 12
