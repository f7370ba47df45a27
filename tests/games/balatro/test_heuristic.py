"""The heuristic player: always legal, always the same, honest, and good enough to teach."""

from __future__ import annotations

import numpy as np
import pytest

from jimbot.errors import UsageError
from jimbot.evaluation.play import play_games
from jimbot.games.balatro.encoding.fields import FIRST_JOKER_ITEM
from jimbot.games.balatro.encoding.scaling import count_log
from jimbot.games.balatro.game import BalatroGame
from jimbot.games.balatro.heuristic import Heuristic, preferences, sight, steps
from jimbot.games.balatro.options import Options
from jimbot.games.balatro.rules.content import JOKERS
from jimbot.games.balatro.rules.state import PHASE_NAMES, SHOP
from jimbot.games.contract import game_entry
from jimbot.games.seeds import VALIDATION, bank_seeds
from jimbot.games.threads import THREADS_VARIABLE
from jimbot.policies.heuristics import heuristic_policy, with_needed_options


def random_actions(rng: np.random.Generator, legal: np.ndarray) -> np.ndarray:
    return np.argmax(rng.random(legal.shape) * legal, axis=1)


def diverse_states(game: BalatroGame, player: Heuristic, steps: int, share_random: float):
    """Plays on, now and then at random (stray choices and grabs included), giving (observation, mask, answers)."""
    rng = np.random.default_rng(0)
    game.reset()
    for _ in range(steps):
        actions = player.act(game.observation, game.legal_mask)[0]
        yield game.observation, game.legal_mask, actions
        stray = rng.random(len(actions)) < share_random
        game.step(np.where(stray, random_actions(rng, game.legal_mask), actions))


def check_legal(rows: int, steps: int, **options: object) -> int:
    """Plays with stray moves and checks every answer; returns how many there were."""
    game = BalatroGame(rows, seed=5, options=Options(helpers=True, **options), checked=True)
    seen = np.zeros(len(PHASE_NAMES), bool)
    states = 0
    for observation, legal, actions in diverse_states(game, Heuristic(), steps, share_random=0.15):
        assert legal[np.arange(len(actions)), actions].all()
        seen |= observation[:, : len(PHASE_NAMES)].any(axis=0)
        states += len(actions)
    assert [name for name, met in zip(PHASE_NAMES, seen, strict=True) if not met] == ["game_over", "won"]
    assert game.illegal_actions == 0
    return states


def test_it_answers_legally_in_every_phase() -> None:
    check_legal(32, 50)


def test_threads_answer_as_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    together = Heuristic()
    monkeypatch.setenv(THREADS_VARIABLE, "1")
    alone = Heuristic()
    monkeypatch.setenv(THREADS_VARIABLE, "3")
    game = BalatroGame(14, seed=6, options=Options(helpers=True))
    for player in (together, Heuristic()):
        for observation, legal, actions in diverse_states(game, player, 20, share_random=0.15):
            assert np.array_equal(actions, alone.choose(observation, legal))


@pytest.mark.long
@pytest.mark.parametrize(
    "options", [{}, {"stake": "gold", "deck": "plasma"}, {"deck": "painted", "stake": "orange"}], ids=str
)
def test_it_answers_legally_in_20000_states_of_many_starts(options: dict) -> None:
    assert check_legal(128, 60, **options) > 20000 / 3


def test_it_answers_the_same_whoever_asks_and_in_whatever_company() -> None:
    game = BalatroGame(16, seed=1, options=Options(helpers=True))
    one, other = Heuristic(), Heuristic()
    for number, (observation, legal, actions) in enumerate(diverse_states(game, one, 30, share_random=0.05)):
        rows = np.arange(number % 3, 16, 3)
        again, probabilities, values = other.act(observation[rows], legal[rows], deterministic=False)
        assert np.array_equal(again, actions[rows])
        assert np.array_equal(probabilities.argmax(axis=1), again)
        assert probabilities.sum() == len(rows)
        assert not values.any()


def test_it_does_not_know_what_is_hidden() -> None:
    game = BalatroGame(16, seed=2, options=Options(helpers=True))
    player = Heuristic()
    rng = np.random.default_rng(3)
    for _, _, actions in diverse_states(game, player, 40, share_random=0.05):
        game.redraw_hidden(np.arange(16), rng.integers(0, 2**63, 16).astype(np.uint64))
        assert np.array_equal(player.act(game.observation, game.legal_mask)[0], actions)


@pytest.fixture(scope="module")
def shop() -> tuple[np.ndarray, np.ndarray]:
    """A first shop with $30 and nothing but one card to buy, as (observation, mask)."""
    game = BalatroGame(16, seed=1, options=Options(helpers=True))
    player = Heuristic()
    game.reset()
    while not (shops := np.flatnonzero(game.observation[:, sight.PHASE + SHOP])).size:
        game.step(player.act(game.observation, game.legal_mask)[0])
    observation, mask = game.observation[shops[0]].copy(), np.zeros_like(game.legal_mask[0])
    observation[[sight.MONEY, sight.SPENDABLE]] = count_log(30)
    observation[sight.SHOP_PRICE] = count_log(6)
    observation[sight.REROLL_PRICE] = count_log(5)
    mask[[steps.NEXT, steps.BUY]] = True
    return observation, mask


def item(joker: str) -> int:
    return FIRST_JOKER_ITEM + JOKERS.id(f"j_{joker}")


def answer(observation: np.ndarray, mask: np.ndarray) -> int:
    return int(Heuristic().act(observation[None], mask[None])[0][0])


@pytest.mark.parametrize(("joker", "action"), [("cavendish", steps.BUY), ("superposition", steps.NEXT)])
def test_it_buys_what_helps(shop: tuple[np.ndarray, np.ndarray], joker: str, action: int) -> None:
    observation, mask = (part.copy() for part in shop)
    observation[sight.SHOP_ITEM] = item(joker)
    assert answer(observation, mask) == action


def test_it_sells_the_joker_its_set_misses_least_for_a_better_one(shop: tuple[np.ndarray, np.ndarray]) -> None:
    observation, mask = (part.copy() for part in shop)
    observation[sight.SHOP_ITEM] = item("cavendish")
    held = ["duo", "trousers", "credit_card", "jolly", "sly"]
    for row, joker in enumerate(held):
        observation[sight.JOKER_ID + row] = item(joker)
        observation[sight.JOKER_SELLS + row * sight.JOKER_STRIDE] = count_log(2)
        mask[steps.SELL_JOKER + row] = True
    observation[[sight.JOKER_COUNT, sight.JOKER_SLOTS]] = count_log(len(held))
    mask[steps.BUY] = False  # no room
    assert answer(observation, mask) == steps.SELL_JOKER + held.index("credit_card")


def test_it_keeps_money_early_and_spends_it_in_the_last_shop(shop: tuple[np.ndarray, np.ndarray]) -> None:
    observation, mask = (part.copy() for part in shop)
    observation[sight.SHOP_ITEM] = item("cavendish")
    mask[[steps.BUY, steps.REROLL]] = [False, True]
    held = ["duo", "trousers", "joker", "jolly", "sly"]
    for row, joker in enumerate(held):
        observation[sight.JOKER_ID + row] = item(joker)
    observation[[sight.JOKER_COUNT, sight.JOKER_SLOTS]] = count_log(len(held))
    observation[[sight.MONEY, sight.SPENDABLE]] = count_log(25)
    assert answer(observation, mask) == steps.NEXT
    observation[sight.ANTE] = 1.0  # ante 8, its boss next
    observation[[sight.SMALL_UP, sight.BIG_UP, sight.BOSS_UP]] = [0, 0, 1]
    assert answer(observation, mask) == steps.REROLL


@pytest.mark.long
def test_it_clears_ante_1_in_most_games_and_never_dawdles() -> None:
    games = play_games(heuristic_policy("heuristic", "balatro"), "balatro", bank_seeds(VALIDATION, 50), num_envs=50)
    assert (games.stat("blinds_cleared") >= 3).mean() > 0.8
    assert games.stat("blinds_cleared").mean() > 10
    assert games.illegal_actions == 0
    assert not games.truncated.any()
    assert not games.unfinished.any()


def test_games_switch_on_what_it_needs_and_refuse_to_switch_it_off() -> None:
    policy = heuristic_policy("heuristic", "balatro")
    assert with_needed_options(policy, {"deck": "blue"}) == {"helpers": True, "deck": "blue"}
    with pytest.raises(UsageError, match="'heuristic' plays with the game option helpers=True only"):
        play_games(policy, "balatro", np.arange(2), options={"helpers": False})


def test_the_random_player_needs_nothing() -> None:
    assert with_needed_options(heuristic_policy("random", "balatro"), {"deck": "blue"}) == {"deck": "blue"}


def test_every_preference_names_something_that_exists() -> None:
    assert set(game_entry("balatro").heuristics) == {"heuristic"}
    assert (preferences.VOUCHER_WORTH >= 0).all()
    assert np.isfinite(preferences.JOKER_EARLY).all()
    assert preferences.JOKER_EARLY.any()


# --- how likely it is to win ---


def test_what_it_thinks_of_a_position_is_a_chance_that_money_and_a_strong_joker_raise() -> None:
    player = Heuristic()
    game = BalatroGame(8, seed=5, options=Options(helpers=True))
    rows = np.concatenate([seen.copy() for seen, _, _ in diverse_states(game, player, 60, share_random=0.05)])
    chances = player.appraise(rows)
    assert chances.dtype == np.float32
    assert ((chances > 0) & (chances < 1)).all()
    poor, rich = rows.copy(), rows.copy()
    poor[:, sight.MONEY], rich[:, sight.MONEY] = count_log(0), count_log(20)
    assert player.appraise(rich).mean() > player.appraise(poor).mean()
    blueless = rows[rows[:, sight.JOKER_ID] == 0]
    with_cavendish = blueless.copy()
    with_cavendish[:, sight.JOKER_ID] = FIRST_JOKER_ITEM + JOKERS.id("j_cavendish")
    with_cavendish[:, sight.JOKER_PRESENT] = 1
    assert (player.appraise(with_cavendish) > player.appraise(blueless)).mean() > 0.9
    assert len(player.appraise(rows[:0])) == 0
