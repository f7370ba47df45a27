"""Balatro behind the BatchGame contract: seeds, snapshots, hidden information, options, and what it refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jimbot.errors import IllegalActionError, SnapshotError, UnknownNameError, UsageError
from jimbot.games import make
from jimbot.games.balatro.encoding import batch_kernel
from jimbot.games.balatro.encoding.action_table import ACTIONS
from jimbot.games.balatro.encoding.fields import COLUMNS, OBSERVATION
from jimbot.games.balatro.game import SPEC, BalatroGame
from jimbot.games.balatro.options import Options
from jimbot.games.balatro.rules import state
from jimbot.games.balatro.rules.chance.streams import SEED_COUNT, seed_text
from jimbot.games.balatro.rules.content import BLINDS, CHALLENGES, DECKS, HANDS, JOKERS
from jimbot.games.checker import check_game, random_legal
from jimbot.games.seeds import bank_of, bank_seeds, residue, split
from jimbot.games.threads import thread_count
from tests.games.balatro.hostile import complaints
from tests.games.balatro.roaming import EVERY_START, digest, new_game, roam

REPOSITORY = Path(__file__).resolve().parents[3]


def text_of(game: BalatroGame, row: int = 0) -> str:
    record = game.games[row]
    return bytes(record.seed[: record.seed_length]).decode()


# --- seeds ---


def test_a_seed_number_is_the_games_own_seed_in_base_35():
    game = make("balatro", 3)
    game.reset(np.array([0, 34, SEED_COUNT + 35], np.uint64))
    assert [text_of(game, row) for row in range(3)] == ["11111111", "1111111Z", "11111121"]
    assert seed_text(34) == text_of(game, 1)


def test_restarts_never_play_a_text_that_judges():
    """Training draws from numbers whose own bank is train, and judging numbers are their own remainder."""
    game = new_game(512, seed=5)
    drawn = {int(seed) for seed in game.seeds}
    for _ in range(20):
        game.reset()
        drawn |= {int(seed) for seed in game.seeds}
    assert len(drawn) == 512 * 21
    assert all(seed < SEED_COUNT and bank_of(seed) == "train" for seed in drawn)
    assert (bank_seeds("held-out", 5000) < SEED_COUNT).all()


def test_the_compiled_bank_is_the_one_of_all_games():
    numbers = np.random.default_rng(1).integers(0, SEED_COUNT, 500)
    expected = residue(*split(numbers.astype(np.uint64)))
    found = [
        getattr(batch_kernel.bank_residue, "py_func", batch_kernel.bank_residue)(int(number)) for number in numbers
    ]
    assert found == expected.tolist()


def test_a_fixed_text_seed_is_played_every_time():
    game = new_game(2, seed_text="4wax5m4d")
    first = game.observation.copy()
    assert text_of(game) == "4WAX5M4D"
    game.reset()
    assert np.array_equal(game.observation, first)


def test_the_same_seeds_and_actions_give_the_same_games_on_any_number_of_threads(monkeypatch):
    seen = []
    for threads in ("1", "3"):
        monkeypatch.setenv("JIMBOT_THREADS", threads)
        game = new_game(256, seed=2)
        for _ in roam(game, 30, seed=2):
            pass
        assert game.workers == int(threads)
        seen.append((game.games.tobytes(), game.observation.tobytes(), game.legal_mask.tobytes()))
        game.close()
    assert seen[0] == seen[1]


# --- the record ---


def test_a_game_needs_at_most_16_kilobytes():
    assert state.BYTES_PER_GAME <= 16 * 1024


def test_a_snapshot_continues_exactly():
    game = new_game(16, seed=1)
    for _ in roam(game, 40, seed=1):
        pass
    saved = {name: part.copy() for name, part in game.snapshot().items()}
    for _ in roam(game, 30, seed=7):
        pass
    after = game.games.tobytes(), game.observation.tobytes()
    other: Any = make("balatro", 16, seed=99)
    other.restore(saved)
    for _ in roam(other, 30, seed=7):
        pass
    assert (other.games.tobytes(), other.observation.tobytes()) == after


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("joker_count", 200), ("hand_count", -1), ("phase", 9), ("boss", 99), ("deck", 40), ("stake", 0),
        ("pile_count", 51), ("enhancement_count", 7), ("selected", 2**63), ("grabbed", 3), ("hand_level", 0),
        ("card_count", 53), ("score", np.nan), ("seed_length", 9), ("win_ante", 0), ("orbital_hand", 12),
        ("idol_rank", 0), ("ancient_suit", 4), ("pack_phase", 4), ("blind_state", 5),
    ],
)  # fmt: skip
def test_a_damaged_snapshot_is_refused_in_one_sentence(field, value):
    game = new_game(4, seed=1)
    saved = game.snapshot()
    saved["records"].view(state.GAME_DTYPE)[2, 0][field] = value
    before = game.games.tobytes()
    with pytest.raises(SnapshotError, match="The snapshot is damaged: game 2 ") as refused:
        game.restore(saved)
    assert str(refused.value).count(".") == 2
    assert game.games.tobytes() == before


@pytest.mark.parametrize("index", [-1, 2])
def test_a_grabbed_card_that_is_not_there_is_refused(index):
    game = joker_game("j_joker", "j_todo_list")
    game.games["grabbed"], game.games["grabbed_index"] = state.GRABBED_JOKER, 1
    assert not game.faults()
    game.games["grabbed_index"] = index
    assert game.faults() == ["Game 0 has chosen or grabbed a card that is not there"]


@pytest.mark.parametrize("hand", [-1, len(HANDS)])
def test_a_to_do_list_wants_a_hand_that_exists_also_on_sale(hand):
    game = joker_game("j_todo_list")
    game.games["joker_counter"][0, 0] = hand
    assert game.faults() == ["Game 0 holds a joker or consumable that does not exist"]
    game = joker_game()
    game.games["shop_count"], game.games["offer_kind"][0, 0] = 1, state.OFFER_JOKER
    game.games["offer_id"][0, 0], game.games["offer_counter"][0, 0] = JOKERS.id("j_todo_list"), hand
    assert game.faults() == ["Game 0 offers something that does not exist"]


def test_a_state_without_a_most_played_hand_marks_none():
    game = new_game(1)
    first, columns = OBSERVATION.span("hands").start, COLUMNS["hands"]
    mark = first + columns.index("most_played") + len(columns) * int(game.games["most_played_hand"][0])
    before = game.observation[0].copy()
    assert before[mark] == 1
    game.games["most_played_hand"] = -1
    game.look()
    assert np.flatnonzero(game.observation[0] != before).tolist() == [mark]


def joker_game(*keys: str) -> BalatroGame:
    """A game that holds some jokers."""
    game = new_game(1)
    game.games["joker_count"] = len(keys)
    game.games["joker_id"][0, : len(keys)] = [JOKERS.id(key) for key in keys]
    return game


def test_no_field_of_a_record_can_be_set_to_break_the_rules():
    wrong, refused = complaints()
    assert not wrong
    assert refused > 1000


def test_a_run_reports_the_points_of_all_its_hands_also_after_a_snapshot():
    game = new_game(4)
    luck = np.random.default_rng(3)
    counted, ended = np.zeros(4), {}
    saved = None
    for turn in range(400):
        before = game.games["score"].copy()
        game.step(np.where(game.legal_mask, luck.random(game.legal_mask.shape), -1).argmax(axis=1))
        over = game.terminated | game.truncated
        counted += np.where(over, 0, np.maximum(0, game.games["score"] - before))
        for row in np.flatnonzero(over):
            # The last hand of a lost run is not seen from outside: its round is over already.
            got = dict(zip(game.spec.episode_stats, game.final_stats[row].tolist(), strict=True))
            ended.setdefault(int(row), (got, counted[row]))
            counted[row] = 0
        if turn == 5:
            saved = game.snapshot()
            game = new_game(4, seed=9)
            game.restore(saved)
    assert len(ended) == 4
    for got, seen in ended.values():
        assert seen <= got["score"] + 1 <= seen + 300  # the blind that was lost wants 300
        assert got["score_log10"] == pytest.approx(np.log10(1 + got["score"]), abs=1e-5)
    assert any(seen > 0 for _, seen in ended.values())


def test_a_snapshot_from_before_points_were_counted_is_taken():
    game = new_game(4)
    saved = game.snapshot()
    del saved["points"]
    game.restore(saved)
    assert (game.snapshot()["points"] == 0).all()


def test_a_foreign_snapshot_is_refused_in_one_sentence():
    game = new_game(4)
    with pytest.raises(SnapshotError, match="this game is 'balatro v"):
        game.restore(new_game(4, stake="gold").snapshot())
    with pytest.raises(SnapshotError, match="'records' does not fit"):
        game.restore(new_game(3).snapshot())
    with pytest.raises(SnapshotError, match="nothing known"):
        game.restore({})


def test_noise_in_a_snapshot_never_gets_in():
    game = new_game(8, seed=1)
    for _ in roam(game, 30, seed=1):
        pass
    rng = np.random.default_rng(3)
    saved = game.snapshot()
    refused = 0
    for _ in range(300):
        noisy = dict(saved, records=saved["records"].copy())
        places = rng.integers(0, state.BYTES_PER_GAME, 40)
        noisy["records"][3, places] = rng.integers(0, 256, 40)
        try:
            game.restore(noisy)
        except SnapshotError:
            refused += 1
        else:  # noise that means nothing, or a sound game: then it plays on
            assert not game.faults()
    assert refused > 100


# --- hidden information ---


@pytest.mark.parametrize("options", [{}, {"challenge": "xray"}, {"deck": "erratic", "helpers": True}], ids=str)
def test_redealing_the_hidden_changes_nothing_a_player_can_see(options):
    game = new_game(32, seed=6, **options)
    rng = np.random.default_rng(6)
    rows = np.arange(32)
    for step, _ in enumerate(roam(game, 100, seed=6)):
        if step % 5:
            continue
        observation, mask, saved = game.observation.copy(), game.legal_mask.copy(), game.snapshot()
        game.redraw_hidden(rows, rng.integers(0, 2**63, 32).astype(np.uint64))
        assert np.array_equal(game.observation, observation)
        assert np.array_equal(game.legal_mask, mask)
        assert game.faults() == []
        assert not np.array_equal(game.games["pile"], saved["records"].view(state.GAME_DTYPE)[:, 0]["pile"])
        game.restore(saved)


def play_boss(game: BalatroGame, boss: str) -> None:
    """Every game that can choose its blind now plays this one."""
    game.games["boss"], game.games["on_deck"] = BLINDS.id(boss), 2
    game.look()
    select = ACTIONS.index("select")
    game.step(np.full(game.num_envs, select), hold=~game.legal_mask[:, select])


@pytest.mark.parametrize("boss", ["bl_house", "bl_mark", "bl_wheel", "bl_final_acorn", "bl_final_bell"])
def test_under_bosses_that_hide_cards_redealing_shows_nothing(boss):
    game = new_game(64, seed=8)
    for _ in roam(game, 60, seed=8):
        pass
    play_boss(game, boss)
    observation, mask = game.observation.copy(), game.legal_mask.copy()
    hands = game.games["hand"].copy()
    game.redraw_hidden(np.arange(64), np.arange(64, dtype=np.uint64))
    assert np.array_equal(game.observation, observation)
    assert np.array_equal(game.legal_mask, mask)
    if boss == "bl_house":
        hidden = (np.take_along_axis(game.games["card_flags"], hands, axis=1) & state.CARD_FACE_DOWN).any()
        assert hidden
        assert not np.array_equal(game.games["hand"], hands)


def test_the_future_is_another_one_after_redealing():
    game = new_game(1, seed=3)
    saved = game.snapshot()
    select = np.array([ACTIONS.index("select")])
    hands = set()
    for seed in range(5):
        game.restore(saved)
        game.redraw_hidden(np.array([0]), np.array([seed], np.uint64))
        game.step(select)
        hands.add(game.games["hand"][0, :8].tobytes())
    assert len(hands) == 5


@pytest.mark.parametrize("boss", ["", "bl_house", "bl_mark", "bl_wheel", "bl_final_acorn"])
def test_what_was_hidden_before_redealing_leaves_no_trace(boss):
    """Two games that differ in what nobody sees become one: the pile, face-down cards and face-down jokers."""
    game = new_game(32, seed=11)
    for _ in roam(game, 40, seed=11):
        pass
    if boss:
        play_boss(game, boss)
    saved, rows, dealt = game.snapshot(), np.arange(32), []
    for before in (1, 2):
        game.restore(saved)
        game.redraw_hidden(rows, np.full(32, before, np.uint64))
        hidden = [game.games[name].copy() for name in ("hand", "pile", "joker_id")]
        game.redraw_hidden(rows, rows.astype(np.uint64))
        dealt.append((hidden, [lying(record) for record in game.games]))
    assert any(not np.array_equal(*pair) for pair in zip(dealt[0][0], dealt[1][0], strict=True))
    assert dealt[0][1] == dealt[1][1]


def lying(record: Any) -> tuple[list[int], ...]:
    """What lies where."""
    pile, hand, jokers = record.pile[: record.pile_count], record.hand[: record.hand_count], record.joker_id
    return pile.tolist(), hand.tolist(), jokers[: record.joker_count].tolist(), record.card_flags[hand].tolist()


# --- endings ---


def test_a_win_ends_the_game_unless_it_is_endless():
    for endless in (False, True):
        game = new_game(1, endless=endless)
        record = game.games[0]
        record.ante, record.on_deck = 8, 2
        game.look()
        game.step(np.array([ACTIONS.index("select")]))
        game.games["score"] = game.games["requirement"]
        game.look()
        game.step(np.flatnonzero(game.legal_mask[0])[:1])
        assert game.terminated[0] != endless
        assert bool(game.games["won"][0]) == endless
        assert game.final_stats[0, SPEC.episode_stats.index("won")] == (0 if endless else 1)
    assert state.WON not in game.games["phase"]


def test_a_game_is_truncated_at_its_step_limit():
    game = new_game(4, step_limit=5)
    for step in range(5):
        assert not game.truncated.any(), step
        game.step(random_legal(np.random.default_rng(step), game.legal_mask & (ACTIONS.block_of > 1)))
    assert game.truncated.all() != game.terminated.all()


def test_an_illegal_action_is_refused_or_counted_and_never_played():
    checked = new_game(2)
    wrong = np.array([ACTIONS.index("select"), ACTIONS.index("play 1")])
    with pytest.raises(IllegalActionError, match="play 1"):
        checked.step(wrong)
    fast: Any = make("balatro", 2, checked=False)
    fast.reset()
    before = fast.games[1:].tobytes()
    fast.step(wrong)
    assert fast.illegal_actions == 1
    assert fast.games[1:].tobytes() == before
    assert fast.reward[1] == 0


# --- options ---


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"deck": "rde"}, "Unknown deck 'rde'. Did you mean 'red'?"),
        ({"stake": "golden"}, "Unknown stake 'golden'. Did you mean 'gold'?"),
        ({"stake": 9}, "Unknown stake '9'."),
        ({"challenge": "jokerles"}, "Unknown challenge 'jokerles'. Did you mean 'jokerless'?"),
        ({"reward": "progres"}, "Unknown reward preset 'progres'. Did you mean 'progress'?"),
        ({"seed_text": "A!"}, "Seed 'A!' has the character '!'"),
        ({"seed_text": "ABCDEFGHI"}, "Seed 'ABCDEFGHI' has 9 characters"),
        ({"endless": "perhaps"}, "endless is 'perhaps'; expected true or false."),
        ({"step_limit": 0}, "step_limit is 0; expected a whole number of at least 1."),
        ({"challenge": "city", "deck": "blue"}, "challenge 'city' brings its own deck; leave out deck 'blue'."),
        ({"dekc": "red"}, "Unknown option of game balatro 'dekc'. Did you mean 'deck'?"),
    ],
)
def test_a_wrong_option_is_one_clear_sentence(options, sentence):
    with pytest.raises((UnknownNameError, UsageError)) as refused:
        make("balatro", 1, options=options)
    assert sentence in str(refused.value)


def test_options_take_names_keys_and_numbers():
    assert Options(deck="b_plasma").deck_id == Options(deck="plasma").deck_id == DECKS.id("b_plasma")
    assert Options(stake=8).stake_level == Options(stake="8").stake_level == Options(stake="gold").stake_level == 8
    assert Options(challenge="omelette").challenge_id == CHALLENGES.id("c_omelette_1")


def test_options_reach_the_game():
    game = new_game(1, deck="blue", stake="gold")
    assert (game.games["deck"][0], game.games["stake"][0]) == (DECKS.id("b_blue"), 8)
    jokerless = new_game(1, challenge="jokerless")
    assert jokerless.games["joker_slots"][0] == 0
    assert jokerless.games["discards_per_round"][0] == 3  # no deck of its own adds one


def test_games_draw_their_deck_and_stake_from_several_by_their_seed():
    game = new_game(2000, deck="red,blue", stake="white,white,gold")
    seeds = np.arange(2000, dtype=np.uint64)
    game.reset(seeds)
    blue, gold = game.games["deck"] == DECKS.id("b_blue"), game.games["stake"] == 8
    assert 0.45 < blue.mean() < 0.55
    assert 0.29 < gold.mean() < 0.38
    assert abs(np.corrcoef(blue, gold)[0, 1]) < 0.07
    assert set(np.unique(game.games["stake"])) == {1, 8}
    again = new_game(3, deck="red,blue", stake="white,white,gold")
    again.reset(seeds[[7, 1999, 3]])
    assert (again.games["stake"] == game.games["stake"][[7, 1999, 3]]).all()
    assert (again.games["deck"] == game.games["deck"][[7, 1999, 3]]).all()


def test_all_decks_and_all_stakes_have_one_name():
    assert len(Options(deck="all").decks) == len(DECKS)
    assert Options(stake="all").stakes == (1, 2, 3, 4, 5, 6, 7, 8)


def test_a_wrong_number_of_threads_is_one_clear_sentence(monkeypatch):
    monkeypatch.setenv("JIMBOT_THREADS", "many")
    with pytest.raises(UsageError, match="JIMBOT_THREADS is 'many'"):
        thread_count()


def test_using_a_game_before_its_first_reset_is_one_clear_sentence():
    with pytest.raises(UsageError, match="before its first reset"):
        make("balatro", 1).step(np.array([0]))


# --- the same code, compiled and not ---


def run_plan(*arguments: int, program: str = "roaming", **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", f"tests.games.balatro.{program}", *map(str, arguments)],
        cwd=REPOSITORY, env={**os.environ, **environment}, capture_output=True, text=True, timeout=3000,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


def test_uncompiled_games_are_the_compiled_ones():
    assert run_plan(21, 2, 60, NUMBA_DISABLE_JIT="1") == digest(EVERY_START[::21], 2, 60)


@pytest.mark.long
def test_no_array_is_left_with_bounds_checks_on():
    assert run_plan(1, 64, 300, JIMBOT_BOUNDSCHECK="1") == digest(EVERY_START, 64, 300)


@pytest.mark.long
def test_no_hostile_record_leaves_an_array_with_bounds_checks_on():
    assert run_plan(program="hostile", JIMBOT_BOUNDSCHECK="1") == "harmless"


@pytest.mark.long
def test_every_start_keeps_the_contract():
    for options in ({"deck": "plasma", "stake": 8}, {"challenge": "xray"}, {"endless": True, "helpers": True}):
        check_game("balatro", options=options)
