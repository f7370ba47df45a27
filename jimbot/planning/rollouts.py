"""Trying moves out: copies of a game in which everything the player cannot know is dealt anew.

A simulation is (which game, which first move, which determinization): the game is copied, its hidden parts are redrawn
from the determinization's seed, the move is played, then a player plays on: the policy itself, or a cheaper or better
one. The return is the discounted rewards, as the policy learned them, and its value of the last position. Simulations
of all games are played together, as many as there are copies; each has a depth of its own.

In a game of two players an `opponent` plays its own row of the copy, in which what it knows
was dealt anew with the rest, so it can give nothing away.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jimbot.games.contract import BatchGame, game_entry
from jimbot.policies.contract import Policy
from jimbot.policies.reward_transform import transform_reward
from jimbot.policies.win_chances import WinChances

WON = "won"  # the statistic
_MOST_UNTIL_SETTLED = 100  # decisions
_MOST_UNTIL_ASKED = 4  # steps in which only the opponent has something to do


class Simulations(NamedTuple):
    """What to try, one entry per try."""

    row: np.ndarray  # (J,) int64, row of the real game
    action: np.ndarray  # (J,) int64, the move tried
    determinization: np.ndarray  # (J,) uint64, seed of all that is hidden
    depth: np.ndarray  # (J,) int64, decisions after it
    horizon: np.ndarray  # (J,) int64, settled positions after it, where the game has such


class Rollouts:
    """Plays simulations in a batch of copies of `game`: `player` moves, `policy` says what the end is worth.

    A player who can tell how likely it is to win from a position (`appraise`) judges its own simulations: they bring
    that chance, or whether they won, and rewards do not count. They go on to the next position where it can be told,
    however many decisions away. So it is with `chances`, a table of how often the policy wins from what it expects.
    """

    def __init__(
        self,
        game: BatchGame,
        policy: Policy,
        gamma: float,
        reward_transform: str = "none",
        copies: int = 256,
        player: Policy | None = None,
        opponent: Policy | None = None,
        chances: WinChances | None = None,
        redraw: bool = True,
    ) -> None:
        """Without `redraw` nothing is dealt anew: simulations know the future. For reviews that are told so."""
        self.policy = policy
        self.player = player or policy
        self.opponent = opponent
        self.gamma = gamma
        self.reward_transform = reward_transform
        plans = game_entry(game.spec.id).plans
        counts_wins = WON in game.spec.episode_stats
        self._chances, self._redraw = chances, redraw
        self._appraise: Any = getattr(self.player, "appraise", None) if counts_wins else None
        self._tells_chances = self._appraise is not None or chances is not None
        self._settled = plans.settled if plans is not None and self._tells_chances else None
        self._copies = game_entry(game.spec.id).make(copies, seed=0, options=game.options, checked=False)
        self._copies.reset()

    def close(self) -> None:
        self._copies.close()

    @property
    def at_once(self) -> int:
        """Simulations that are played together."""
        return self._copies.num_envs

    def returns(self, game: BatchGame, simulations: Simulations) -> np.ndarray:
        """(J,) float64, what each try brought."""
        found = np.zeros(len(simulations.row))
        for first in range(0, len(found), self._copies.num_envs):
            part = slice(first, first + self._copies.num_envs)
            found[part] = self._play(game, Simulations(*(values[part] for values in simulations)))
        return found

    def _play(self, game: BatchGame, simulations: Simulations) -> np.ndarray:
        copies, players = self._copies, game.spec.players
        # The rows of the copies that are tried in.
        used = np.arange(len(simulations.row)) * players + simulations.row % players
        sources, source_of = np.unique(simulations.row // players, return_inverse=True)
        saved = game.snapshot(sources * players)
        copies.restore({name: part if part.ndim == 0 else part[source_of] for name, part in saved.items()}, used)
        if self._redraw:
            copies.redraw_hidden(used, simulations.determinization)
        over = np.ones(copies.num_rows, bool)  # copies that stand idle, and simulations that have ended
        over[used] = False
        actions, depth = np.zeros(copies.num_rows, np.int64), np.zeros(copies.num_rows, np.int64)
        actions[used], depth[used] = simulations.action, simulations.depth
        returns, weight = np.zeros(copies.num_rows), 1.0
        left = np.zeros(copies.num_rows, np.int64)
        left[used] = simulations.horizon
        if self._settled is not None:
            depth[used] = _MOST_UNTIL_SETTLED * left[used]
        settled = np.zeros(copies.num_rows, bool)
        last = int(depth.max()) + _MOST_UNTIL_ASKED * (players > 1)
        for turn in range(last + 1):
            copies.step(self._moves(actions, over), hold=self._idle(over))
            live = np.flatnonzero(~over)
            self._credit(returns, live, weight)
            weight *= self.gamma
            over |= copies.terminated | copies.truncated
            here = (depth <= turn) & (copies.acting | (turn == last))
            if self._settled is not None:
                before, settled = settled, self._settled(copies.observation)
                left -= settled & ~before
                here |= settled & (left <= 0)
            ends = np.flatnonzero(~over & here)
            if len(ends):
                returns[ends] += self._worth(ends, weight)
                over[ends] = True
            live = np.flatnonzero(~over)
            if not len(live):
                break
            actions[live] = self.player.act(copies.observation[live], copies.legal_mask[live])[0]
        return returns[used]

    def _moves(self, actions: np.ndarray, over: np.ndarray) -> np.ndarray:
        """The simulations' next moves and their opponents'; anything legal in the other rows."""
        copies = self._copies
        moves = np.where(over, copies.legal_mask.argmax(axis=1), actions)
        if self.opponent is not None:
            opposite = np.flatnonzero(over & ~self._idle(over) & copies.acting)
            if len(opposite):
                moves[opposite] = self.opponent.act(copies.observation[opposite], copies.legal_mask[opposite])[0]
        return moves

    def _idle(self, over: np.ndarray) -> np.ndarray:
        """(N,) bool: rows of copies in which nobody tries anything any more."""
        players = self._copies.spec.players
        return np.repeat(over.reshape(-1, players).all(axis=1), players)

    def _credit(self, returns: np.ndarray, live: np.ndarray, weight: float) -> None:
        """What the last step brought."""
        copies = self._copies
        if not self._tells_chances:
            returns[live] += weight * transform_reward(self.reward_transform, copies.reward[live])
        else:
            ended = live[copies.terminated[live] | copies.truncated[live]]
            returns[ended] = copies.final_stats[ended, copies.spec.episode_stats.index(WON)]

    def _worth(self, ends: np.ndarray, weight: float) -> np.ndarray:
        """What is to be expected where simulations are given up."""
        observation = self._copies.observation[ends]
        if self._chances is not None:
            by_judgement = self._chances.by  # which asks no policy
            values = np.zeros(len(ends)) if by_judgement else self._expected(ends)
            return self._chances.of_all(observation, values)
        if self._appraise is not None:
            return self._appraise(observation)
        return weight * self._expected(ends)

    def _expected(self, rows: np.ndarray) -> np.ndarray:
        """(n,) what the policy expects in these copies."""
        return self.policy.act(self._copies.observation[rows], self._copies.legal_mask[rows])[2]
