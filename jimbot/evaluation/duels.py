"""Evaluation in games of two players: one policy against several opponents, or all against all.

Every seed is played twice with the seats exchanged. The two games of a seed are not independent: who is dealt the
better team in one has the worse in the other. So the chance of the teams cancels, and Wilson's interval, which does not
know that, is rather too wide than too narrow.

Ratings are Bradley–Terry's, with intervals. A difference d means a score of 1 / (1 + 10^(−d/400)), as in chess; their
mean is 0. A tie counts half a win for both. One imaginary tie between every pair that met keeps the ratings of
players who never lost finite. Intervals come from the curvature of the likelihood, so they say how far chance could
have moved each rating against the average of all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from jimbot.errors import UsageError
from jimbot.evaluation.evaluator import Bank, choose_seeds
from jimbot.evaluation.intervals import CONFIDENCE, Interval, wilson_interval, z_value
from jimbot.evaluation.matches import SIDES, HowToMatch, Match, Matches, both_seats, play_matches
from jimbot.evaluation.summary import Claim, distinct_names
from jimbot.games.contract import GameEntry, game_entry
from jimbot.games.seeds import HELD_OUT
from jimbot.notebook import ShownInNotebooks
from jimbot.policies.heuristics import RANDOM
from jimbot.policies.players import Named, Player, Which, find_player
from jimbot.runs import Manifest

if TYPE_CHECKING:
    from rich.console import RenderableType


ELO = 400.0 / math.log(10.0)
"""Points per unit of log-odds."""
PRIOR_GAMES = 1.0
_ROUNDS = 100


@dataclass(frozen=True)
class Rating:
    name: str
    points: float
    low: float
    high: float
    games: float


def ratings(names: Sequence[str], scores: np.ndarray, games: np.ndarray) -> list[Rating]:
    """`scores[i, j]`: points player i made against j (win 1, tie ½) in `games[i, j]` games; strongest first."""
    scores, games = np.asarray(scores, float), np.asarray(games, float)
    _check(names, scores, games)
    met = games > 0
    played = games + PRIOR_GAMES * met
    made = scores + 0.5 * PRIOR_GAMES * met
    strength = np.zeros(len(names))
    information = np.zeros((len(names), len(names)))
    for _ in range(_ROUNDS):
        expected = 1.0 / (1.0 + np.exp(strength[None, :] - strength[:, None]))
        slope = (made - played * expected).sum(axis=1)
        weight = played * expected * (1.0 - expected)
        information = np.diag(weight.sum(axis=1)) - weight
        # Ratings are known up to a common shift; the pseudo-inverse takes the one whose mean is 0.
        step = np.linalg.pinv(information, hermitian=True) @ slope
        strength += np.clip(step, -2.0, 2.0)
        if np.abs(step).max() < 1e-10:
            break
    spread = z_value() * np.sqrt(np.clip(np.diag(np.linalg.pinv(information, hermitian=True)), 0.0, None))
    found = [
        Rating(name, ELO * value, ELO * (value - around), ELO * (value + around), float(count))
        for name, value, around, count in zip(names, strength, spread, games.sum(axis=1), strict=True)
    ]
    return sorted(found, key=lambda rating: -rating.points)


def _check(names: Sequence[str], scores: np.ndarray, games: np.ndarray) -> None:
    shape = (len(names), len(names))
    if len(names) < 2 or scores.shape != shape or games.shape != shape:
        raise UsageError(
            f"Got {len(names)} players with tables of {scores.shape} and {games.shape}; expected two or more players "
            "and square tables of their size."
        )
    if np.diag(games).any() or not np.allclose(games, games.T) or not np.allclose(scores + scores.T, games):
        raise UsageError(
            "The tables of games and scores do not fit: games[i, j] must equal games[j, i] and be the sum of "
            "scores[i, j] and scores[j, i], and no player meets itself."
        )
    if not _connected(games > 0):
        raise UsageError("Some players never met the others, not even through third ones; let them play first.")


def _connected(met: np.ndarray) -> bool:
    reached = np.zeros(len(met), bool)
    reached[0] = True
    for _ in range(len(met)):
        reached |= met[reached].any(axis=0)
    return bool(reached.all())


@dataclass(frozen=True)
class Duel:
    """One policy's games with one opponent."""

    opponent: str
    won: int
    tied: int
    games: int
    cut_off: int
    """Ended by the limit of turns; among the ties."""
    mean_turns: float
    against: float | None = None
    """A win rate to compare this one with."""

    @property
    def win_rate(self) -> Interval:
        """Ties are not won."""
        return wilson_interval(self.won, self.games)

    @property
    def claim(self) -> Claim | None:
        return None if self.against is None else Claim(self.win_rate, self.against)

    def to_dict(self) -> dict[str, Any]:
        return {
            "opponent": self.opponent,
            "games": self.games,
            "won": self.won,
            "tied": self.tied,
            "lost": self.games - self.won - self.tied,
            "cut_off": self.cut_off,
            "win_rate": self.win_rate.to_dict(),
            "mean_turns": self.mean_turns,
            "claim": self.claim.to_dict() if self.claim else None,
        }


@dataclass(frozen=True)
class MatchReport(ShownInNotebooks):
    """What evaluations by matches have in common."""

    matches: Matches
    bank: str
    deterministic: bool
    options: Mapping[str, Any]

    def duel(self, one: int, other: int, against: float | None = None) -> Duel:
        scores = self.matches.of_pair(one, other)
        seats = self.matches.seats
        met = (np.sort(seats, axis=1) == sorted((one, other))).all(axis=1)
        return Duel(
            self.matches.players[other],
            won=int((scores == 1.0).sum()),
            tied=int((scores == 0.5).sum()),
            games=len(scores),
            cut_off=int(self.matches.cut_off[met].sum()),
            mean_turns=float(self.matches.turns[met].mean()),
            against=against,
        )

    def common(self) -> dict[str, Any]:
        """What every report carries."""
        matches = self.matches
        return {
            "game": matches.game,
            "game_version": game_entry(matches.game).spec.version,
            "options": dict(self.options),
            "deterministic": self.deterministic,
            "seeds": self.bank,
            "confidence": CONFIDENCE,
            "illegal_actions": int(matches.illegal.sum()),
            "refused_choices": int(matches.refused.sum()),
            "played_again": matches.lost,
            "decisions": int(matches.decisions.sum()),
            "decisions_per_second": matches.decisions_per_second,
            "seconds": matches.seconds,
        }


@dataclass(frozen=True)
class DuelEvaluation(MatchReport):
    """One policy, which is player 0, against all the others."""

    against: float | None = None

    @property
    def policy(self) -> str:
        return self.matches.players[0]

    @cached_property
    def duels(self) -> tuple[Duel, ...]:
        return tuple(self.duel(0, other, self.against) for other in range(1, len(self.matches.players)))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        own = {
            "policy_illegal_actions": int(self.matches.illegal[0]),
            "policy_refused_choices": int(self.matches.refused[0]),
        }
        return {"policy": self.policy, **self.common(), **own, "opponents": [duel.to_dict() for duel in self.duels]}

    def headline(self) -> RenderableType:
        """How often it wins against whom: what `jimbot evaluate` prints without `--full`."""
        from jimbot.evaluation.tables import duel_headline

        return duel_headline(self)

    def __rich__(self) -> RenderableType:
        from jimbot.evaluation.tables import duel_tables

        return duel_tables(self)


@dataclass(frozen=True)
class CrossPlay(MatchReport):
    """All against all."""

    @property
    def names(self) -> tuple[str, ...]:
        return self.matches.players

    @cached_property
    def duels(self) -> dict[tuple[int, int], Duel]:
        """(one, other) → the games of `one` with `other`, in both orders."""
        count = len(self.names)
        return {(one, other): self.duel(one, other) for one in range(count) for other in range(count) if one != other}

    @cached_property
    def scores(self) -> np.ndarray:
        """(P, P) float64: points of each player with each other; a tie counts half."""
        found = np.zeros((len(self.names), len(self.names)))
        for (one, other), duel in self.duels.items():
            found[one, other] = duel.won + 0.5 * duel.tied
        return found

    @cached_property
    def ratings(self) -> list[Rating]:
        """Bradley–Terry, strongest first."""
        games = np.zeros_like(self.scores)
        for pair, duel in self.duels.items():
            games[pair] = duel.games
        return ratings(self.names, self.scores, games)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        found = [
            {"player": self.names[one], **duel.to_dict()}
            for (one, other), duel in self.duels.items()
            if one < other
        ]  # fmt: skip
        rated = [
            {"player": one.name, "rating": one.points, "low": one.low, "high": one.high, "games": int(one.games)}
            for one in self.ratings
        ]
        return {"players": list(self.names), **self.common(), "ratings": rated, "pairs": found}

    def save_picture(self, path: str | Path) -> Path:
        """The table of who beats whom and the ratings as a picture; the ending of the name says which kind."""
        from jimbot.evaluation.duel_picture import save_picture

        return save_picture(self, Path(path))

    def __rich__(self) -> RenderableType:
        from jimbot.evaluation.tables import crossplay_tables

        return crossplay_tables(self)


def evaluate_duels(
    policy: Named,
    game_id: str,
    opponents: Sequence[Named] = (),
    games: int | None = None,
    *,
    bank: Bank = HELD_OUT,
    seeds_file: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
    against: float | None = None,
    runs_root: str | Path = "runs",
    which: Which = "latest",
    manifest: Manifest | None = None,
    **how: Unpack[HowToMatch],
) -> DuelEvaluation:
    """`games` games (default 256) with each opponent; without opponents, with every heuristic player of the game.

    Half of the games are on other seeds, the other half on the same ones with the seats exchanged; an odd number is
    rounded up. `against` is a win rate to compare those reached with; `manifest` is of a policy that was loaded before.
    """
    entry = game_entry(game_id)
    hero = find_player(policy, game_id, None, runs_root, which)
    hero = hero if manifest is None else replace(hero, manifest=manifest)
    named = opponents or heuristic_opponents(entry, hero.name)
    players = distinct([hero, *(find_player(one, game_id, None, runs_root, which) for one in named)])
    together = agreed_options(entry, players, options)
    seeds, called = _seeds(bank, games, seeds_file, game_id)
    matches = both_seats(seeds, [(0, other) for other in range(1, len(players))])
    played = _play(game_id, players, matches, together, how)
    return DuelEvaluation(played, called, how.get("deterministic", True), together, against)


def cross_play(
    policies: Sequence[Named],
    game_id: str,
    games: int | None = None,
    *,
    heuristics: bool = True,
    bank: Bank = HELD_OUT,
    seeds_file: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
    runs_root: str | Path = "runs",
    which: Which = "latest",
    **how: Unpack[HowToMatch],
) -> CrossPlay:
    """Every pair plays `games` games (default 256); with `heuristics` the game's heuristic players take part."""
    entry = game_entry(game_id)
    players = [find_player(one, game_id, None, runs_root, which) for one in policies]
    if heuristics:
        present = {player.name for player in players if player.manifest is None}
        players += [find_player(name, game_id) for name in heuristic_opponents(entry) if name not in present]
    if len(players) < SIDES:
        raise UsageError(f"Got {len(players)} policies to compare; give at least two.")
    players = distinct(players)
    together = agreed_options(entry, players, options)
    seeds, called = _seeds(bank, games, seeds_file, game_id)
    matches = both_seats(seeds, list(combinations(range(len(players)), SIDES)))
    played = _play(game_id, players, matches, together, how)
    return CrossPlay(played, called, how.get("deterministic", True), together)


# --- who plays, and by which rules ---


def heuristic_opponents(entry: GameEntry, but: str = "") -> list[str]:
    """The game's heuristic players from the simplest on, without one who would meet itself."""
    return [name for name in (RANDOM, *entry.heuristics) if name != but]


def distinct(players: Sequence[Player]) -> list[Player]:
    """Two of one name get numbers, so that a table says which is meant."""
    names = distinct_names([player.name for player in players])
    return [replace(player, name=name) for player, name in zip(players, names, strict=True)]


def agreed_options(
    entry: GameEntry, players: Sequence[Player], given: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The options the players meet under: as given; else the rules they were trained for, on which they must agree.

    How a player was trained otherwise (rewards, teams, opponents) is no business of an evaluation.
    """
    if entry.two_sides is None:
        raise UsageError(f"Game '{entry.spec.id}' is for one player; its policies do not meet. Leave opponents out.")
    found: dict[str, Any] = {}
    default = entry.spec.options()
    for name in (*entry.two_sides.agreed, *entry.two_sides.shows):
        stated = {
            player.name: player.manifest.game_options[name]
            for player in players
            if player.manifest is not None and name in player.manifest.game_options
        }
        if name in entry.two_sides.shows:  # who was trained without does not mind
            stated = {who: value for who, value in stated.items() if value != getattr(default, name)}
        if name not in (given or {}) and len(set(map(str, stated.values()))) > 1:
            listed = ", ".join(f"{who}: {value}" for who, value in stated.items())
            raise UsageError(f"The policies were trained with different {name} ({listed}); say which with --option.")
        if stated:
            found[name] = next(iter(stated.values()))
    own = [name for name in given or {} if name in entry.two_sides.options]
    if own:
        raise UsageError(f"The option {own[0]} says who plays; name the opponents with --opponent instead.")
    found |= given or {}
    entry.spec.parse_options(dict(found))
    return found


def _seeds(bank: Bank, games: int | None, seeds_file: str | Path | None, game_id: str) -> tuple[np.ndarray, str]:
    """Half as many seeds as games."""
    return choose_seeds(bank, None if games is None else -(-games // SIDES), seeds_file, 128, game_id)


def _play(
    game: str, players: Sequence[Player], matches: Sequence[Match], options: Mapping[str, Any], how: HowToMatch
) -> Matches:
    policies, names = [player.shown(options) for player in players], [player.name for player in players]
    return play_matches(game, policies, names, matches, options=options, **how)
