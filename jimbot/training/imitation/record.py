"""Playing a teacher and writing down what it does.

Exactly the games begun are played to their end: the first N games started are the ones recorded, so short games are
not over-represented (as they would be if the first N to end were taken). A batch restarts ended games by itself from
seeds of the train bank; when no more games are wanted a row is held, and the teacher is only asked about live rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jimbot.errors import DatasetError, UsageError
from jimbot.games.contract import BatchGame, make
from jimbot.games.seeds import MOST_GAMES
from jimbot.policies.contract import Policy
from jimbot.policies.heuristics import with_needed_options
from jimbot.training.imitation import dataset
from jimbot.training.session.interrupts import stop_requests

CHUNK_ROWS = 4096  # about; a chunk is a whole number of steps of all rows
MAX_STEPS = 100_000  # of one game; a teacher that never ends a game is given up

Progress = Callable[[int, int], None]
"""Called whenever games end, with (games over, games in all)."""


def record(
    policy: Policy,
    game_id: str,
    games: int,
    output: str | Path,
    *,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    num_envs: int = 64,
    deterministic: bool = True,
    noise: float = 0.0,
    probabilities: bool = False,
    masks: bool = True,
    progress: Progress | None = None,
    note: Callable[[str], None] = lambda sentence: None,
) -> dataset.DatasetInfo:
    """Plays `games` games of the train bank with `policy` and writes them to `output`, whole or not at all.

    Ctrl+C keeps the games that are complete. With `noise` that share of moves is played at random (a clone then sees
    how its teacher gets out of trouble); what is written is still the teacher's choice. Without `masks` what was legal
    is computed again when the file is read, for games whose observation tells it.
    """
    if games < 1 or num_envs < 1:
        raise UsageError(f"games is {games} and num_envs {num_envs}; expected at least 1 of each.")
    if games > MOST_GAMES:
        raise UsageError(f"games is {games:,}; expected at most {MOST_GAMES:,} in one recording.")
    if not 0 <= noise < 1:
        raise UsageError(f"noise is {noise}; expected a share from 0 to below 1.")
    options = with_needed_options(policy, options)
    legal_masks = None if masks else dataset.masks_from_observations(game_id)
    began = time.perf_counter()
    game = make(game_id, min(num_envs, games), seed=seed, options=options)
    info = dataset.DatasetInfo.for_game(
        game.spec,
        game_options=options,
        players=game.spec.players,
        policy=policy.name,
        deterministic=deterministic,
        noise=noise,
        seed=seed,
        probabilities=probabilities,
    )
    try:
        with (
            dataset.writing_dataset(Path(output), legal_masks) as writer,
            stop_requests(lambda: note("Keeping the games that are complete (Ctrl+C again to keep nothing)…")) as stop,
        ):
            recording = _Recording(game, policy, games, writer, info, progress)
            recording.play(lambda: stop.reason)
            done = recording.summary(stop.reason)
            if done.games == 0:
                raise DatasetError(f"No game was finished ({done.stopped}); nothing was written to {output}.")
            seconds = time.perf_counter() - began
            done = done.model_copy(update={"seconds": seconds})
            return writer.finish(done, recording.reward(), recording.trajectories)
    finally:
        game.close()


class _Recording:
    """The games of one recording and what is known about each."""

    def __init__(
        self,
        game: BatchGame,
        policy: Policy,
        games: int,
        writer: dataset.DatasetWriter,
        info: dataset.DatasetInfo,
        progress: Progress | None,
    ) -> None:
        self.game, self.policy, self.games, self.writer, self.info = game, policy, games, writer, info
        self.progress = progress
        spec = game.spec
        self.players = spec.players
        count = game.num_rows  # grows as games begin
        self.trajectories = {
            "seed": np.zeros(count, np.uint64),
            "return": np.zeros(count, np.float64),
            "length": np.zeros(count, np.int64),
            "ended": np.full(count, dataset.UNFINISHED, np.uint8),
            "stats": np.zeros((count, len(spec.episode_stats)), np.float32),
        }
        self.current = np.full(game.num_rows, -1, np.int32)  # each row's trajectory; −1: no more games wanted
        self.begun = 0
        self.steps = max(1, CHUNK_ROWS // game.num_rows)
        # A reward belongs to its row's last decision, which may be in an earlier chunk where rows wait for others.
        self.rewards: list[np.ndarray] = []  # per chunk (num_rows, steps)
        self.decided: list[np.ndarray] = []  # per chunk (num_rows · steps,) bool, which places were decisions
        self.last_decision = np.full((game.num_rows, 2), -1)  # (chunk, turn) of each row; −1: none in this game yet
        shape = (game.num_rows, self.steps)
        self.slab = {
            "observation": np.zeros((*shape, spec.observation.size), np.float32),
            "legal_mask": np.zeros((*shape, spec.actions.size), bool),
            "action": np.zeros(shape, np.int32),
            "trajectory": np.full(shape, -1, np.int32),
        }
        if info.probabilities:
            self.slab["probabilities"] = np.zeros((*shape, spec.actions.size), np.float16)

    def play(self, stop: Callable[[], str | None]) -> None:
        """Until all games are over, or `stop` gives a reason."""
        game = self.game
        rng = np.random.default_rng([self.info.seed, 1])
        game.reset()
        self._new_chunk()
        self._begin(np.arange(game.num_envs))
        turn = 0
        while (self.current >= 0).any() and not stop():
            self._step(turn, rng)
            turn += 1
            if turn == self.steps:
                self._flush()
                turn = 0
        self._flush()
        for name, values in self.trajectories.items():
            self.trajectories[name] = values[: self.begun * self.players]

    def _step(self, turn: int, rng: np.random.Generator) -> None:
        game, slab = self.game, self.slab
        live = self.current >= 0
        asked = np.flatnonzero(live & game.acting)
        actions = np.zeros(game.num_rows, np.int64)
        if len(asked):
            legal = game.legal_mask[asked]
            decision = self.policy.act(game.observation[asked], legal, self.info.deterministic, rng)
            slab["observation"][asked, turn] = game.observation[asked]
            slab["legal_mask"][asked, turn] = legal
            slab["action"][asked, turn] = decision.actions
            slab["trajectory"][asked, turn] = self.current[asked]
            self.last_decision[asked] = len(self.decided), turn
            self.trajectories["length"][self.current[asked]] += 1
            if self.info.probabilities:
                slab["probabilities"][asked, turn] = decision.probabilities
            actions[asked] = _disturbed(decision.actions, legal, self.info.noise, rng)
        game.step(actions, hold=None if live.all() else ~live)
        self._note_rewards(np.flatnonzero(live))
        self._note_ends(live)

    def _note_rewards(self, rows: np.ndarray) -> None:
        reward = self.game.reward[rows]
        self.trajectories["return"][self.current[rows]] += reward
        chunks, turns = self.last_decision[rows].T
        for chunk in np.unique(chunks[chunks >= 0]).tolist():
            there = chunks == chunk
            self.rewards[chunk][rows[there], turns[there]] += reward[there]

    def _note_ends(self, live: np.ndarray) -> None:
        game, known = self.game, self.trajectories
        too_long = np.zeros(game.num_rows, bool)
        too_long[live] = known["length"][self.current[live]] >= MAX_STEPS
        ended = live & (game.terminated | game.truncated)
        rows = np.flatnonzero(ended)
        if len(rows):
            which = self.current[rows]
            known["ended"][which] = np.where(game.truncated[rows], dataset.TRUNCATED, dataset.TERMINATED)
            known["stats"][which] = game.final_stats[rows]
        finished = np.flatnonzero((ended | (live & too_long)).reshape(-1, self.players).any(axis=1))
        if len(finished):
            self.current.reshape(-1, self.players)[finished] = -1
            # A game given up still runs in its row, so that row takes no further one.
            self._begin(np.flatnonzero(ended.reshape(-1, self.players).any(axis=1)))
            if self.progress is not None:
                self.progress(int(self.begun - (self.current >= 0).sum() // self.players), self.games)

    def _begin(self, games: np.ndarray) -> None:
        """Takes the games that have just started in these places, as long as more are wanted."""
        games = games[: self.games - self.begun]
        if (self.begun + len(games)) * self.players > len(self.trajectories["seed"]):
            for name, values in self.trajectories.items():
                self.trajectories[name] = np.concatenate([values, np.zeros_like(values)])  # 0 is UNFINISHED
        for place in games.tolist():
            rows = place * self.players + np.arange(self.players)
            self.current[rows] = self.begun * self.players + np.arange(self.players)
            self.last_decision[rows] = -1
            self.trajectories["seed"][self.current[rows]] = self.game.seeds[rows]
            self.begun += 1

    def _flush(self) -> None:
        """Writes the slab, game by game, without the places where nobody decided."""
        decided = self.slab["trajectory"].reshape(-1) >= 0
        if decided.any():
            self.writer.add_chunk(
                {name: values.reshape(-1, *values.shape[2:])[decided] for name, values in self.slab.items()}
            )
        self.decided.append(decided)
        self._new_chunk()

    def _new_chunk(self) -> None:
        self.slab["trajectory"][:] = -1
        self.rewards.append(np.zeros(self.slab["trajectory"].shape, np.float32))

    def reward(self) -> np.ndarray:
        """(rows,) float32 of all decisions written, in their order."""
        parts = [reward.reshape(-1)[decided] for reward, decided in zip(self.rewards, self.decided, strict=False)]
        return np.concatenate(parts)

    def summary(self, stopped: str | None) -> dataset.DatasetInfo:
        """The results of the finished games."""
        known = self.trajectories
        over = known["ended"] != dataset.UNFINISHED
        if stopped is None and not over.all():
            stopped = f"{int((~over).sum()) // self.players} games did not end within {MAX_STEPS:,} steps"
        stats: dict[str, float] = {}
        if over.any():
            for name, values in zip(self.game.spec.episode_stats, known["stats"][over].T, strict=True):
                stats[name] = float(values.max() if name.startswith("highest_") else values.mean())
        return self.info.model_copy(
            update={
                "games": int(over.sum()) // self.players,
                "rows": int(known["length"][over].sum()),
                "trajectories": len(over),
                "stopped": stopped,
                "truncated": int((known["ended"] == dataset.TRUNCATED).sum()) // self.players,
                "mean_return": float(known["return"][over].mean()) if over.any() else None,
                "mean_length": float(known["length"][over].mean()) if over.any() else None,
                "stats": stats,
            }
        )


def _disturbed(actions: np.ndarray, legal: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    """The teacher's actions, a share of them replaced by random legal ones."""
    if noise == 0:
        return actions
    random = np.where(legal, rng.random(legal.shape), -1.0).argmax(axis=1)
    return np.where(rng.random(len(actions)) < noise, random, actions)
