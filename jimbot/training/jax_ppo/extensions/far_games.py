"""Games of a training run that came far, kept with what they held: what `jimbot graph discover --from-run` learns from.

Only the newest are kept, in one small file of the run that is written with every checkpoint, a line each: seed, won,
reached, at, player (`knowledge.played.PlayedRun` reads them). What a game holds is read from its observations when it
reaches a milestone, so nothing is asked of the game itself.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jimbot.games.contract import available_games, game_entry
from jimbot.runs.files import read_text, write_atomically
from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.records import Array
from jimbot.training.settings.record import TrainSettings

if TYPE_CHECKING:
    from jimbot.training.jax_ppo.trainer import JaxPPOTrainer

FILE = "far_runs.jsonl"
FAR = 4  # the milestone from which on what a game holds is kept
KEPT = ("jokers", "played", "money", "cards", "deck_shape", "deck", "vouchers")
"""What is kept of a state; the rest is asked by nobody."""


class FarGames(Extension):
    """`keep_games`: follows the games of a batch, rollout by rollout, where observations say what a game holds."""

    name, needs_host = "far_games", False

    @classmethod
    def wanted(cls, settings: TrainSettings) -> bool:
        entry = game_entry(settings.game) if settings.game in available_games() else None
        if entry is None or not settings.saving.keep_games or entry.knowledge is None or entry.milestones is None:
            return False
        return entry.knowledge.read_observation is not None and entry.milestones.seen is not None

    def open(self, trainer: JaxPPOTrainer) -> None:
        self._entry, self._run = game_entry(self.settings.game), trainer.session.run.path
        lines = (read_text(self._run / FILE) or "").splitlines()
        self.lines: deque[str] = deque(lines, maxlen=self.settings.saving.keep_games)
        self._at: list[dict[int, Any]] = []
        self._seeds = np.zeros(0, np.uint64)
        self._won = self.spec.episode_stats.index("won")

    def updated(self, trainer: JaxPPOTrainer, update: int, losses: Mapping[str, Array]) -> None:
        if (collector := trainer.collector) is not None:
            ended = collector.terminated | collector.truncated
            self.follow(collector.observation, ended, collector.stats, collector.game.seeds)

    def follow(self, observation: np.ndarray, ended: np.ndarray, stats: np.ndarray, seeds: np.ndarray) -> None:
        """A rollout: `observation` (T, N, D) before each step, whether it `ended` (T, N) the game and with which
        `stats` (T, N, S); `seeds` (N,) are those that the rows play now."""
        knowledge, milestones = self._entry.knowledge, self._entry.milestones
        if knowledge is None or knowledge.read_observation is None or milestones is None or milestones.seen is None:
            return
        if not self._at:
            self._at, self._seeds = [{} for _ in range(ended.shape[1])], seeds.copy()
        for turn in range(len(ended)):
            reached = milestones.seen(observation[turn])
            for row in np.flatnonzero(reached >= FAR):
                if int(reached[row]) not in self._at[row]:
                    state = knowledge.read_observation(observation[turn, row])
                    self._at[row][int(reached[row])] = {name: state[name] for name in KEPT if name in state}
            for row in np.flatnonzero(ended[turn]):
                self._end(int(row), bool(stats[turn, row, self._won]))
        self._seeds = seeds.copy()

    def _end(self, row: int, won: bool) -> None:
        at, self._at[row] = self._at[row], {}
        if not at:
            return
        write = self._entry.seed_form.write if self._entry.seed_form else str
        kept: dict[str, Any] = {"seed": write(int(self._seeds[row])), "won": won, "reached": max(at)}
        kept |= {"at": {number: at[number] for number in (min(at), max(at))}, "player": self._run.name}
        self.lines.append(json.dumps(kept, separators=(",", ":")))

    def saved(self, trainer: JaxPPOTrainer) -> None:
        write_atomically(self._run / FILE, "".join(f"{line}\n" for line in self.lines).encode())
