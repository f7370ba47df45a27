"""Any game as a PettingZoo environment: one agent per player, `player_0` alone in games of one.

All players of a game act at once (a row that has nothing to decide has only action 0 legal), which is PettingZoo's
parallel form; the turn-based form is PettingZoo's own conversion of it. Observations follow its convention for masks:
a Dict of `observation` and `action_mask` (int8).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Space

from jimbot.envs.one_game import OneGame
from jimbot.envs.pictures import RENDER_MODES, Picture, check_render_mode, draw
from jimbot.envs.spaces import LegalActions, observation_space
from jimbot.errors import MissingExtraError, UsageError
from jimbot.games.contract import BatchGame

try:
    from pettingzoo import AECEnv, ParallelEnv
    from pettingzoo.utils import parallel_to_aec
except ModuleNotFoundError as problem:
    raise MissingExtraError(f"'{problem.name}', which jimbot.envs.pettingzoo_env needs,", "pettingzoo") from problem


class GameParallelEnv(ParallelEnv[str, dict, int]):
    """One game, all players at once. Seeds and `options={"game_seed": n}` mean the same as in `GameEnv`."""

    def __init__(self, game_id: str, render_mode: str | None = None, checked: bool = False, **options: Any) -> None:
        self.render_mode = check_render_mode(render_mode)
        self.metadata = {"render_modes": list(RENDER_MODES), "name": f"jimbot_{game_id}_v1", "is_parallelizable": True}
        self._one = OneGame(game_id, options, checked)
        self._rng = np.random.default_rng()
        spec = self._one.spec
        self.possible_agents = [f"player_{row}" for row in range(spec.players)]
        self.agents: list[str] = []
        mask_space = Box(0, 1, (spec.actions.size,), np.int8)
        self.observation_spaces = {
            agent: Dict({"observation": observation_space(spec), "action_mask": mask_space})
            for agent in self.possible_agents
        }
        self.action_spaces = {
            agent: LegalActions(spec.actions.size, lambda row=row: self._one.legal_mask(row))
            for row, agent in enumerate(self.possible_agents)
        }

    @property
    def game(self) -> BatchGame:
        """The BatchGame behind it: one game, one row per player."""
        return self._one.game

    def observation_space(self, agent: str) -> Space:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space:
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, dict], dict[str, dict]]:
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self._one.start(self._rng, options)
        self.agents = list(self.possible_agents)
        self._show()
        return self._per_agent(self._observe), self._per_agent(self._one.info)

    def step(
        self, actions: Mapping[str, int]
    ) -> tuple[dict[str, dict], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict]]:
        if not self.agents:  # PettingZoo steps once more after the end, with no actions
            return {}, {}, {}, {}, {}
        absent = [agent for agent in self.agents if agent not in actions]
        if absent:
            raise UsageError(f"step got no action for {', '.join(absent)}; expected one per live agent.")
        self._one.play(np.array([int(actions[agent]) for agent in self.possible_agents]))
        self._show()
        game = self._one.game
        result = (
            self._per_agent(self._observe),
            self._per_agent(lambda row: float(game.reward[row])),
            self._per_agent(lambda row: bool(game.terminated[row])),
            self._per_agent(lambda row: bool(game.truncated[row])),
            self._per_agent(self._one.info),
        )
        if self._one.ended:
            self.agents = []
        return result

    def render(self) -> Picture:
        return draw(self._one.picture(), self.render_mode, self._one.entry.canvas)

    def close(self) -> None:
        self._one.game.close()

    def _observe(self, row: int) -> dict[str, np.ndarray]:
        return {"observation": self._one.observation(row), "action_mask": self._one.legal_mask(row).astype(np.int8)}

    def _per_agent(self, of_row: Any) -> dict[str, Any]:
        return {agent: of_row(row) for row, agent in enumerate(self.possible_agents)}

    def _show(self) -> None:
        if self.render_mode == "human":
            self.render()


def make_parallel_env(
    game_id: str, render_mode: str | None = None, checked: bool = False, **options: Any
) -> ParallelEnv:
    """A game where all players act at once.

    >>> env = make_parallel_env("probe")
    >>> observations, infos = env.reset(seed=1)
    >>> observations["player_0"]["action_mask"].sum()
    np.int64(4)
    """
    return GameParallelEnv(game_id, render_mode, checked, **options)


def make_aec_env(game_id: str, render_mode: str | None = None, checked: bool = False, **options: Any) -> AECEnv:
    """The same game in PettingZoo's turn-based form: players are asked one after another, then the game steps."""
    return parallel_to_aec(make_parallel_env(game_id, render_mode, checked, **options))
