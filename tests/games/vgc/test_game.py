"""VGC behind the BatchGame contract: rows, rewards, options, seeds, snapshots and adapters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from jimbot.errors import SnapshotError, UnknownNameError, UsageError
from jimbot.games.checker import check_game, random_legal
from jimbot.games.contract import game_entry, make
from jimbot.games.vgc import fields, orders, rewards, wire, worker
from jimbot.games.vgc.game import VgcGame
from tests.games.vgc.lab import run_jobs, settings


def build(num_envs: int = 4, **options: object) -> VgcGame:
    game = make("vgc", num_envs, seed=1, options=options, checked=True)
    assert isinstance(game, VgcGame)
    return game


@pytest.fixture
def game() -> Iterator[VgcGame]:
    """Self-play at its first decisions."""
    made = build(opponent="self")
    made.reset(np.arange(4, dtype=np.uint64))
    yield made
    made.close()


def test_self_play_keeps_the_contract() -> None:
    check_game("vgc", steps=24, num_envs=3, options={"opponent": "self"})


def test_both_sides_are_rows_and_one_may_wait(game: VgcGame) -> None:
    assert game.num_rows == 8
    assert game.acting.all()
    assert game.legal_mask[:, orders.FIRST_PREVIEW :].all()
    assert not game.legal_mask[:, : orders.ORDERS].any()
    rng = np.random.default_rng(0)
    waited = False
    for _ in range(30):
        game.step(random_legal(rng, game.legal_mask))
        waited |= not game.acting.all()
        idle = ~game.acting
        assert game.legal_mask[idle, 0].all()
        assert not game.legal_mask[idle, 1:].any()
        assert game.acting.reshape(-1, 2).any(axis=1).all(), "somebody must decide in every battle"
    assert waited


def test_self_play_is_a_zero_sum_game(game: VgcGame) -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        game.step(random_legal(rng, game.legal_mask))
        np.testing.assert_allclose(game.reward[0::2], -game.reward[1::2], atol=1e-5)
        over = game.terminated[0::2]
        won = game.final_stats[:, game.spec.episode_stats.index("won")].reshape(-1, 2)
        tied = game.final_stats[:, game.spec.episode_stats.index("tied")].reshape(-1, 2)
        assert ((won.sum(axis=1) + tied[:, 0])[over] == 1).all()


def test_shaping_adds_up_to_the_win_alone_without_discount() -> None:
    game = build(opponent="random", discount=1.0)
    totals = np.zeros((4, len(rewards.TERMS)))
    rng = np.random.default_rng(3)
    seen = 0
    try:
        game.reset()
        for _ in range(60):
            game.step(random_legal(rng, game.legal_mask))
            totals += game.reward_terms
            for row in np.flatnonzero(game.terminated):
                result = 2 * game.final_stats[row, 0] - 1 + game.final_stats[row, 1]
                np.testing.assert_allclose(totals[row], [result, 0, 0, 0], atol=1e-4)
                totals[row] = 0
                seen += 1
    finally:
        game.close()
    assert seen >= 4


def test_the_preset_win_pays_for_nothing_else() -> None:
    game = build(opponent="random", reward="win")
    rng = np.random.default_rng(3)
    try:
        game.reset()
        for _ in range(20):
            game.step(random_legal(rng, game.legal_mask))
            assert not game.reward_terms[:, 1:].any()
            assert not game.reward[~game.terminated].any()
    finally:
        game.close()


def test_rewards_worked_by_hand() -> None:
    before = np.zeros((1, len(wire.COUNTERS)), np.int16)
    before[0, [3, 4]] = 400, 400
    after = before.copy()
    after[0, wire.COUNTERS.index("foe_fainted")] = 1
    after[0, wire.COUNTERS.index("foe_hp")] = 250
    terms = rewards.step_terms(before, after, np.array([False]), np.array([1.0, 0.15, 0.1, 0.03]), 0.5)
    np.testing.assert_allclose(terms, [[0, 0.5 * 0.15, 0.5 * 0.1 * 1.5, 0]], rtol=1e-5)
    after[0, wire.COUNTERS.index("result")] = -1
    terms = rewards.step_terms(after, after, np.array([True]), np.array([1.0, 0.15, 0.1, 0.03]), 0.5)
    np.testing.assert_allclose(terms, [[-1, -0.15, -0.15, 0]], rtol=1e-5)


def test_a_held_row_holds_its_battle(game: VgcGame) -> None:
    hold = np.zeros(8, bool)
    hold[1] = True
    before = game.observation.copy()
    game.step(game.legal_mask.argmax(axis=1), hold=hold)
    np.testing.assert_array_equal(game.observation[:2], before[:2])
    assert (game.observation[2:] != before[2:]).any(axis=1).all()


def test_the_old_format_name_means_the_same_battles() -> None:
    seen = []
    for name in ("gen9vgc2023regc", "gen9vgc2023regulationc"):
        game = build(2, format=name, opponent="random")
        try:
            game.reset(np.array([5, 6], np.uint64))
            game.step(game.legal_mask.argmax(axis=1))
            seen.append(game.observation.copy())
        finally:
            game.close()
    np.testing.assert_array_equal(seen[0], seen[1])


@pytest.mark.parametrize("name", ["gen9vgc2024regg", "gen9vgc2025regi"])
def test_other_formats_with_four_brought_play(name: str) -> None:
    game = build(2, format=name, opponent="random")
    rng = np.random.default_rng(0)
    try:
        game.reset()
        for _ in range(8):
            game.step(random_legal(rng, game.legal_mask))
    finally:
        game.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "gen9nosuchthing"}, "knows no format"),
        ({"format": "gen9randomdoublesbattle"}, "does not fit the action table"),
        ({"format": "gen9ou"}, "does not fit the action table"),
        ({"opponent": "heuristics"}, "Did you mean 'heuristic'"),
        ({"reward": "more"}, "Unknown reward preset"),
        ({"workers": -1}, "workers is -1"),
        ({"deadline": 0}, "deadline is 0"),
        ({"open_team_sheets": "yes"}, "expected true or false"),
        ({"oponent": "random"}, "Did you mean 'opponent'"),
    ],
)
def test_wrong_options_are_told_in_a_sentence(options: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make("vgc", 1, options=options)


def test_a_damaged_snapshot_is_refused_and_changes_nothing(game: VgcGame) -> None:
    saved = game.snapshot()
    before = game.observation.copy()
    for name, value in (
        ("events", np.full((4, 1, 2), 77, np.uint64)),
        ("events", np.zeros((3, 1, 2), np.uint64)),
        ("battle_teams", np.full((4, 2), 9999)),
        ("streams", np.zeros(3, np.uint64)),
        ("game", np.array("vgc v0")),
    ):
        with pytest.raises(SnapshotError):
            game.restore({**saved, name: value})
    np.testing.assert_array_equal(game.observation, before)
    # An order where a team preview was asked for: the story cannot be played again.
    with pytest.raises(SnapshotError, match="cannot be played again"):
        game.restore({**saved, "events": np.zeros((4, 1, 2), np.uint64)})


def test_some_battles_go_back_alone(game: VgcGame) -> None:
    rng = np.random.default_rng(1)
    for _ in range(3):
        game.step(random_legal(rng, game.legal_mask))
    rows = np.array([6, 7, 0, 1])
    saved, expected = game.snapshot(rows), game.observation[rows].copy()
    for _ in range(2):
        game.step(random_legal(rng, game.legal_mask))
    others = game.observation[2:6].copy()
    game.restore(saved, rows)
    np.testing.assert_array_equal(game.observation[rows], expected)
    np.testing.assert_array_equal(game.observation[2:6], others)


def test_a_long_battle_is_cut_off_not_lost() -> None:
    game = build(2, opponent="random", turn_limit=1)
    rng = np.random.default_rng(1)
    try:
        game.reset()
        seen = False
        for _ in range(6):
            game.step(random_legal(rng, game.legal_mask))
            seen |= bool(game.truncated.any())
            assert not game.terminated.any()
        assert seen
        assert game.events["battles_cut_off"] > 0
    finally:
        game.close()


def test_an_action_is_told_with_the_names_of_this_battle(game: VgcGame) -> None:
    first = game.describe_action(0, orders.FIRST_PREVIEW)
    assert first.startswith("lead ")
    game.step(game.legal_mask.argmax(axis=1))
    told = {game.describe_action(0, int(action)) for action in np.flatnonzero(game.legal_mask[0])}
    assert len(told) == game.legal_mask[0].sum(), "different actions are told differently"
    assert any("→" in text for text in told)
    assert "Turn 1" in game.describe(0)


def test_the_board_shows_both_sides(game: VgcGame) -> None:
    from rich.console import Console

    from jimbot.games.drawing import picture

    game.step(game.legal_mask.argmax(axis=1))
    console = Console(width=140, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(picture(game_entry("vgc"), game))
    text = console.export_text()
    assert "opponent" in text
    assert "you" in text
    assert "100%" in text
    for place in (0, 1):
        assert (
            fields.vocabulary()["species"][int(game.features(0)[fields.OBSERVATION.offsets["species"] + place])] in text
        )


def test_the_log_is_the_spectators(game: VgcGame) -> None:
    game.step(game.legal_mask.argmax(axis=1))
    lines = game.log_lines(0)
    assert any(line.startswith("|switch|p1a") for line in lines)
    assert not any(line.startswith("|split|") for line in lines)
    assert all("/100" in line for line in lines if line.startswith("|switch|")), "HP in percent only"


def test_the_vocabulary_is_the_simulators_own() -> None:
    import json

    (built,) = run_jobs({"job": "vocabulary"})
    assert built == json.loads(Path(fields.VOCABULARY_FILE).read_text(encoding="utf-8"))


def test_a_worker_with_other_tables_is_refused() -> None:
    greeting = {
        "protocol": wire.PROTOCOL, "version": "0.11.11", "row_bytes": wire.row_type(fields.OBSERVATION.size).itemsize,
        "mask_bytes": wire.MASK_BYTES, "counters": list(wire.COUNTERS), "vocabulary": "x", "teams": 96,
    }  # fmt: skip
    worker.check_greeting(greeting, settings(), "x")
    for name, value in (("vocabulary", "y"), ("version", "0.11.9"), ("row_bytes", 1), ("protocol", 0)):
        with pytest.raises(Exception, match=name):
            worker.check_greeting({**greeting, name: value}, settings(), "x")


def test_frames_come_back_whole_however_they_arrive() -> None:
    frames = wire.frame(wire.Kind.ASK, 7, b"abc") + wire.frame(wire.Kind.ROWS, 8, b"")
    received = bytearray()
    found = []
    for byte in frames:
        received.append(byte)
        while (whole := wire.take_frame(received)) is not None:
            found.append(whole)
    assert found == [(wire.Kind.ASK, 7, b"abc"), (wire.Kind.ROWS, 8, b"")]


def test_gymnasium_plays_against_an_opponent_by_name() -> None:
    import gymnasium

    import jimbot.envs  # noqa: F401 - registers the environments

    env = gymnasium.make("jimbot/VGC-v1", opponent="random")
    try:
        _, info = env.reset(seed=3)
        ended = False
        for _ in range(80):
            _, _, terminated, truncated, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
            if ended := terminated or truncated:
                break
        assert ended
        assert "won" in info["stats"]
    finally:
        env.close()


def test_pettingzoo_has_two_agents_in_self_play() -> None:
    parallel = pytest.importorskip("jimbot.envs.pettingzoo_env", exc_type=Exception)
    env = parallel.make_parallel_env("vgc", opponent="self")
    try:
        observations, _ = env.reset(seed=1)
        assert list(observations) == ["player_0", "player_1"]
        for _ in range(4):
            actions = {agent: int(np.flatnonzero(seen["action_mask"])[0]) for agent, seen in observations.items()}
            observations, *_ = env.step(actions)
    finally:
        env.close()


def test_an_option_that_is_gone_is_an_unknown_one() -> None:
    with pytest.raises(UnknownNameError, match="option of game vgc"):
        make("vgc", 1, options={"insight": "all"})
