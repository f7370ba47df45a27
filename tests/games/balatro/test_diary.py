"""The diary counts what really happened, and a game told in words is the game that was played."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from jimbot.games.balatro.game import SPEC, BalatroGame
from jimbot.games.balatro.options import Options
from jimbot.games.balatro.view.diary import BalatroDiary, cleared, narrate
from jimbot.games.narration import Event
from jimbot.policies.heuristics import RandomPolicy

STATS = {name: index for index, name in enumerate(SPEC.episode_stats)}


def played(
    seeds: list[int], easy_steps: int, options: Options = Options(step_limit=400)
) -> tuple[list[Event], dict[int, np.ndarray], dict[int, bool]]:
    """Random games, each to its end. For `easy_steps` steps every blind wants one point only."""
    game, policy = BalatroGame(len(seeds), options=options), RandomPolicy(3)
    game.reset(np.array(seeds, np.uint64))
    diary = BalatroDiary(game)
    over, events, stats, cut = np.zeros(len(seeds), bool), [], {}, {}
    for step in range(options.step_limit + 1):
        if step < easy_steps:
            game.games["requirement"][:] = 1
        actions = policy.act(game.observation, game.legal_mask).actions
        events += diary.before(actions, ~over)
        game.step(actions, hold=over)
        ended = (game.terminated | game.truncated) & ~over
        events += diary.ended(np.flatnonzero(ended))
        for row in np.flatnonzero(ended).tolist():
            stats[row], cut[row] = game.final_stats[row].copy(), bool(game.truncated[row])
        over |= ended
        if over.all():
            break
    return events, stats, cut


@pytest.fixture(scope="module")
def games() -> tuple[list[Event], dict[int, np.ndarray], dict[int, bool]]:
    return played([11, 12, 13, 14], easy_steps=120)


def test_every_hand_is_counted_the_last_one_too(games) -> None:
    events, stats, _ = games
    hands = Counter(event.row for event in events if event.topic == "hands")
    assert hands == {row: int(found[STATS["hands_played"]]) for row, found in stats.items()}


def test_lost_runs_end_once_and_others_never(games) -> None:
    events, stats, cut = games
    ends = Counter(event.row for event in events if event.topic == "ends")
    lost = {row for row, found in stats.items() if not found[STATS["won"]] and not cut[row]}
    assert ends == dict.fromkeys(lost, 1)
    assert lost, "easy blinds do not last for ever"


def test_bosses_beaten_are_the_antes_gone_by(games) -> None:
    events, stats, _ = games
    beaten = Counter(event.row for event in events if event.topic == "bosses" and event.success)
    assert beaten.total() > 0
    for row, found in stats.items():
        assert beaten[row] >= found[STATS["ante"]] - 1


def test_what_is_taken_has_a_name_and_a_place_on_the_ladder(games) -> None:
    events, stats, _ = games
    taken = [event for event in events if event.topic in ("jokers", "consumables", "vouchers", "packs")]
    assert {event.topic for event in taken} >= {"packs"}
    for event in taken:
        assert event.name
        assert 1 <= event.standing <= stats[event.row][STATS["blinds_cleared"]]


def test_a_game_is_told_as_it_was_played() -> None:
    policy = RandomPolicy(5)
    game = BalatroGame(1)
    game.reset(np.array([77], np.uint64))
    actions = []
    while not actions or not (game.terminated[0] or game.truncated[0]):
        actions.append(int(policy.act(game.observation, game.legal_mask).actions[0]))
        game.step(np.array(actions[-1:]))
    game.reset(np.array([77], np.uint64))
    lines = narrate(game, actions)
    assert lines[0].chapter == "Ante 1 · Small Blind"
    assert lines[-1].effects[-1] == "the run is lost"
    assert all(line.text for line in lines)


def test_cleared_is_the_statistic() -> None:
    game = BalatroGame(2)
    game.reset(np.array([1, 2], np.uint64))
    assert cleared(game.games).tolist() == [0, 0]
    game.step(np.full(2, SPEC.actions.index("select")))
    assert cleared(game.games).tolist() == [0, 0]
    game.games["requirement"][:] = 1
    game.step(np.full(2, SPEC.actions.index("play 1")))
    assert cleared(game.games).tolist() == [1, 1]
