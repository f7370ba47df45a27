"""DQN from games that others play, as they are published (`jimbot train GAME --from-bus ADDRESS`).

Whoever plays (a served policy, a heuristic, a person, a mod) need not say how likely its moves were: DQN asks only what
was seen, done and paid, so it can learn from all of them, and whatever it learned from once it may learn from again.
Where the games come from registers itself (entry points of the group `jimbot.streams`); here they are taken into the
compressed replay, whole, and every so many of their steps (train_freq) cost one gradient step, as when the learner
plays itself; where more is played than can be learned, all of it is taken in and drawn from.

The place in the log and the replay are parts of one checkpoint, so a game is in the replay once, whoever is killed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jimbot import plugins
from jimbot.errors import SettingsError
from jimbot.games.contract import game_entry
from jimbot.games.hooks.programs import PlayedGame
from jimbot.games.spec import GameSpec
from jimbot.policies.reward_transform import transform_reward
from jimbot.training.sb3.algorithms import MaskedDQN
from jimbot.training.sb3.games import TrainingGames
from jimbot.training.sb3.replay import CompressedReplay
from jimbot.training.session.log_rows import Measured
from jimbot.training.settings.record import TrainSettings

STEPS = 8192  # taken in one update, about
LONGEST = 256  # gradient steps of one update: who plays quicker than this learns is taken in, and not waited for
PAUSE = 0.1  # seconds between two looks where nothing new was


def check_streamed(settings: TrainSettings) -> None:
    """Raises where a run cannot learn so."""
    if settings.algorithm != "DQN":
        raise SettingsError(
            f"from_bus is {settings.offline.from_bus}, but {settings.algorithm} learns from its own play alone. "
            "Use --algorithm DQN."
        )
    if settings.replay.kind == "plain":
        raise SettingsError("The plain replay takes no games of others (from_bus). Leave --replay out.")
    if game_entry(settings.game).two_sides is not None:
        raise SettingsError(f"Game '{settings.game}' has two sides; from_bus is for games of one player.")


class StreamedGames:
    """What is learned from, and how far."""

    def __init__(self, settings: TrainSettings) -> None:
        self._settings = settings
        address, options = str(settings.offline.from_bus), dict(settings.game_options)
        self._source = plugins.provided("jimbot.streams", "bus")(address, settings.game, options)
        self._games, self._owed = 0, 0.0  # taken so far; gradient steps that are due
        self._waiting = False

    def take(self, note: Callable[[str], None]) -> list[PlayedGame]:
        """What was published since; none after a moment where that is nothing, which is noted once."""
        found = self._source.take(STEPS)
        if not found:
            if not self._waiting and self._source.position >= self._source.end:
                self._waiting = True
                note(f"Waiting for games of '{self._settings.game}' on {self._source.address} (jimbot bus play …).")
            time.sleep(PAUSE)
        else:
            self._waiting = False
        return found

    def learn(self, model: MaskedDQN, place: TrainingGames, games: Sequence[PlayedGame]) -> dict[str, float]:
        """Takes the games into the replay and learns for as long as their steps pay."""
        dqn, replay = self._settings.dqn, model.replay_buffer
        assert isinstance(replay, CompressedReplay)
        for game in games:
            place.saw(game.observation, game.reward)
            transform = self._settings.reward_transform
            replay.add_game(game, transform_reward(transform, game.reward).astype(np.float32))
            model.num_timesteps += len(game.action)
        self._games += len(games)
        if model.num_timesteps <= dqn.learning_starts or not replay.store.tree.total:
            return {}
        self._owed = min(LONGEST, self._owed + sum(len(game.action) for game in games) / dqn.train_freq)
        every = max(1, dqn.target_update_interval // dqn.train_freq)
        losses: list[dict[str, float]] = []
        while (due := min(int(self._owed), every - model._n_updates % every)) > 0:
            model.train(due, dqn.batch_size)
            losses.append(model.losses)
            self._owed -= due
            if model._n_updates % every == 0:
                model.policy.q_net_target.load_state_dict(model.policy.q_net.state_dict())
        found = {name: float(np.mean([one[name] for one in losses])) for name in (losses[0] if losses else ())}
        found.pop("train/exploration_rate", None)  # others explore
        return found

    def metrics(self) -> dict[str, float]:
        return {"stream/games": float(self._games), **self._source.metrics()}

    def arrays(self) -> dict[str, np.ndarray]:
        """For a checkpoint."""
        return {**self._source.arrays(), "counts": np.array([self._games, self._owed])}

    def load_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        games, self._owed = arrays["counts"].tolist()
        self._games = int(games)
        self._source.load_arrays(arrays)

    def close(self) -> None:
        self._source.close()


def measured(spec: GameSpec, games: Sequence[PlayedGame]) -> Measured:
    """What they were like, as a learner reports of its own."""
    actions = np.concatenate([game.action for game in games])
    stats = np.stack([game.stats for game in games])
    terms: Any = [game.reward_terms for game in games if game.reward_terms is not None]
    return Measured(
        reward=sum(float(game.reward.sum(dtype=np.float64)) for game in games),
        reward_terms=np.sum(terms, axis=0) if terms else np.zeros(len(spec.reward_terms)),
        decisions=len(actions),
        blocks=np.bincount(spec.actions.block_of[actions], minlength=len(spec.actions.blocks)),
        illegal=0,
        episodes=len(games),
        episode_return=sum(float(game.reward.sum(dtype=np.float64)) for game in games),
        episode_length=len(actions),
        stats=stats.sum(axis=0),
        best_stats=stats.max(axis=0),
    )
