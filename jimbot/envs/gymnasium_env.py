"""Any game as a `gymnasium.Env`: a flat Box observation, the mask in `info["action_mask"]` and `env.action_masks()`.

A flat Box rather than a Dict of observation and mask: it is what libraries without masks, wrappers and replay buffers
handle, and libraries with masks ask for them by one of those two names. Who wants the Dict wraps the environment in
`jimbot.training.env_wrapper.ActionMaskWrapper`.

An illegal action is counted (`env.unwrapped.game.illegal_actions`) as everywhere in JimBot; `checked=True` raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np

from jimbot.envs.one_game import OneGame
from jimbot.envs.pictures import RENDER_MODES, Picture, check_render_mode, draw
from jimbot.envs.spaces import LegalActions, observation_space
from jimbot.games.checker import random_legal
from jimbot.games.contract import BatchGame, GameSpec
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
