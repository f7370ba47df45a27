"""What guides learning beside rewards: advice, asked in the background and learned as weighted demonstrations; a bonus
for what was seldom met; and a word where play locks in. One file, because all of its runs share what is compiled."""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jimbot.adviser.adviser import Adviser
from jimbot.adviser.in_training import FILE, BackgroundAdvice, Demonstration, Demonstrations, Imitation, answering
from jimbot.adviser.question import Question
from jimbot.adviser.reply import Advice
from jimbot.adviser.settings import AdviserSettings
from jimbot.errors import SettingsError, UnknownNameError
from jimbot.games.contract import game_entry, make
from jimbot.games.hooks.learners import Held, RareEvent
from jimbot.games.probe import COLOURS
from jimbot.games.variety import FEWEST, VarietyCount
from jimbot.knowledge.sorting import Sorter, sorter
from jimbot.knowledge.strategy_bonus import StrategyBonus
from jimbot.training.framework import open_trainer
from jimbot.training.imitation.batches import Batches
from jimbot.training.imitation.dataset import Dataset
from jimbot.training.jax_ppo.extensions import count_bonus
from jimbot.training.jax_ppo.extensions.count_bonus import CountBonus
from jimbot.training.jax_ppo.ppo import samples_of, shares
from jimbot.training.jax_ppo.program import network_text
from jimbot.training.jax_ppo.trainer import JaxPPOTrainer
from jimbot.training.run import run_training
from jimbot.training.session.health import LOCKED_ROWS, HealthWatch
from tests.adviser.messages_api import chosen, playing_the_api
from tests.training.small import SMALL, probe_parts, rollout_of, small_settings

SPEC = game_entry("probe").spec


class Source:
    """Advises the colour after the one that pays, which no reward would ever teach; may be held up."""

    name, edition, used_llm = "against", "against", True

    def __init__(self) -> None:
        self.go, self.asked = threading.Event(), 0

    def ask(self, question: Question, seconds: float) -> Advice:
        self.asked += 1
        self.go.wait(30)
        wanted = next(one for one in question.moves if one.label.endswith(COLOURS[against(question.state)]))
        return Advice(wanted.action, wanted.label, wanted.words, "No reason.", self.name, True)


def against(state: str) -> int:
    paying = next(number for number, colour in enumerate(COLOURS) if f"the {colour} side" in state)
    return (paying + 1) % len(COLOURS)


def advised(folder: Path, source: Source, **settings: Any) -> tuple[BackgroundAdvice, Any]:
    game = make("probe", 16)
    game.reset(np.arange(16, dtype=np.uint64))
    return BackgroundAdvice(Adviser(source, AdviserSettings(**settings)), game, folder), game


def even(observation: np.ndarray, legal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return (legal / legal.sum(axis=1, keepdims=True)).astype(np.float32), np.zeros(len(legal), np.float32)


def answered(advice: BackgroundAdvice) -> None:
    for future in list(advice._open):
        future.result(30)


def test_asking_returns_at_once_and_answers_become_demonstrations(tmp_path: Path) -> None:
    advice, game = advised(tmp_path, source := Source())
    advice.look(game, even, 512, 1)
    assert not len(advice.demonstrations)  # nobody has answered, and nobody waited
    advice.look(game, even, 512, 2)
    source.go.set()
    answered(advice)
    assert len(advice.demonstrations) == source.asked == 4  # as many at once as allowed, and no more
    observation, legal, action, weight = advice.demonstrations.drawn(8, np.random.default_rng(0))
    paying = observation[:, : len(COLOURS)].argmax(axis=1)
    assert (action % len(COLOURS) == (paying + 1) % len(COLOURS)).all()
    assert legal[np.arange(8), action].all()
    assert (weight == 1).all()
    assert advice.metrics()["advice/demonstrations"] == 4
    advice.close()


def test_no_more_is_asked_than_a_twentieth_of_the_decisions(tmp_path: Path) -> None:
    advice, game = advised(tmp_path, source := Source())
    source.go.set()
    for update in range(10):
        advice.look(game, even, 8, update)
        answered(advice)
    assert source.asked <= advice.adviser.metrics.asked == 4  # of 80
    advice.close()


def test_advice_is_a_dataset_that_a_clone_reads_with_its_weights(tmp_path: Path) -> None:
    known = Demonstrations(SPEC)
    legal = np.zeros(SPEC.actions.size, bool)
    legal[:4] = True
    for number in range(6):
        known.add(Demonstration(np.full(SPEC.observation.size, number, np.float32), legal, number % 4, 0.5 + number))
    known.save(tmp_path / FILE, "advice of nobody", {})
    with Dataset.open(tmp_path / FILE) as dataset:
        assert (dataset.info.games, dataset.info.weights) == (6, True)
        batches = Batches(dataset, dataset.reward, 0.99, 0.34, 0, False)
        seen = [*batches.train(0, 2), *batches.validate(2)]
        rows = np.concatenate([batch.observation[:, 0] for batch in seen]).tolist()
        told = dict(zip(rows, np.concatenate([batch.weight for batch in seen]).tolist(), strict=True))
        assert told == {float(number): 0.5 + number for number in range(6)}
        assert not np.concatenate([batch.value_weight for batch in seen]).any()  # what a move brought is not known
    again = Demonstrations(SPEC)
    again.load(tmp_path / FILE)
    assert len(again) == 6


def test_steps_towards_demonstrations_make_them_likelier() -> None:
    settings, network, _ = probe_parts()
    params = network.init(0)
    known = Demonstrations(SPEC)
    legal = np.zeros(SPEC.actions.size, bool)
    legal[:4] = True
    seen = np.eye(1, SPEC.observation.size, dtype=np.float32)[0]
    known.add(Demonstration(seen, legal, 2, 1.0))
    answer = answering(network_text(network))

    def chance(of: Any) -> float:
        return float(answer(of, seen[None], legal[None])[0][0, 2])

    def learned(coef: float) -> float:
        imitation, moved = Imitation(network, settings.ppo.max_grad_norm, coef, 0), params
        for _ in range(40):
            moved = imitation.learn(moved, known, 3e-3)
        return chance(moved)

    assert learned(1.0) > 2 * chance(params)
    assert learned(0.0) == chance(params)  # the control


def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, **changes: Any) -> Any:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", address)
    monkeypatch.setenv("JIMBOT_ADVISER_LEDGER", str(tmp_path / "books.sqlite"))
    settings = small_settings(adviser=True, run_name="advised", no_wandb=True, **changes)
    return run_training(settings, tmp_path, quiet=True)


def test_a_run_learns_from_claude_and_keeps_what_it_was_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import anthropic  # noqa: F401 - seconds, which the small run would be over in

    with playing_the_api(lambda table: chosen(table["legal_moves"][against(table["table"])]["action"])) as api:
        run(tmp_path, monkeypatch, api.address)
    with Dataset.open(tmp_path / "advised" / FILE) as dataset:
        assert dataset.info.games > 0
        assert dataset.info.policy == "advice of claude-haiku-5-5"
    assert len(api.requests) <= 0.05 * SMALL["total_timesteps"]


def test_a_server_that_never_answers_holds_up_no_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is over while every question is still open."""
    with playing_the_api(chosen("door 0 red")._replace(seconds=60)) as api:
        result = run(tmp_path, monkeypatch, api.address, adviser_settings={"at_once": 2})
    assert result.step >= SMALL["total_timesteps"]
    assert len(api.requests) == 2
    assert not (tmp_path / "advised" / FILE).exists()


def test_what_cannot_be_set_is_said_before_anything_is_learned(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="setting of the adviser 'dolars_per_hour'"):
        run_training(small_settings(adviser=True, adviser_settings={"dolars_per_hour": 1}), tmp_path, quiet=True)
    with pytest.raises(SettingsError, match="only learner jax"):
        run_training(small_settings(adviser=True, learner="sb3"), tmp_path, quiet=True)


# --- what is rare ---


def colours(before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Another colour pays than before."""
    old, new = before[:, :4].argmax(axis=1), after[:, :4].argmax(axis=1)
    rows = np.flatnonzero(old != new)
    return rows, new[rows]


EVENT = RareEvent("new_colour", 1.0, None, 4, colours)


def seen(*shown: int) -> np.ndarray:
    return np.eye(4, dtype=np.float32)[list(shown)]


NOWHERE: Any = None
"""A trainer that nothing is asked of."""


def counting(coef: float, *events: RareEvent) -> CountBonus:
    part = CountBonus(small_settings(count_bonus=coef), SPEC)
    part.pay_for(events)
    return part


def test_the_nth_time_pays_by_the_root_of_n() -> None:
    bonus = counting(0.5, EVENT)
    steps = [(seen(0, 0), seen(1, 0)), (seen(1, 0), seen(1, 1)), (seen(1, 1), seen(2, 1))]
    paid = bonus.rewards(steps)
    assert paid[0].tolist() == [0.5, 0]  # colour 1, the first time
    assert paid[1].tolist() == pytest.approx([0, 0.5 / np.sqrt(2)])  # again
    assert paid[2].tolist() == [0.5, 0]  # colour 2
    assert bonus.metrics()["explore/new_colour_met"] == 2
    other = counting(0.5, EVENT)
    other.restore(bonus.arrays(None), 0)
    assert np.array_equal(other.rewards(steps), bonus.rewards(steps))


def strategy_sorter() -> Sorter:
    """A row follows the colour it shows: red and green are one strategy, blue the other, nothing else is known."""
    held = Held(lambda: ("red", "green", "blue", ""), lambda seen: np.nonzero(seen))
    known = [{"name": "warm", "uses": {"red": 1.0, "green": 0.5}}, {"name": "cold", "uses": {"blue": 1.0, "lost": 1.0}}]
    found = sorter(held, known)
    assert found is not None
    return found


def following(sorter: Sorter) -> StrategyBonus:
    part = StrategyBonus(small_settings(strategy_bonus=0.5), SPEC)
    part.pay_for((part._follow(sorter),))
    return part


def test_coming_to_a_strategy_pays_until_it_is_usual() -> None:
    bonus = following(strategy_sorter())
    steps = [(seen(3, 0), seen(0, 1)), (seen(0, 1), seen(2, 3)), (seen(2, 3), seen(0, 0))]
    paid = bonus.rewards(steps)
    assert paid[0].tolist() == [0.5, 0]  # warm, the first time; the other row is warm as before
    assert paid[1].tolist() == [0.5, 0]  # cold; who holds nothing known follows none
    assert paid[2].tolist() == pytest.approx([0.5 / np.sqrt(3), 0.5 / np.sqrt(3)])
    assert bonus.metrics()["explore/new_strategy_met"] == 2
    grown = replace(strategy_sorter(), names=("a", "b", "c"), weights=np.eye(4, 3, dtype=np.float32))
    resumed = following(grown)  # the graph knows others by now
    resumed.restore(bonus.arrays(None), 0)
    assert np.array_equal(resumed.rewards(steps), bonus.rewards(steps))


def test_strategies_are_counted_as_ways_to_play() -> None:
    count = VarietyCount([strategy_sorter().variety()])
    for _ in range(FEWEST):
        count.look(seen(0, 1, 2, 3))
    spread = count.spread()["strategies"]
    assert (spread.top_name, spread.top, spread.games) == ("warm", pytest.approx(2 / 3), 3 * FEWEST)


def test_without_known_strategies_nothing_is_paid_for_them() -> None:
    with pytest.raises(SettingsError, match=r"strategy_bonus is 0\.1, but no strategies of game 'probe'"):
        StrategyBonus(small_settings(strategy_bonus=0.1), SPEC).open(NOWHERE)
    assert sorter(Held(lambda: ("red",), lambda seen: np.nonzero(seen)), []) is None


def test_what_a_step_weighs_is_its_share_of_the_loss() -> None:
    shape = (2, 3)
    weight = np.array([[1, 4, 1], [1, 1, 2]], np.float32)
    rollout = rollout_of(np.zeros(shape, np.int32), weight=weight)
    weighed = samples_of(rollout, np.zeros(shape, np.float32)).weights["policy"]
    assert np.asarray(shares(weighed)).tolist() == pytest.approx((weight / 10).ravel().tolist())


def test_a_game_that_names_nothing_rare_cannot_be_paid_for() -> None:
    assert not CountBonus.wanted(small_settings())
    with pytest.raises(SettingsError, match=r"count_bonus is 0\.1, but game 'probe' names nothing"):
        CountBonus(small_settings(count_bonus=0.1), SPEC).open(NOWHERE)


def kept(trainer: JaxPPOTrainer) -> np.ndarray:
    """What the bonus knows of the event."""
    (part,) = (part for part in trainer.extensions if isinstance(part, CountBonus))
    return part.arrays(None)["new_colour"]


def test_a_run_counts_and_goes_on_counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = replace(game_entry("probe"), rare_events=lambda: (EVENT,))
    monkeypatch.setattr(count_bonus, "game_entry", lambda game: entry)
    settings = small_settings(count_bonus=0.1, run_name="paid", no_wandb=True)
    with closing(open_trainer(settings, tmp_path, quiet=True)) as trainer:
        assert isinstance(trainer, JaxPPOTrainer)
        trainer.train()
        counts = kept(trainer)
    assert counts.sum() > 1000  # of 3,072 steps, three of four bring another colour
    assert (counts > 0).all()
    with closing(open_trainer(settings, tmp_path, quiet=True)) as resumed:
        assert isinstance(resumed, JaxPPOTrainer)
        assert np.array_equal(kept(resumed), counts)


def test_play_that_locks_in_is_told() -> None:
    watch = HealthWatch()
    various, locked = {"variety/jokers_top": 0.4}, {"variety/jokers_top": 0.9, "variety/jokers": 1.0}
    assert watch.look(various) == []
    for _ in range(LOCKED_ROWS - 1):
        assert watch.look(locked) == []
    (finding,) = watch.look(locked)
    assert finding.metric == "locked_in"
    assert "90% of the games have the same of their jokers" in finding.sentence
    assert watch.look(various) == []
