"""Any game as a `gymnasium.Env`: a flat Box observation, the mask in `info["action_mask"]` and `env.action_masks()`.

A flat Box rather than a Dict of observation and mask: it is what libraries without masks, wrappers and replay buffers
handle, and libraries with masks ask for them by one of those two names. Who wants the Dict wraps the environment in
`jimbot.training.env_wrapper.ActionMaskWrapper`.

An illegal action is counted (`env.unwrapped.game.illegal_actions`) as everywhere in JimBot; `checked=True` raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from jimbot.envs.one_game import OneGame, asked_seeds
from jimbot.envs.pictures import RENDER_MODES, Picture, check_render_mode, draw
from jimbot.envs.spaces import LegalActionRows, LegalActions, observation_space
from jimbot.games.checker import random_legal
from jimbot.games.contract import BatchGame, GameSpec, game_entry, make
from jimbot.games.drawing import picture
from jimbot.notebook import html_of

Opponent = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(observation (N, D), legal_mask (N, A)) → actions (N,): plays the seats the learner does not have."""


class GameEnv(gymnasium.Env[np.ndarray, np.int64]):
    """One game. In games of several players you have the first seat; `opponent` plays the others (random if None);
    a name is one of the game's own players."""

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 4}  # noqa: RUF012 - Gymnasium's own form

    def __init__(
        self,
        game_id: str,
        render_mode: str | None = None,
        checked: bool = False,
        opponent: Opponent | str | None = None,
        **options: Any,
    ) -> None:
        opponent, options = named_opponent(opponent, options)
        self.render_mode = check_render_mode(render_mode)
        self.opponent = opponent
        self.making = {"checked": checked, "opponent": opponent, **options}
        """What else it was made with: all that a vector environment of the same games needs."""
        self.given_seed: int | None = None
        """The last seed `reset` was given."""
        self._one = OneGame(game_id, options, checked)
        self.observation_space = observation_space(self._one.spec)
        self.action_space = LegalActions(self._one.spec.actions.size, self._one.legal_mask)

    @property
    def game(self) -> BatchGame:
        """The BatchGame behind it (one game): snapshots, words for actions, counted illegal actions."""
        return self._one.game

    @property
    def game_spec(self) -> GameSpec:
        """What the game declares about itself (`spec` is Gymnasium's own word for something else)."""
        return self._one.spec

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """A new game. `seed` decides it and all that follow; `options={"game_seed": n}` plays exactly game n."""
        super().reset(seed=seed)
        self.given_seed = self.given_seed if seed is None else seed
        self._one.start(self.np_random, options)
        self._show()
        return self._one.observation(), self._one.info()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        one = self._one
        one.play(with_opponents(one.game, np.array([action]), self.opponent, self.np_random))
        self._show()
        game = one.game
        return one.observation(), float(game.reward[0]), bool(game.terminated[0]), bool(game.truncated[0]), one.info()

    def action_masks(self) -> np.ndarray:
        """(A,) bool: what is legal now, under the name sb3-contrib looks for."""
        return self._one.legal_mask()

    def render(self) -> Picture:
        return draw(self._one.picture(), self.render_mode, self._one.entry.canvas)

    def close(self) -> None:
        self._one.game.close()

    def _repr_html_(self) -> str:
        return html_of(self._one.picture())

    def _show(self) -> None:
        if self.render_mode == "human":  # Gymnasium: a person sees every step without asking
            self.render()


def named_opponent(opponent: Opponent | str | None, options: dict[str, Any]) -> tuple[Opponent | None, dict[str, Any]]:
    """An opponent given by name is an option of the game, which has its own players."""
    return (None, {**options, "opponent": opponent}) if isinstance(opponent, str) else (opponent, options)


def with_opponents(
    game: BatchGame, actions: np.ndarray, opponent: Opponent | None, rng: np.random.Generator
) -> np.ndarray:
    """One action for every row (N,) from those of the first seats (num_envs,); rows are ordered game by game."""
    if game.spec.players == 1:
        return actions
    chosen = (
        random_legal(rng, game.legal_mask) if opponent is None else opponent(game.observation, game.legal_mask).copy()
    )
    chosen[:: game.spec.players] = actions
    return chosen


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
        pictures = [picture(entry, game, row) for row in rows]
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
