"""What each move of a game cost, in points of winning chance.

First every position is looked up: how often games of the player that reviews were won from what it expects there. Then
the moves it would rather not have made are tried out against its likely ones, and what a heuristic of the game would
do, in the same deals: everything the player could not know is dealt anew, so neither the cards that came nor the seed
can be held against a move. A few deals choose the best other move; fresh ones, which had no say in that, measure what
it gains. As long as there is time, deals are added where the verdict still hangs in the balance.

A move is called bad only where the 99 % interval of what it cost lies above zero (`MARKS`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jimbot.errors import UsageError
from jimbot.evaluation.intervals import Interval, mean_interval
from jimbot.evaluation.review.positions import GamePositions
from jimbot.games.hooks.people import RecordedGame
from jimbot.planning.rollouts import Rollouts, Simulations
from jimbot.planning.settings import PlanSettings, PlanTable
from jimbot.policies.contract import Decision
from jimbot.policies.heuristics import heuristic_policy, with_needed_options
from jimbot.policies.players import Player
from jimbot.policies.win_chances import WinChances, win_chances

BEST, FINE, INACCURACY, MISTAKE, BLUNDER, UNTRIED = "best", "fine", "inaccuracy", "mistake", "blunder", ""
MARKS = ((0.12, BLUNDER), (0.05, MISTAKE), (0.02, INACCURACY))
"""(chance to win that a move cost at least, what it is called)."""
CONFIDENCE = 0.99
SECONDS = 25.0
OBVIOUS = 0.97  # a move the reviewing player finds so likely is not tried out
ALTERNATIVES, LEAST_LIKELY = 3, 0.02
CHOOSING, MEASURING, MOST_DEALS = 6, 16, 160  # deals that choose the best other move; that measure it at a time; in all
SHARPNESS = 0.1  # a move that costs this much counts 1/e in an accuracy
HORIZON = 2  # settled positions (Balatro: choices of a blind) that a simulation passes
LINE = 8  # moves of a better line
LESSONS = 3
_COPIES = 256


@dataclass
class Candidate:
    """A move that could have been made, and what it gains over the one that was."""

    action: int
    words: str
    share: float
    """How likely the reviewing player would have made it."""
    gains: list[float] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        found = mean_interval(np.array(self.gains), CONFIDENCE) if self.gains else None
        return {
            "words": self.words,
            "share": round(self.share, 4),
            "gain": None if found is None else _interval(found),
        }


@dataclass
class Verdict:
    """One move."""

    number: int
    words: str
    kind: str
    chance: float
    """To win before the move, looked up."""
    error: float
    share: float
    candidates: list[Candidate] = field(default_factory=list)
    played: list[float] = field(default_factory=list)
    """What the move brought in each deal it was measured in."""
    better: list[float] = field(default_factory=list)
    """What the best other move brought in the same deals."""
    best: int | None = None
    """Which candidate that is."""
    line: tuple[str, ...] = ()
    """That move and what might follow."""

    @property
    def after(self) -> Interval:
        """The chance to win with the move made, as simulations say."""
        if len(self.played) >= CHOOSING:
            return _within(mean_interval(np.array(self.played), CONFIDENCE))
        return _within(Interval(self.chance, self.chance - 2 * self.error, self.chance + 2 * self.error, 0.0, 0))

    @property
    def cost(self) -> Interval | None:
        """Of the move, against the best other one; None: nothing else was tried."""
        if len(self.better) < MEASURING:
            return None
        return mean_interval(np.array(self.better) - np.array(self.played), CONFIDENCE)

    @property
    def loss(self) -> float:
        """Points of chance that surely went with the move; 0 where that is not sure."""
        cost = self.cost
        return cost.mean if cost is not None and cost.low > 0 else 0.0

    @property
    def mark(self) -> str:
        cost = self.cost
        if cost is None:
            return BEST if self.share >= OBVIOUS or not self.candidates else UNTRIED
        name = next((name for least, name in MARKS if self.loss >= least), "")
        return name or (BEST if cost.mean <= 0 else FINE)

    def to_dict(self) -> dict[str, Any]:
        cost = self.cost
        return {
            "number": self.number,
            "words": self.words,
            "kind": self.kind,
            "chance": _interval(self.after),
            "share": round(self.share, 4),
            "mark": self.mark,
            "cost": None if cost is None else _interval(cost),
            "deals": len(self.better),
            "better": self.candidates[self.best].words if self.best is not None and self.loss > 0 else None,
            "line": list(self.line),
            "candidates": [candidate.to_dict() for candidate in self.candidates],
        }


@dataclass
class Review:
    """A game with a verdict on every move."""

    game: str
    title: str
    by: str
    won: bool | None
    ending: str
    verdicts: list[Verdict]
    simulations: int = 0
    seconds: float = 0.0
    complete: bool = False
    """Whether every move that could be in doubt was tried out."""
    notes: tuple[str, ...] = ()
    """What the file did not tell."""
    know_the_seed: bool = False

    def accuracy(self, kind: str | None = None) -> float | None:
        """0 to 100: the mean of exp(−cost ÷ 10 points) over the moves that were in doubt, of one kind or all."""
        costs = [
            one.loss for one in self.verdicts if (kind is None or one.kind == kind) and one.mark and one.candidates
        ]
        return 100.0 * float(np.mean(np.exp(-np.array(costs) / SHARPNESS))) if costs else None

    @property
    def worst(self) -> list[Verdict]:
        """The moves that cost most, at most `LESSONS`."""
        costly = sorted((one for one in self.verdicts if one.loss > 0), key=lambda one: -one.loss)
        return costly[:LESSONS]

    def counts(self) -> dict[str, int]:
        """How many moves have each mark."""
        return {
            mark: sum(one.mark == mark for one in self.verdicts) for mark in (BLUNDER, MISTAKE, INACCURACY, FINE, BEST)
        }

    def lessons(self) -> list[str]:
        """What to do otherwise, the dearest first."""
        found = []
        for one in self.worst:
            assert one.best is not None
            where = f" ({one.kind})" if one.kind else ""
            found.append(
                f"Move {one.number}{where}: not “{one.words}” but “{one.candidates[one.best].words}”, "
                f"{100 * one.loss:.0f} points of winning chance."
            )
        return found

    @property
    def decided(self) -> str:
        """Where the game was decided, in a sentence."""
        if self.worst:
            one = self.worst[0]
            return (
                f"Most was lost with move {one.number}, “{one.words}”: {100 * one.loss:.0f} points of winning chance."
            )
        if self.won is False:
            return "No single move lost the game."
        return "Nothing was clearly given away."

    def to_dict(self) -> dict[str, Any]:
        kinds = dict.fromkeys(one.kind for one in self.verdicts if one.kind)
        return {
            "format": "jimbot-review",
            "format_version": 1,
            "game": self.game,
            "title": self.title,
            "by": self.by,
            "won": self.won,
            "ending": self.ending,
            "know_the_seed": self.know_the_seed,
            "complete": self.complete,
            "simulations": self.simulations,
            "seconds": round(self.seconds, 2),
            "accuracy": {"all": self.accuracy(), **{kind: self.accuracy(kind) for kind in kinds}},
            "counts": self.counts(),
            "decided": self.decided,
            "lessons": self.lessons(),
            "notes": list(self.notes),
            "thresholds": {name: least for least, name in MARKS},
            "confidence": CONFIDENCE,
            "moves": [one.to_dict() for one in self.verdicts],
        }


def _interval(found: Interval) -> dict[str, float]:
    return {
        name: round(float(value), 4) for name, value in zip(("mean", "low", "high"), found_ends(found), strict=True)
    }


def found_ends(found: Interval) -> tuple[float, float, float]:
    """Ends that are not known are as far away as chances go."""
    return found.mean, max(found.low, -1.0), min(found.high, 1.0)


def _within(found: Interval) -> Interval:
    return Interval(found.mean, max(0.0, found.low), min(1.0, found.high), found.spread, found.count)


class Reviewer:
    """Reviews one game; `go_on` as long as there is time."""

    def __init__(
        self,
        recorded: RecordedGame,
        player: Player,
        chances: WinChances,
        moves: range | None = None,
        know_the_seed: bool = False,
        notes: Sequence[str] = (),
    ) -> None:
        """`moves` (from 1) are tried out, the others only looked up. `know_the_seed` deals nothing anew."""
        self.positions = positions = GamePositions(recorded, player.options)
        self.player, self.chances = player, chances
        self._policy = player.shown(player.options)
        self._known = know_the_seed
        self._rng = np.random.default_rng(0)
        self._plans = PlanTable(player.entry)
        self._rollouts: Rollouts | None = None
        decision = self._policy.act(positions.batch.observation, positions.batch.legal_mask)
        looked_up = chances.of_all(positions.batch.observation, decision.values)
        verdicts = [
            self._verdict(number, decision, float(looked_up[positions.rows[number]]), moves)
            for number in range(len(positions.moves))
        ]
        # After a move stands the game before the next one.
        following = [*(one.chance for one in verdicts[1:]), self._final(looked_up)]
        for one, chance in zip(verdicts, following, strict=True):
            one.chance = chance
        self.review = Review(
            positions.game, recorded.title(), player.name, positions.won, positions.ending, verdicts,
            notes=tuple(notes), know_the_seed=know_the_seed,
        )  # fmt: skip

    def _final(self, looked_up: np.ndarray) -> float:
        row = self.positions.end_row
        return float(bool(self.positions.won)) if row is None else float(looked_up[row])

    def _verdict(self, number: int, decision: Decision, chance: float, moves: range | None) -> Verdict:
        move, row = self.positions.moves[number], self.positions.rows[number]
        shares = decision.probabilities[row]
        share = float(shares[move.actions[0]])
        found = Verdict(number + 1, move.words, move.kind, chance, self.chances.error, share)
        if move.legal < 2 or share >= OBVIOUS or (moves is not None and number + 1 not in moves):
            return found
        single = move.actions[0] if len(move.actions) == 1 else -1
        likely = [int(action) for action in np.argsort(-shares, kind="stable")[: ALTERNATIVES + 1] if action != single]
        wanted = [action for action in likely if shares[action] >= LEAST_LIKELY]
        heuristic = self._heuristic_move(row)
        if heuristic not in (None, single, *wanted):
            wanted = [*wanted[: ALTERNATIVES - 1], heuristic]
        found.candidates = [
            Candidate(action, "", float(shares[action])) for action in wanted[:ALTERNATIVES] if action is not None
        ]
        return found

    def _heuristic_move(self, row: int) -> int | None:
        """What the heuristic that plays tries of this game would do, where it sees what it needs."""
        plans, batch = self.player.entry.plans, self.positions.batch
        if plans is None or plans.player is None:
            return None
        heuristic = heuristic_policy(plans.player, self.positions.game)
        needed = with_needed_options(heuristic)
        if any(self.player.options.get(name) != value for name, value in needed.items()):
            return None
        return int(heuristic.act(batch.observation[row : row + 1], batch.legal_mask[row : row + 1]).actions[0])

    # --- simulations ---

    def go_on(self, seconds: float = SECONDS) -> Iterator[Review]:
        """Tries moves out until every verdict stands or time is over; yields the review again and again."""
        began, spent = time.monotonic(), self.review.seconds
        until = began + seconds
        doubtful = sorted((one for one in self.review.verdicts if one.candidates), key=lambda one: one.share)
        self._name_candidates(doubtful)
        try:
            for batch in self._batches(doubtful):
                self._try(batch)
                self.review.seconds = spent + time.monotonic() - began
                yield self.review
                if time.monotonic() >= until:
                    break
            else:
                self.review.complete = True
            self._draw_lines()
        finally:
            self.review.seconds = spent + time.monotonic() - began
        yield self.review

    def what_if(self, number: int, action: int, deals: int = 3 * MEASURING) -> dict[str, Any]:
        """What another move at move `number` (from 1) gains over the one that was made, and what might follow."""
        one = self.review.verdicts[number - 1]
        table = self.positions.table(number - 1)
        try:
            if not table.legal_mask[0, action]:
                raise UsageError(f"That is not possible at move {number}; choose another.")
            candidate = Candidate(action, table.describe_action(0, action), 0.0)
        finally:
            table.close()
        place, move = number - 1, self.positions.moves[number - 1]
        row = self.positions.rows[place]
        settings, many = self._settings(row), 1 if self._known else deals
        seeds = self._rng.integers(0, 2**63, many, dtype=np.uint64)
        starts = ((self.positions.last_rows[place], move.actions[-1]), (row, action))
        parts = [_simulations(start, taken, seeds, settings) for start, taken in starts]
        brought = self._simulator().returns(self.positions.batch, _joined(parts))
        candidate.gains = (brought[many:] - brought[:many]).tolist()
        return {**candidate.to_dict(), "number": number, "line": list(self._line(one, candidate))}

    def close(self) -> None:
        if self._rollouts is not None:
            self._rollouts.close()
            self._rollouts = None

    def _name_candidates(self, verdicts: Sequence[Verdict]) -> None:
        for one in verdicts:
            table = self.positions.table(one.number - 1)
            for candidate in one.candidates:
                candidate.words = table.describe_action(0, candidate.action)
            table.close()

    def _batches(self, doubtful: list[Verdict]) -> Iterator[list[Verdict]]:
        """What to try next, a handful of moves at a time: all once, then where it matters."""
        new = [one for one in doubtful if one.best is None]
        size = max(1, _COPIES // (CHOOSING * (ALTERNATIVES + 1)))
        yield from (new[first : first + size] for first in range(0, len(new), size))
        while True:
            open_ones = [one for one in doubtful if self._hangs(one)]
            if not open_ones:
                return
            open_ones.sort(key=lambda one: len(one.better) - 400 * abs(one.cost.mean if one.cost else 1.0))
            yield open_ones[: max(1, _COPIES // (2 * MEASURING))]

    def _hangs(self, one: Verdict) -> bool:
        """Whether more deals could change what a move is called."""
        cost = one.cost
        if cost is None:
            return len(one.better) < MOST_DEALS
        if self._known or len(one.better) >= MOST_DEALS:
            return False
        edges = [0.0, *(least for least, _ in MARKS)]
        return cost.high > MARKS[-1][0] and any(cost.low <= edge <= cost.high for edge in edges)

    def _try(self, verdicts: Sequence[Verdict]) -> None:
        """Chooses the best other move of those that have none yet, measures it for the others."""
        parts, owners = [], []
        for one in verdicts:
            choosing = one.best is None
            many = 1 if self._known else CHOOSING if choosing else MEASURING
            deals = self._rng.integers(0, 2**63, many, dtype=np.uint64)
            chosen = one.candidates if choosing else [one.candidates[one.best or 0]]
            place, move = one.number - 1, self.positions.moves[one.number - 1]
            row, last = self.positions.rows[place], self.positions.last_rows[place]
            starts = [(last, move.actions[-1]), *((row, candidate.action) for candidate in chosen)]
            settings = self._settings(row)
            parts += [_simulations(start, action, deals, settings) for start, action in starts]
            owners.append((one, choosing, chosen, many))
        brought = self._simulator().returns(self.positions.batch, _joined(parts))
        self.review.simulations += len(brought)
        first = 0
        for one, choosing, chosen, many in owners:
            found = brought[first : first + many * (1 + len(chosen))].reshape(1 + len(chosen), many)
            first += found.size
            for candidate, gained in zip(chosen, found[1:] - found[0], strict=True):
                candidate.gains += gained.tolist()
            if choosing:
                one.best = int(np.argmax(found[1:].mean(axis=1)))
            if not choosing or self._known:
                copies = MEASURING if self._known else 1  # nothing is left to chance: one deal is all there is
                one.played += found[0].tolist() * copies
                one.better += found[1 if not choosing else 1 + (one.best or 0)].tolist() * copies

    def _settings(self, row: int) -> PlanSettings:
        batch = self.positions.batch
        kind = self._plans.kind_of(batch.observation[row : row + 1], batch.legal_mask[row : row + 1])[0]
        return self._plans.kinds[kind]

    def _simulator(self) -> Rollouts:
        if self._rollouts is None:
            plans = self.player.entry.plans
            opponent = None
            if plans is not None and plans.opponent is not None and self.player.entry.spec.players > 1:
                opponent = heuristic_policy(plans.opponent, self.positions.game)
            self._rollouts = Rollouts(
                self.positions.batch, self._policy, gamma=1.0, copies=_COPIES, player=self._policy, opponent=opponent,
                chances=self.chances, redraw=not self._known,
            )  # fmt: skip
        return self._rollouts

    def _draw_lines(self) -> None:
        """What might follow the better move, for those that cost something: one deal, played on."""
        for one in self.review.verdicts:
            if one.loss > 0 and not one.line:
                one.line = self._line(one, one.candidates[one.best or 0])

    def _line(self, one: Verdict, candidate: Candidate) -> tuple[str, ...]:
        table = self.positions.table(one.number - 1)
        try:
            if not self._known:
                table.redraw_hidden(np.array([0]), self._rng.integers(0, 2**63, 1, dtype=np.uint64))
            action, words = candidate.action, []
            for _ in range(LINE):
                words.append(table.describe_action(0, action))
                table.step(np.resize(np.array([action]), table.num_rows))
                if table.terminated[0] or table.truncated[0]:
                    break
                action = int(self._policy.act(table.observation[:1], table.legal_mask[:1]).actions[0])
        finally:
            table.close()
        return tuple(words)


def _simulations(start: int, action: int, deals: np.ndarray, settings: PlanSettings) -> Simulations:
    """One move in some deals."""
    same = np.full((4, len(deals)), [[start], [action], [settings.depth], [max(HORIZON, settings.horizon)]])
    return Simulations(same[0], same[1], deals, same[2], same[3])


def _joined(parts: Sequence[Simulations]) -> Simulations:
    return Simulations(*(np.concatenate(values) for values in zip(*parts, strict=True)))


def review_game(
    recorded: RecordedGame,
    player: Player,
    seconds: float = SECONDS,
    moves: range | None = None,
    know_the_seed: bool = False,
    notes: Sequence[str] = (),
) -> Iterator[Review]:
    """Reviews a recorded game as that player would have played it; yields the review as it grows: first the curve.

    The player's chances to win must have been measured (`jimbot evaluate` does it for a run).
    """
    if player.game != recorded.game:
        raise UsageError(f"The recording is of {recorded.game}, but {player.name} plays {player.game}; name another.")
    chances = win_chances(player)
    if chances is None:
        raise UsageError(
            f"How often {player.name} wins from where it stands was never measured; `jimbot evaluate` does that for a "
            "run, and shipped policies have it."
        )
    reviewer = Reviewer(recorded, player, chances, moves, know_the_seed, notes)
    try:
        yield reviewer.review
        if seconds > 0:
            yield from reviewer.go_on(seconds)
    finally:
        reviewer.close()
