"""A policy plays live games: reads the state, decides, makes the move, reads what came of it, until the run is over.

A state that can be read exactly is the policy's. One that cannot is played by a heuristic player, or not at all, as was
asked (`unread`): what is readable but not wholly known by the game's own heuristic player, what is not readable at all
by the plainest moves there are. A move that was refused, or that did not happen three times, is not tried again in its
state.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from jimbot.adviser.reply import Advice
from jimbot.errors import UsageError
from jimbot.evaluation import Evaluation
from jimbot.evaluation.play import Games
from jimbot.games.entry import GameEntry
from jimbot.games.hooks.programs import LiveCall, LiveResult, LiveRun, Standing
from jimbot.games.seeds import seed_number
from jimbot.policies.contract import Decision, decide
from jimbot.policies.players import Player
from jimbot.services.live_play.client import LiveError, RefusedError
from jimbot.services.live_play.driver import LiveDriver, LostRunError
from jimbot.services.live_play.record import LiveRecord, state_hash

Unread = Literal["fallback", "stop"]
MOST_MOVES = 5000  # of one run
MOST_TRIES = 3  # of one move that does not happen
SIMPLE = "simple moves"


class LeftError(LiveError):
    """The person who confirms moves has left."""


@dataclass
class Thought:
    """One decision, before it is made."""

    action: int | None
    """None: nothing could be read, so the move is no action of ours."""
    by: str
    call: LiveCall | None = None
    decision: Decision | None = None
    mask: np.ndarray | None = None
    seconds: float = 0.0
    advice: Advice | None = None
    """What an adviser said, where it was asked and followed."""

    @property
    def value(self) -> float | None:
        return None if self.decision is None else float(self.decision.values[0])


@dataclass
class PlayedLive:
    """One run, over or given up."""

    seed: str
    moves: int = 0
    seconds: float = 0.0
    finished: bool = False
    trouble: str = ""
    """Why it was given up."""
    result: LiveResult | None = None
    counts: Counter[str] = field(default_factory=Counter)
    """Unanswered, refused, looks, restarts, and decisions by who made them."""


class Audience(Protocol):
    """A person or program that watches, and may choose another move."""

    def decided(self, run: LiveRun, thought: Thought, played: PlayedLive) -> int | None:
        """A decision about to be made; another action instead of it, or None. Raises LeftError to leave."""
        ...

    def ended(self, played: PlayedLive) -> None: ...


class LivePlayer:
    """Plays runs on one server."""

    def __init__(
        self,
        entry: GameEntry,
        player: Player,
        driver: LiveDriver,
        *,
        fallback: Player | None = None,
        unread: Unread = "fallback",
        deterministic: bool = True,
        record: LiveRecord | None = None,
        audience: Audience | None = None,
    ) -> None:
        self.entry, self.player, self.driver = entry, player, driver
        self._fallback, self._unread, self._deterministic = fallback, unread, deterministic
        self._record, self._audience = record, audience
        self._options = entry.spec.parse_options(player.options)
        self._rng = np.random.default_rng()
        self._problem = ""
        """Why the last state could not be read."""
        self._barred: set[int] = set()
        self._tries: Counter[int] = Counter()

    def play(self, seed: str = "", join: bool = False) -> PlayedLive:
        """One run, from its start (or from where it stands: `join`) to its end."""
        began, before = time.monotonic(), Counter(self.driver.counts)
        played = PlayedLive(seed)
        run: LiveRun | None = None
        try:
            state = self.driver.settled() if join else self.driver.begin(self._options, seed)
            played.seed = self.driver.play.seed(state) or seed
            run = self.driver.play.follow(self.driver.dialect, self._options)
            self._begin(played, state)
            self._go_on(run, state, played)
            played.finished = True
        except LiveError as problem:
            played.trouble = str(problem)
            if isinstance(problem, LeftError):
                raise
        finally:
            played.seconds = time.monotonic() - began
            played.counts.update(self.driver.counts - before)
            self._end(run, played)
        return played

    # --- a run ---

    def _go_on(self, run: LiveRun, state: Any, played: PlayedLive) -> None:
        problem = self._see(run, state, None)
        while True:
            standing = self.driver.play.standing(state)
            if standing is Standing.OVER:
                return
            if standing is Standing.IDLE:
                raise LostRunError("The run is gone: the game shows its menu.")
            if played.moves >= MOST_MOVES:
                raise LiveError(f"The run was given up after {MOST_MOVES:,} moves.")
            thought = self._think(run, state, problem)
            if self._audience is not None and thought.action is not None:
                other = self._audience.decided(run, thought, played)
                thought.action = thought.action if other is None else other
            if thought.action is not None:
                thought.call = run.request(thought.action)
            played.moves += 1
            played.counts[f"by {thought.by}"] += 1
            played.counts["advised"] += thought.advice is not None
            if thought.call is None:  # a choice that only prepares a move
                self._note(played, thought, state, state, run, "")
                continue
            before = state
            state, refusal = self._make(run, thought)
            changed = state != before
            if changed or not refusal:
                problem = self._see(run, state, thought.call)
            self._learn(run, thought, changed, refusal)
            self._note(played, thought, before, state, run, refusal)

    def _see(self, run: LiveRun, state: Any, after: LiveCall | None) -> str:
        """Reads a state: nothing, or why it cannot be read."""
        self._problem = ""
        try:
            run.see(state, after)
        except UsageError as problem:
            self._problem = str(problem)
        return self._problem

    def _think(self, run: LiveRun, state: Any, problem: str) -> Thought:
        if problem:
            return self._simple(state, problem)
        player, unknown = self.player, run.assumed
        if unknown:
            if self._unread == "stop" or self._fallback is None:
                raise LiveError(f"The state cannot be read exactly: {unknown[0]} is not known. It is not played.")
            player = self._fallback
        began = time.monotonic()
        mask = run.playable_mask()
        mask[list(self._barred)] = False
        if not mask.any():
            raise LiveError("No move is left that the game takes; the run was given up.")
        run.game.legal_mask[0] = mask
        decision = decide(player.policy, run.game, np.ones(1, bool), self._deterministic, self._rng)
        advice = getattr(player.policy, "latest", {}).get(0)
        return Thought(int(decision.actions[0]), player.name, None, decision, mask, time.monotonic() - began, advice)

    def _simple(self, state: Any, problem: str) -> Thought:
        """A move without understanding, where that is allowed."""
        call = self.driver.play.simple(state) if self._unread == "fallback" and not self._barred else None
        if call is None:
            raise LiveError(f"{problem} The run was not played on.")
        return Thought(None, SIMPLE, call)

    def _make(self, run: LiveRun, thought: Thought) -> tuple[Any, str]:
        """Makes the move; the state after it, and the refusal if there was one."""
        assert thought.call is not None
        try:
            answer = self.driver.make(thought.call)
        except RefusedError as refusal:
            return self.driver.settled(), str(refusal)
        expected = answer is not None and thought.action is not None and run.expects(answer, thought.call)
        return (answer if expected else self.driver.settled()), ""

    def _learn(self, run: LiveRun, thought: Thought, changed: bool, refusal: str) -> None:
        """What was refused, or did not happen again and again, is not tried again until the state changes."""
        action = -1 if thought.action is None else thought.action
        if changed and run.happened is not False:
            self._barred.clear()
            self._tries.clear()
            return
        self._tries[action] += 1
        if refusal or self._tries[action] >= MOST_TRIES:
            self._barred.add(action)

    # --- what is written down ---

    def _begin(self, played: PlayedLive, state: Any) -> None:
        self._barred.clear()
        self._tries.clear()
        if self._record is not None:
            policy = self.player.policy
            self._record.begin(
                game=self.entry.spec.id, address=self.driver.client.address, dialect=self.driver.dialect,
                policy=self.player.name, policy_hash=getattr(policy, "digest", ""), seed=played.seed,
                options=self.player.options, state=state, state_hash=state_hash(state),
            )  # fmt: skip

    def _note(self, played: PlayedLive, thought: Thought, before: Any, after: Any, run: LiveRun, refusal: str) -> None:
        if self._record is None:
            return
        wire = self.driver.made if thought.call is not None else None
        labels, decision = self.entry.spec.actions.labels, thought.decision
        legal = [] if thought.mask is None else np.flatnonzero(thought.mask).tolist()
        self._record.write(
            "decision", step=played.moves, by=thought.by,
            action=thought.action, label=None if thought.action is None else labels[thought.action],
            request=None if wire is None else wire.request,
            response=None if wire is None else wire.response, refusal=refusal,
            state_before=state_hash(before), state_after=state_hash(after), state=after if thought.call else None,
            legal=legal, probabilities=None if decision is None else decision.probabilities[0][legal].round(6),
            value=thought.value, policy_ms=1000 * thought.seconds,
            wire_ms=None if wire is None else 1000 * wire.seconds,
            policy=self.player.name, policy_hash=getattr(self.player.policy, "digest", ""),
            dialect=self.driver.dialect, happened=run.happened, unknown=run.assumed,
            used_llm=thought.advice is not None and thought.advice.used_llm,
            advice=None if thought.advice is None else f"{thought.advice.source}: {thought.advice.reason}",
        )  # fmt: skip

    def _end(self, run: LiveRun | None, played: PlayedLive) -> None:
        if run is not None and not self._problem:
            played.result = run.result()
        if self._record is not None:
            self._record.write(
                "end", seed=played.seed, moves=played.moves, finished=played.finished, trouble=played.trouble,
                counts=dict(played.counts),
            )  # fmt: skip
        if self._audience is not None:
            self._audience.ended(played)


# --- what live games say about a policy, in the form every judgement has ---


def summarised(
    entry: GameEntry, player: Player, played: Sequence[PlayedLive], where: str, deterministic: bool = True
) -> Evaluation:
    """An evaluation of the runs that were begun; those given up count as unfinished."""
    spec, count = entry.spec, len(played)
    stats = np.full((count, len(spec.episode_stats)), np.nan)
    terms, returns = np.zeros((count, len(spec.reward_terms))), np.zeros(count)
    for row, one in enumerate(played):
        if one.result is not None:
            returns[row], terms[row] = one.result.total_return, one.result.reward_terms
            if one.finished:
                stats[row] = one.result.stats
    games = Games(
        game=spec.id,
        policy=player.name,
        seeds=np.array([_number(entry, one.seed) for one in played], np.uint64),
        returns=returns,
        lengths=np.array([one.moves for one in played], np.int64),
        reward_terms=terms,
        stats=stats,
        truncated=np.zeros(count, bool),
        unfinished=np.array([not one.finished for one in played], bool),
        illegal_actions=sum(one.counts["refused"] for one in played),
        seconds=sum(one.seconds for one in played),
    )
    return Evaluation(games, where, deterministic, player.options)


def _number(entry: GameEntry, seed: str) -> int:
    """A seed as a number; 0 for one that has none, as short ones of the bought game."""
    try:
        return seed_number(entry, seed)
    except UsageError:
        return 0
