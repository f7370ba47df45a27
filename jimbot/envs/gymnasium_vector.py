"""Many games as one `gymnasium.vector.VectorEnv`: one BatchGame, one call per step, no process and no loop per game.

Autoreset is `SAME_STEP`, which is what a BatchGame does: the observation of a game that ended is the first of the next
one, and `info["final_obs"]` and `info["final_info"]` describe the one that ended, in the form Gymnasium's own
SyncVectorEnv gives them.

All randomness lives in the game, so `reset(seed=…)` makes the batch anew from that seed: everything after it repeats,
restarts included, however much was played before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from jimbot.envs.gymnasium_env import Opponent, named_opponent, with_opponents
from jimbot.envs.one_game import asked_seeds
from jimbot.envs.pictures import RENDER_MODES, Picture, check_render_mode, draw
from jimbot.envs.spaces import LegalActionRows, LegalActions, observation_space
from jimbot.games.contract import BatchGame, game_entry, make


class GameVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """`num_envs` games; of several players you have the first seats, `opponent` plays the others (random if None)."""

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 4, "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self,
        game_id: str,
        num_envs: int = 1,
        render_mode: str | None = None,
        checked: bool = False,
        opponent: Opponent | str | None = None,
        **options: Any,
    ) -> None:
        opponent, options = named_opponent(opponent, options)
        self.game_id, self.num_envs = game_id, num_envs
        self.render_mode = check_render_mode(render_mode)
        self.opponent = opponent
        self._checked, self._options = checked, options
        self.game = self._make(seed=int(self.np_random.integers(2**32)))
        spec = self.game.spec
        self.game_spec = spec
        self.single_observation_space = observation_space(spec)
        self.observation_space = observation_space(spec, rows=num_envs)
        self.single_action_space = LegalActions(spec.actions.size, lambda: self.game.legal_mask[0])
        self.action_space = LegalActionRows(num_envs, spec.actions.size, self.action_masks)

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """New games. `seed` decides them and all that follow; `options={"game_seed": [n, …]}` plays exactly those."""
        if seed is not None:
            self.game.close()
            self.game = self._make(seed=_one_seed(seed))
            super().reset(seed=self.game.seed)
        self.game.reset(asked_seeds(options, self.num_envs))
        return self._seat(self.game.observation).copy(), self._info(self._seat(self.game.seeds))

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        game, seat = self.game, self._seat
        seeds = seat(game.seeds).copy()  # an ended row shows its next game's seed after the step
        game.step(with_opponents(game, np.asarray(actions), self.opponent, self.np_random))
        ended = seat(game.terminated | game.truncated)
        info = self._info(seat(game.seeds))
        if ended.any():
            info |= self._endings(ended, seeds)
        reward = seat(game.reward).astype(np.float64)
        return seat(game.observation).copy(), reward, seat(game.terminated).copy(), seat(game.truncated).copy(), info

    def action_masks(self) -> np.ndarray:
        """(num_envs, A) bool: what is legal now."""
        return self._seat(self.game.legal_mask).copy()

    def render(self) -> tuple[Picture, ...]:
        """Every game as text ("ansi"), or printed one after another ("human")."""
        entry, game = game_entry(self.game_id), self.game
        rows = range(0, game.num_rows, game.spec.players)
        pictures = [entry.render(game, row) if entry.render else game.describe(row) for row in rows]
        return tuple(draw(picture, self.render_mode, entry.canvas) for picture in pictures)

    def close_extras(self, **kwargs: Any) -> None:
        self.game.close()

    def _make(self, seed: int) -> BatchGame:
        return make(self.game_id, self.num_envs, seed=seed, options=self._options, checked=self._checked)

    def _seat(self, rows: np.ndarray) -> np.ndarray:
        """The first seat of every game, as a view."""
        return rows[:: self.game.spec.players]

    def _info(self, seeds: np.ndarray) -> dict[str, Any]:
        everywhere = np.ones(self.num_envs, bool)
        values = {"action_mask": self.action_masks(), "seed": seeds.copy(), "reward_terms": self._terms()}
        return _marked(values, everywhere)

    def _endings(self, ended: np.ndarray, seeds: np.ndarray) -> dict[str, Any]:
        """Gymnasium's record of the games that ended: values elsewhere are zero, and the `_name` masks say so."""
        final_obs = np.full(self.num_envs, None, object)
        for number in np.flatnonzero(ended):
            final_obs[number] = self._seat(self.game.final_observation)[number].copy()
        stats = np.where(ended[:, None], self._seat(self.game.final_stats), 0).astype(np.float64)
        final_info = {
            "action_mask": np.repeat(ended[:, None], self.game.spec.actions.size, axis=1),  # all legal after the end
            "seed": np.where(ended, seeds, np.uint64(0)),
            "reward_terms": np.where(ended[:, None], self._terms(), np.float32(0)),
            "stats": _marked(dict(zip(self.game.spec.episode_stats, stats.T.copy(), strict=True)), ended),
        }
        return _marked({"final_obs": final_obs, "final_info": _marked(final_info, ended)}, ended)

    def _terms(self) -> np.ndarray:
        """(num_envs, K) float32: the reward of the last step by its terms."""
        return self._seat(self.game.reward_terms).copy()


def _marked(values: Mapping[str, Any], where: np.ndarray) -> dict[str, Any]:
    """Gymnasium's vector infos: beside every value stands `_name`, the games it is meant for."""
    return {key: part for name, value in values.items() for key, part in ((name, value), (f"_{name}", where.copy()))}


def _one_seed(seed: int | Sequence[int]) -> int:
    """The seed of a batch from one number, or from one per game."""
    if isinstance(seed, int | np.integer):
        return int(seed)
    return int(np.random.SeedSequence(list(seed)).generate_state(1)[0])
