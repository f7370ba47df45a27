"""Games end in words, on the table after their last move."""

from __future__ import annotations

import re

import numpy as np
import pytest

from jimbot.games import game_entry, make
from jimbot.games.hackmatrix.build import to_dict
from jimbot.games.narration import ended_in_words
from jimbot.policies.contract import decide
from jimbot.policies.heuristics import RandomPolicy, heuristic_policy
from jimbot.policies.players import find_player
from jimbot.policies.win_chances import fit, win_chances
from tests.conftest import needs

WORDS = {
    "balatro": r"Lost to (The \w+|the \w+ Blind) in ante \d+, [\d,]+ of [\d,]+ points; \d+ blinds beaten",
    "hackmatrix": r"Lost in stage \d of 8.*, no HP left; score \d+, \d+ turns in its last stage",
    "probe": r"Over, matches \d",
}

BATTLES = [
    (0, r"Won after \d+ turns; 4 of theirs and [0-3] of ours fainted"),
    (1, r"Lost after \d+ turns; [0-3] of theirs and 4 of ours fainted"),
]


def played(game_id: str):
    """A batch of one game right after the step that ended it."""
    game, policy = make(game_id, 1, seed=1), RandomPolicy()
    game.reset(np.array([7], np.uint64))
    while True:
        game.step(decide(policy, game, game.acting, False, np.random.default_rng(3)).actions)
        if game.terminated[0] or game.truncated[0]:
            return game


@pytest.mark.parametrize(("winner", "words"), BATTLES)
def test_a_battle_ends_in_words(winner: int, words: str) -> None:
    entry = game_entry("vgc")
    needs("vgc")
    assert entry.two_sides is not None
    players = [heuristic_policy(name, "vgc") for name in ("heuristic", "random")]
    game, luck = make("vgc", 1, seed=1, options=dict(entry.two_sides.options)), np.random.default_rng(3)
    try:
        game.reset(np.array([7], np.uint64))
        for _ in range(500):
            sides = players if winner == 0 else players[::-1]
            actions = np.zeros(2, np.int64)
            for row in np.flatnonzero(game.acting).tolist():
                actions[row] = decide(sides[row], game, None, True, luck, rows=np.array([row])).actions[0]
            game.step(actions)
            if game.terminated[0] or game.truncated[0]:
                break
        assert game.final_stats[0, game.spec.episode_stats.index("won")] == (winner == 0), "another seed is needed"
        assert re.fullmatch(words, ended_in_words(entry, game)), ended_in_words(entry, game)
    finally:
        game.close()


@pytest.mark.parametrize("game_id", WORDS)
def test_a_game_ends_in_words(game_id: str) -> None:
    game = played(game_id)
    assert re.fullmatch(WORDS[game_id], ended_in_words(game_entry(game_id), game))


def test_the_last_table_is_that_of_the_game_that_ended() -> None:
    game = played("balatro")
    board = game.final_board(0)
    assert board is not None
    g = board.games[0]
    stats = dict(zip(game.spec.episode_stats, game.final_stats[0].tolist(), strict=True))
    assert (g.ante, g.money, g.hands_played) == (stats["ante"], stats["money"], stats["hands_played"])
    assert g.hands_left == 0
    assert game.games[0].rounds == 0, "the batch has gone on to the next game"
    game = played("hackmatrix")
    board = game.final_board(0)
    assert board is not None
    assert to_dict(board.row_state(0))["player"]["hp"] <= 0
    assert board.describe(0) != game.describe(0)


def test_chances_rise_with_what_was_measured() -> None:
    rng = np.random.default_rng(0)
    values = rng.random(20_000)
    won = rng.random(20_000) < values**2
    levels, chances = fit(values, won)
    assert chances == sorted(chances)
    assert np.abs(np.interp([0.2, 0.5, 0.8], levels, chances) - np.array([0.04, 0.25, 0.64])).max() < 0.05


OTHERWISE = {"balatro": {"deck": "black"}, "hackmatrix": {"profile": "reference"}, "vgc": {"opponent": "random"}}


@pytest.mark.parametrize("game_id", OTHERWISE)
def test_shipped_policies_know_their_chances_and_only_as_they_were_measured(game_id: str) -> None:
    player = find_player(game_id)
    table = win_chances(player)
    assert table is not None, f"measure it again: python -m jimbot.evaluation.win_chances {game_id}"
    assert table.error < 0.08
    assert table.chances == tuple(sorted(table.chances))
    assert table.against == ("heuristic" if game_id == "vgc" else "")
    assert win_chances(player.under({**player.options, **OTHERWISE[game_id]})) is None
    assert win_chances(find_player("random", game=game_id)) is None
