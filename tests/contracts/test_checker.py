"""The contract checker catches every broken promise: one deliberately broken toy game for each."""

from __future__ import annotations

import itertools
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from jimbot.errors import SnapshotError
from jimbot.games.checker import ContractError, check_game, check_spec
from jimbot.games.contract import BatchGame, GameEntry, register_game
from jimbot.games.seeds import bank_seeds, train_seeds
from jimbot.games.spec import ActionBlock, ActionSpec, Field, GameSpec, ObservationSpec


@dataclass(frozen=True)
class Options:
    length: int = 9
    discount: float = 1.0


SPEC = GameSpec(
    id="toy",
    version=1,
    players=1,
    observation=ObservationSpec((Field("total", (1,), "sum so far"), Field("card", (1,), "card on show", ids=5))),
    actions=ActionSpec((ActionBlock("take", ("take", "take twice")), ActionBlock("pass", ("pass",)))),
    reward_terms=("taken", "cost"),
    episode_stats=("total",),
    options=Options,
)


class Toy(BatchGame):
    """An honest game in NumPy: cards 0..4 come from a generator state per row; take them while their sum is small."""

    def __init__(self, num_envs: int, seed: int, options: Options, checked: bool) -> None:
        super().__init__(SPEC, num_envs, seed, checked)
        self.length, self.discount = options.length, options.discount
        self.rng = np.random.default_rng(seed)
        self.luck = np.zeros(num_envs, np.uint64)  # hidden: decides every card to come
        self.total = np.zeros(num_envs, np.int64)
        self.card = np.zeros(num_envs, np.int64)
        self.turn = np.zeros(num_envs, np.int64)

    def reset(self, seeds: np.ndarray | None = None) -> None:
        self.seeds[:] = train_seeds(self.rng, self.num_envs) if seeds is None else seeds
        self.begin(np.ones(self.num_envs, bool))
        for array in (self.reward, self.reward_terms, self.terminated, self.truncated):
            array[:] = 0
        self.show()

    def begin(self, rows: np.ndarray) -> None:
        self.luck[rows] = self.seeds[rows]
        self.total[rows] = 0
        self.turn[rows] = 0
        self.deal(rows)

    def deal(self, rows: np.ndarray) -> None:
        with np.errstate(over="ignore"):
            self.luck[rows] = self.luck[rows] * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        self.card[rows] = (self.luck[rows] >> np.uint64(33)).astype(np.int64) % 5

    def step(self, actions: np.ndarray, hold: np.ndarray | None = None) -> None:
        self.check_actions(actions, hold)
        free = np.ones(self.num_rows, bool) if hold is None else ~np.asarray(hold, bool)
        taken = np.where(actions == 0, self.card, np.where(actions == 1, 2 * self.card, 0)) * free
        self.total += taken
        self.turn += free
        self.reward_terms[:, 0] = taken
        self.reward_terms[:, 1] = -0.1 * free
        self.reward[:] = self.reward_terms.sum(axis=1)
        self.terminated[:] = free & (self.total >= 10)
        self.truncated[:] = free & (self.turn >= self.length) & ~self.terminated
        self.final_stats[:, 0] = self.total
        self.deal(free)
        ended = self.terminated | self.truncated
        self.write(self.final_observation)
        self.seeds[ended] = self.restart_seeds(int(ended.sum()))
        self.begin(ended)
        self.show()

    def restart_seeds(self, count: int) -> np.ndarray:
        return train_seeds(self.rng, count)

    def write(self, into: np.ndarray) -> None:
        into[:, 0] = self.total
        into[:, 1] = self.card

    def show(self) -> None:
        self.write(self.observation)
        self.legal_mask[:] = True
        self.legal_mask[:, 1] = self.total + 2 * self.card < 12

    parts = ("luck", "total", "card", "turn", "seeds")

    def snapshot(self, rows: np.ndarray | None = None) -> dict[str, np.ndarray]:
        index = slice(None) if rows is None else rows
        saved = {name: getattr(self, name)[index].copy() for name in self.parts}
        state = self.rng.bit_generator.state["state"]
        words = [state["state"] >> 64, state["state"] % 2**64, state["inc"] >> 64, state["inc"] % 2**64]
        return {**saved, "restarts": np.array(words, np.uint64)}

    def restore(self, snapshot: Mapping[str, np.ndarray], rows: np.ndarray | None = None) -> None:
        if set(snapshot) != {*self.parts, "restarts"}:
            raise SnapshotError("This is no snapshot of the toy game; use one that snapshot() returned.")
        index = slice(None) if rows is None else rows
        for name in self.parts:
            getattr(self, name)[index] = snapshot[name]
        if rows is None:
            words = [int(word) for word in snapshot["restarts"]]
            state: Any = self.rng.bit_generator.state
            state["state"] = {"state": (words[0] << 64) + words[1], "inc": (words[2] << 64) + words[3]}
            self.rng.bit_generator.state = state
        self.show()

    def redraw_hidden(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        self.luck[rows] = seeds
        self.show()

    def describe(self, row: int) -> str:
        return f"{self.total[row]} taken, a {self.card[row]} on show"


names = (f"toy{number}" for number in itertools.count())


def check(game: Callable[..., BatchGame], spec: GameSpec = SPEC, **settings: int) -> None:
    """Registers a toy under a name of its own and runs the shipped checker on it."""
    name = next(names)
    module: Any = types.ModuleType(f"jimbot_{name}")
    module.GAME = GameEntry(
        spec, lambda num_envs, seed=0, options=Options(), checked=False: game(num_envs, seed, options, checked)
    )
    sys.modules[module.__name__] = module
    register_game(name, module.__name__)
    check_game(name, **settings)


@pytest.fixture(autouse=True)
def only_our_games(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from jimbot.games import contract

    monkeypatch.setattr(contract, "_GAMES", dict(contract._GAMES))
    yield
    for name in [name for name in sys.modules if name.startswith("jimbot_toy")]:
        del sys.modules[name]


def test_an_honest_game_passes() -> None:
    check(Toy)


@dataclass(frozen=True)
class Bare:
    """Options without a discount."""


SHAPED = replace(SPEC, shaping=("cost",))


class Shaped(Toy):
    """Its second term is a potential, the sum so far: paid discounted, taken back at the end."""

    end_counts = False

    def step(self, actions, hold=None):
        before = self.total.copy()
        super().step(actions, hold)
        after = np.where(self.terminated & (not self.end_counts), 0, self.final_observation[:, 0])
        self.reward_terms[:, 1] = np.where(self.reward_terms[:, 1] == 0, 0, self.discount * after - before)
        self.reward[:] = self.reward_terms.sum(axis=1)


class ShapedUndiscounted(Shaped):
    def __init__(self, num_envs, seed, options, checked):
        super().__init__(num_envs, seed, replace(options, discount=1.0), checked)


class ShapedEndCounts(Shaped):
    end_counts = True


def test_a_game_that_shapes_by_a_potential_passes() -> None:
    check(Shaped, SHAPED)


@pytest.mark.parametrize("broken", [Toy, ShapedUndiscounted, ShapedEndCounts])
def test_shaping_that_depends_on_the_play_is_caught(broken: type[Toy]) -> None:
    with pytest.raises(ContractError, match="'cost' is declared as shaping"):
        check(broken, SHAPED)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"shaping": ("charm",)}, "its reward terms are"),
        ({"shaping": ("cost",), "options": Bare}, "needs the option 'discount'"),
    ],
)
def test_shaping_needs_a_term_and_the_discount(changes: dict, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        replace(SPEC, **changes)


class OutsideLuck(Toy):
    calls = itertools.count()

    def deal(self, rows):
        super().deal(rows)
        self.card[rows] = (self.card[rows] + next(self.calls)) % 5


class NotFinite(Toy):
    def write(self, into):
        super().write(into)
        into[self.total == 0, 0] = np.nan


class NoLegalAction(Toy):
    def show(self):
        super().show()
        self.legal_mask[self.total == 5] = False


class BothEnds(Toy):
    def step(self, actions, hold=None):
        super().step(actions, hold)
        self.truncated |= self.terminated


class IdleWithChoices(Toy):
    def show(self):
        super().show()
        self.acting[:] = self.total < 5


class BrokenId(Toy):
    def write(self, into):
        super().write(into)
        into[:, 1] += 0.5


class IdTooLarge(Toy):
    def write(self, into):
        super().write(into)
        into[:, 1] += 1


class RewardBesideTerms(Toy):
    def step(self, actions, hold=None):
        super().step(actions, hold)
        self.reward += np.float32(0.5)


class SameSeedAgain(Toy):
    def step(self, actions, hold=None):
        before = self.seeds.copy()
        super().step(actions, hold)
        self.seeds[:] = before


class SeedDrifts(Toy):
    def step(self, actions, hold=None):
        super().step(actions, hold)
        self.seeds += np.uint64(1)


class RestartsOnJudgingSeeds(Toy):
    def restart_seeds(self, count):
        return bank_seeds("held-out", count + 1, start=int(self.rng.integers(0, 2**40)))[:count]


class StartsOnJudgingSeeds(Toy):
    def reset(self, seeds=None):
        if seeds is None:
            seeds = bank_seeds("validation", self.num_envs, start=int(self.rng.integers(0, 2**40)))
        super().reset(seeds)


class WrongShape(Toy):
    def reset(self, seeds=None):
        super().reset(seeds)
        self.reward_terms = np.zeros((self.num_rows, 3), np.float32)

    def step(self, actions, hold=None):
        self.reward_terms = np.zeros((self.num_rows, 2), np.float32)
        super().step(actions, hold)


class WrongKind(Toy):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.observation = self.observation.astype(np.float64)


class FinalNotFinite(Toy):
    def step(self, actions, hold=None):
        super().step(actions, hold)
        self.final_stats[self.terminated] = np.inf


class ResetLeavesReward(Toy):
    def reset(self, seeds=None):
        super().reset(seeds)
        self.reward[:] = 1


class ResetLeavesEnd(Toy):
    def reset(self, seeds=None):
        super().reset(seeds)
        self.terminated[0] = True


class Speechless(Toy):
    def describe(self, row):
        return " "


class SeedIgnored(Toy):
    def reset(self, seeds=None):
        super().reset(None if seeds is None else np.arange(self.num_envs, dtype=np.uint64))


class RowDecides(Toy):
    def begin(self, rows):
        super().begin(rows)
        self.card[rows] = (self.card + np.arange(self.num_rows))[rows] % 5


class BatchSeedDecides(Toy):
    def begin(self, rows):
        super().begin(rows)
        self.card[rows] = (self.card[rows] + self.seed) % 5


class SameGamesAfterReset(Toy):
    def reset(self, seeds=None):
        self.rng = np.random.default_rng(self.seed)
        super().reset(seeds)


class SnapshotForgets(Toy):
    def restore(self, snapshot, rows=None):
        luck = self.luck.copy()
        super().restore(snapshot, rows)
        self.luck[:] = luck


class SnapshotForgetsRestarts(Toy):
    def restore(self, snapshot, rows=None):
        state = self.rng.bit_generator.state
        super().restore(snapshot, rows)
        self.rng.bit_generator.state = state


class SnapshotAcceptsAnything(Toy):
    def restore(self, snapshot, rows=None):
        if snapshot:
            super().restore(snapshot, rows)


class PartialRestoreSpills(Toy):
    def restore(self, snapshot, rows=None):
        super().restore(snapshot, rows)
        if rows is not None:
            self.total[:] += 1
            self.total[rows] -= 1
            self.show()


class PartialRestoreInOrder(Toy):
    def restore(self, snapshot, rows=None):
        super().restore(snapshot, None if rows is None else np.sort(rows))


class HeldMoves(Toy):
    def step(self, actions, hold=None):
        super().step(actions, hold)
        if hold is not None:
            self.observation[hold, 0] += 1


class HeldPaid(Toy):
    def step(self, actions, hold=None):
        super().step(actions, hold)
        if hold is not None:
            self.reward[hold] = 1


class HeldEnds(Toy):
    def step(self, actions, hold=None):
        super().step(actions, hold)
        if hold is not None:
            self.truncated[hold] = True


class Peeks(Toy):
    """Shows the player a bit of the luck that decides the next card."""

    def write(self, into):
        super().write(into)
        into[:, 0] += (self.luck & np.uint64(1)).astype(np.float32) / 2


class AcceptsIllegal(Toy):
    def check_actions(self, actions, hold=None):
        pass


class RefusesLate(Toy):
    def step(self, actions, hold=None):
        before = self.checked
        self.checked = False
        wrong = self.illegal_actions
        super().step(actions, hold)
        self.checked = before
        if before and self.illegal_actions > wrong:
            self.checked = True
            self.legal_mask[:] = False
            self.check_actions(actions, hold)


class ForgetsToCount(Toy):
    def check_actions(self, actions, hold=None):
        if self.checked:
            super().check_actions(actions, hold)


BROKEN = [
    (OutsideLuck, "randomness outside the game state"),
    (NotFinite, "observation holds a value that is not finite"),
    (NoLegalAction, "no legal action"),
    (BothEnds, "both terminated and truncated"),
    (IdleWithChoices, "only action 0 legal"),
    (BrokenId, "Id field 'card'"),
    (IdTooLarge, "Id field 'card'"),
    (RewardBesideTerms, "not the sum of reward_terms"),
    (SameSeedAgain, "seed must change exactly when"),
    (SeedDrifts, "seed must change exactly when"),
    (RestartsOnJudgingSeeds, "not of the train bank"),
    (StartsOnJudgingSeeds, "not of the train bank"),
    (WrongShape, "'reward_terms' has shape"),
    (WrongKind, "'observation' is float64"),
    (FinalNotFinite, "final_observation or final_stats"),
    (ResetLeavesReward, "reset leaves a reward"),
    (ResetLeavesEnd, "reset leaves a game ended"),
    (Speechless, "says nothing"),
    (SeedIgnored, "does not show those seeds"),
    (RowDecides, "another game in another row"),
    (BatchSeedDecides, "another game in another row or batch"),
    (SameGamesAfterReset, "deals a game that was just played"),
    (SnapshotForgets, "does not hold the whole state"),
    (SnapshotForgetsRestarts, "does not hold the whole state"),
    (SnapshotAcceptsAnything, "empty snapshot was accepted"),
    (PartialRestoreSpills, "changed others"),
    (PartialRestoreInOrder, "did not bring them back"),
    (HeldMoves, "held row changed"),
    (HeldPaid, "held row got a reward"),
    (HeldEnds, "held row ended"),
    (Peeks, "hidden information was re-dealt"),
    (AcceptsIllegal, "accepted in checked mode"),
    (RefusesLate, "refused illegal action changed the game"),
    (ForgetsToCount, "counted as 0"),
]


@pytest.mark.parametrize(("broken", "sentence"), BROKEN, ids=[game.__name__ for game, _ in BROKEN])
def test_a_broken_promise_is_caught(broken: type[Toy], sentence: str) -> None:
    with pytest.raises(ContractError, match=sentence):
        check(broken)


def test_play_too_short_to_end_is_told() -> None:
    with pytest.raises(ContractError, match="check with more steps"):
        check(Toy, steps=1)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (replace(SPEC, actions=ActionSpec((ActionBlock("a", ("go", "go")),))), "two actions with the same label"),
        (replace(SPEC, observation=ObservationSpec(SPEC.observation.fields * 2)), "two observation fields"),
        (replace(SPEC, observation=ObservationSpec((Field("x", (1,), ""),))), "no meaning"),
        (replace(SPEC, reward_terms=("win", "win")), "Two reward terms"),
    ],
    ids=["labels", "fields", "meaning", "reward terms"],
)
def test_a_careless_spec_is_caught(spec: GameSpec, sentence: str) -> None:
    with pytest.raises(ContractError, match=sentence):
        check_spec(spec)
