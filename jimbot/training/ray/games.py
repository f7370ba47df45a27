"""The games as RLlib's env runners step them: one vector environment per runner over one batch, no process per game.

RLlib wants games that restart in the step after their end (`NEXT_STEP`), a BatchGame restarts at once: so a game that
ended shows its last position and is held for one step, which RLlib does not count. Nobody moves in a last position,
so all actions are legal there: a mask without any legal action would break a softmax over it.

What happened in the games is measured here, under our names, and handed over by `jimbot.training.ray.callbacks`.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from jimbot.envs.spaces import LegalActionRows, LegalActions, observation_space
from jimbot.errors import UsageError
from jimbot.games.contract import BatchGame, make
from jimbot.games.seeds import train_seeds
from jimbot.games.spec import GameSpec
from jimbot.logs import setup_logging
from jimbot.policies.reward_transform import transform_reward
from jimbot.training.curriculum import Level
from jimbot.training.ray import torch
from jimbot.training.session.compile_cache import use_compile_cache
from jimbot.training.session.log_rows import GameTally, Measured

ENVIRONMENT = "jimbot"
"""The name under which RLlib knows our games; which one is said by `env_config["game"]`."""

_log = logging.getLogger("jimbot.training.ray")

OBSERVATION, MASK = "observations", "action_mask"


def runner_space(spec: GameSpec) -> Dict:
    """What a policy sees: the observation and what is legal."""
    boolean: Any = np.bool_
    return Dict({OBSERVATION: observation_space(spec), MASK: Box(0, 1, (spec.actions.size,), boolean)})


class RunnerGames(VectorEnv):
    """One row of `game` per environment. `reward_transform` as in TrainSettings, for the learner's eyes only."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, game: BatchGame, reward_transform: str = "none", level: Level | None = None) -> None:
        self.game, self.num_envs, self.level = game, game.num_rows, level
        if game.spec.players != 1:
            raise UsageError(f"Game '{game.spec.id}' has {game.spec.players} players; learner ray trains games of one.")
        self.reward_transform = reward_transform
        self.tally = GameTally(game.spec, game.num_rows)
        self.single_observation_space = runner_space(game.spec)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.single_action_space = LegalActions(game.spec.actions.size, lambda: game.legal_mask[0])
        self.action_space = LegalActionRows(self.num_envs, game.spec.actions.size, lambda: game.legal_mask)
        self._ended = np.zeros(self.num_envs, bool)
        self._seeds: np.random.Generator | None = None

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """New games, from the seed the batch was made with (or `reseed`); RLlib's own seed is the same number."""
        self.game.reset(None if self._seeds is None else train_seeds(self._seeds, self.game.num_envs))
        self._ended[:] = False
        self.tally.episode_return[:] = 0
        self.tally.episode_length[:] = 0
        return self._seen(), {}

    def reseed(self, seed: list[int]) -> None:
        """Other games from the next `reset` on: a runner that was started anew must not play its first games again."""
        self._seeds = np.random.default_rng(seed)

    def step(self, actions: Any) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        game, actions, hold = self.game, np.asarray(actions), self._ended
        legal = game.legal_mask[np.arange(self.num_envs), actions] | hold
        if hold.any():
            game.step(np.where(hold, game.legal_mask.argmax(axis=1), actions), hold)
        else:
            game.step(actions)
        self.tally.step(game, actions, legal, ~hold)
        self._ended = game.terminated | game.truncated
        seen = self._seen()
        for row in np.flatnonzero(self._ended):
            seen[OBSERVATION][row] = game.final_observation[row]
            seen[MASK][row] = True
        reward = transform_reward(self.reward_transform, game.reward).astype(np.float32)
        return seen, reward, game.terminated.copy(), game.truncated.copy(), {}

    def take(self) -> Measured:
        """What happened since the last call."""
        measured = self.tally.take()
        _log.debug("%d decisions, %d games ended", measured.decisions, measured.episodes)
        return measured

    def close_extras(self, **kwargs: Any) -> None:
        self.game.close()

    def _seen(self) -> dict[str, np.ndarray]:
        # Copies: RLlib keeps what it saw, the game writes the next step into the same arrays.
        return {OBSERVATION: self.game.observation.copy(), MASK: self.game.legal_mask.copy()}


def make_games(config: Mapping[str, Any]) -> RunnerGames:
    """What RLlib calls in every runner. `config`: game, options, seed, start (steps of the run so far),
    reward_transform, curriculum, log_level; RLlib adds num_envs and, as attributes, which runner it is."""
    runner = getattr(config, "worker_index", 0) or 0
    if runner and config.get("log_level", logging.WARNING) < logging.WARNING:
        setup_logging(config["log_level"])  # another process, whose lines Ray brings to ours
    _log.debug("runner %d makes %d games of %s", runner, config.get("num_envs", 1), config["game"])
    seed = int(np.random.SeedSequence([config.get("seed", 0), config.get("start", 0), runner]).generate_state(1)[0])
    torch.set_num_threads(1)  # small nets on shared cores: more threads were up to ten times slower
    game = make(config["game"], config.get("num_envs", 1), seed, config.get("options") or {})
    if "jax" in sys.modules:  # only games that are JAX programs
        use_compile_cache()
    level = None
    if config.get("curriculum"):
        from jimbot.training.curriculum import CurriculumGame, milestones_of

        level = Level(final_goal=milestones_of(game).last)  # where to begin is told by the callbacks
        game = CurriculumGame(game, level)
    return RunnerGames(game, config.get("reward_transform", "none"), level)


def register_games() -> None:
    """Tells RLlib about our games; config.environment("jimbot", env_config={"game": "balatro"}) then works."""
    from ray.tune.registry import register_env

    register_env(ENVIRONMENT, make_games)
