"""The league of a run: whom a learner plays against, in games of several players.

A league is a list of members of four kinds, and a share of games for each kind:

- `self`: the learner as it is now, in every seat; all of them learn;
- `past`: the learner as it was, taken in every so many updates;
- `clone`: a policy learned from a teacher, which keeps the learner from forgetting how others play;
- `exploiter`: any other player: heuristics, other checkpoints.

Inside a kind the members that beat the learner are met more often: their weight is (1 - score)², where the score is
the learner's own in its recent games against them, plus a little so that nobody is forgotten. Kinds without a member
leave their share to the others.

A checkpoint holds every member with its policy (past selves exist nowhere else), the scores, the seats, and the
generators that draw opponents and their moves, so a continued run meets the same opponents and sees them play the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from jimbot.errors import CheckpointError, SettingsError, UnknownNameError, UnreadableError
from jimbot.games.contract import BatchGame, game_entry
from jimbot.policies.contract import Policy
from jimbot.policies.heuristics import heuristic_names, heuristic_policy
from jimbot.policies.onnx_form import onnx_from_params
from jimbot.policies.portable import OnnxPolicy, with_metadata
from jimbot.reading.plain import json_value
from jimbot.runs.checkpoint import Manifest, check_matches, load_checkpoint
from jimbot.training.init_policy import find_start, foreign_tensors, read_policy
from jimbot.training.settings.record import OPPONENT, SELF, TrainSettings

KINDS = ("self", "past", "clone", "exploiter")
DEFAULT_MIX = {"self": 0.4, "past": 0.2, "clone": 0.2, "exploiter": 0.2}
MEMORY = 200.0
"""How many games a score remembers, about."""
PRIOR_GAMES = 4.0
"""Imaginary ties in every score, so that three wins do not retire a member."""
FLOOR = 0.05
MOST_PAST_SELVES = 8


@dataclass
class Member:
    """One opponent; only the learner itself has no policy of its own."""

    name: str
    kind: str
    policy: Policy | None = None
    model: bytes = b""  # the policy in its portable form; empty where the game knows it by its name
    points: float = 0.0  # the learner's, in recent games against this member
    games: float = 0.0

    @property
    def score(self) -> float:
        """The learner's recent score against this member, 0 to 1."""
        return (self.points + 0.5 * PRIOR_GAMES) / (self.games + PRIOR_GAMES)


class League:
    """The members, how often each is met, and how it went."""

    def __init__(self, mix: Mapping[str, float] | None = None) -> None:
        self.mix = check_mix(DEFAULT_MIX if mix is None else mix)
        self.members = [Member(SELF, SELF)]

    def add(self, member: Member) -> None:
        """Takes a member in; of past selves only the newest are kept, but the very first stays."""
        if member.kind not in KINDS[1:] or member.policy is None:
            raise UnknownNameError("kind of league member with a policy", member.kind, KINDS[1:])
        self.members = [known for known in self.members if known.name != member.name]
        self.members.append(member)
        past = [known for known in self.members if known.kind == "past"]
        if len(past) > MOST_PAST_SELVES:
            self.members.remove(past[1])

    def weights(self) -> np.ndarray:
        """(members,) float64, how likely each is to be met; sums to 1."""
        weights = np.zeros(len(self.members))
        for kind, share in self.mix.items():
            of_kind = [i for i, member in enumerate(self.members) if member.kind == kind]
            hard = np.array([FLOOR + (1.0 - self.members[i].score) ** 2 for i in of_kind])
            weights[of_kind] = share * hard / hard.sum() if of_kind else 0.0
        if not weights.any():  # only kinds without members have a share
            weights[0] = 1.0
        return weights / weights.sum()

    def draw(self, rng: np.random.Generator, count: int) -> list[Member]:
        """Members for `count` new games."""
        return [self.members[i] for i in rng.choice(len(self.members), count, p=self.weights())]

    def report(self, name: str, score: float) -> None:
        """How a game against a member ended for the learner: 1 won, ½ tie, 0 lost. Old games fade away."""
        for member in self.members:
            if member.name == name:
                keep = 1.0 - 1.0 / MEMORY
                member.points, member.games = keep * member.points + score, keep * member.games + 1.0

    def metrics(self) -> dict[str, float]:
        """The learner's recent score against each member it has met."""
        return {f"league/{m.name}": m.points / m.games for m in self.members if m.games and m.kind != SELF}


def check_mix(mix: Mapping[str, float]) -> dict[str, float]:
    """Shares per kind, which need not sum to 1."""
    for kind, share in mix.items():
        if kind not in KINDS:
            raise UnknownNameError("kind of league member", kind, KINDS)
        if not share >= 0:
            raise SettingsError(f"The league's share of '{kind}' is {share}; expected 0 or more.")
    if not any(mix.values()):
        raise SettingsError("All shares of the league are 0; give at least one kind a share, such as self: 1.")
    return dict(mix)


class Seats:
    """Who sits where: a member of the league against the learner in every game, drawn anew when a game ends.

    `others` marks the rows other members play: the learner's actions there are replaced, and nothing is learned.
    """

    def __init__(self, game: BatchGame, league: League, seed: int = 0) -> None:
        self.game, self.league = game, league
        self.players = game.spec.players
        self.rng = np.random.default_rng(seed)
        names = game.spec.episode_stats
        self.won = names.index("won")
        self.tied = names.index("tied") if "tied" in names else None
        self.others = np.zeros(game.num_rows, bool)
        self.met: list[tuple[Member, int]] = [(league.members[0], 0)] * game.num_envs
        """The opponent of every game and the seat it has."""
        for number in range(game.num_envs):
            self._draw(number)

    def act(self, rows: np.ndarray, actions: np.ndarray) -> None:
        """Overwrites `actions` (N,) in those of `rows` that others play."""
        asked: dict[int, tuple[Policy, list[int]]] = {}
        for row in rows[self.others[rows] & self.game.acting[rows]]:
            policy = self.met[row // self.players][0].policy
            assert policy is not None
            asked.setdefault(id(policy), (policy, []))[1].append(int(row))
        for policy, theirs in asked.values():
            observation, legal_mask = self.game.observation[theirs], self.game.legal_mask[theirs]
            actions[theirs] = policy.act(observation, legal_mask, deterministic=False, key=self.rng).actions

    def after(self, rows: np.ndarray) -> None:
        """A step of `rows` was taken: reports games that ended and seats the next opponents."""
        ended = (self.game.terminated | self.game.truncated)[rows]
        for number in np.unique(rows[ended] // self.players):
            member, seat = self.met[number]
            ours = number * self.players + (self.players - 1 - seat)
            if member.kind != SELF and self.game.terminated[ours]:
                self.league.report(member.name, self._score(ours))
            self._draw(number)

    def sit(self, number: int, member: Member, seat: int) -> None:
        """Puts a member on a seat of a game."""
        self.met[number] = member, seat
        rows = number * self.players + np.arange(self.players)
        self.others[rows] = (np.arange(self.players) == seat) & (member.kind != SELF)

    def _draw(self, number: int) -> None:
        """An opponent for a game, and the seat it takes."""
        self.sit(number, self.league.draw(self.rng, 1)[0], int(self.rng.integers(self.players)))

    def _score(self, row: int) -> float:
        """How an ended game went for a row: 1 won, ½ tied, 0 lost."""
        stats = self.game.final_stats[row]
        return float(stats[self.won]) + (0.0 if self.tied is None else 0.5 * float(stats[self.tied]))


CLONE = "clone"
_TABLE, _RNG, _SEATS, _MODEL = "members", "luck", "seats", "model"


def check_league(settings: TrainSettings, learner: str) -> None:
    """One sentence where a league cannot be honoured."""
    if learner != "jax":
        raise SettingsError(
            f"A league trains on learner jax only, this run is on '{learner}'. Choose one opponent of the game instead "
            "(--option opponent=heuristic), or --learner jax."
        )
    if OPPONENT not in [option.name for option in fields(game_entry(settings.game).spec.options)]:
        raise SettingsError(f"league is set, but game '{settings.game}' has no opponents. Leave it out.")
    League(settings.league.shares)


def open_league(settings: TrainSettings, root: Path) -> League:
    """The league a run begins with: its exploiters, and the clone if there is one."""
    league = League(settings.league.shares)
    for name in settings.league.members:
        if name in heuristic_names(settings.game):
            league.add(Member(name, "exploiter", heuristic_policy(name, settings.game)))
        else:
            league.add(_trained(settings, name, root, "exploiter"))
    if settings.start.bc_model is not None and foreign_tensors(settings.start.bc_model) is None:
        league.add(_trained(settings, settings.start.bc_model, root, CLONE))
    return league


def _trained(settings: TrainSettings, reference: str, root: Path, kind: str) -> Member:
    try:
        path = find_start(reference, root)
        manifest, model = _portable(path)
    except CheckpointError as problem:
        if kind == CLONE or Path(reference).exists() or (root / reference).exists():
            raise
        known = ", ".join(heuristic_names(settings.game))
        raise SettingsError(
            f"The league has no member '{reference}': no heuristic player ({known}), run or checkpoint has this name. "
            "Check league_members."
        ) from problem
    spec = game_entry(settings.game).spec.under(settings.game_options)
    check_matches(manifest, spec, where=path, sees_less=True)
    policy = _playing(model, reference, spec.observation.size)
    return Member(CLONE if kind == CLONE else reference, kind, policy, model)


def _playing(model: bytes, name: str, shown: int) -> Policy:
    """A member's policy, in games that show so much; it may know only the first fields."""
    policy = OnnxPolicy.from_bytes(model, name)
    return policy if policy.observation_size == shown else policy.seeing_first(policy.observation_size)


def _portable(path: Path) -> tuple[Manifest, bytes]:
    """A policy as it is kept in checkpoints, of a checkpoint or an exported file."""
    if path.is_dir():
        checkpoint = load_checkpoint(path)
        return checkpoint.manifest, checkpoint.policy_onnx()
    manifest, params = read_policy(path)
    sizes = manifest.network["observation_size"], manifest.network["num_actions"]
    return manifest, with_metadata(onnx_from_params(manifest.network, params, *sizes), manifest)


def past_self(update: int, model: bytes) -> Member:
    """The learner as it is after an update."""
    name = f"past-{update}"
    return Member(name, "past", OnnxPolicy.from_bytes(model, name), model)


def league_state(seats: Seats, games: int | None = None) -> dict[str, np.ndarray]:
    """Everything about the league that a checkpoint keeps; `games`: of the first so many games only."""
    league, met = seats.league, seats.met[:games]
    members = list(league.members)
    for member, _ in met:
        if all(member is not known for known in members):
            members.append(member)  # retired, and still playing a last game
    table = [
        {"name": m.name, "kind": m.kind, "points": m.points, "games": m.games, "retired": place >= len(league.members)}
        for place, m in enumerate(members)
    ]
    places = {id(member): place for place, member in enumerate(members)}
    return {
        _TABLE: np.array(json.dumps(table)),
        _RNG: np.array(json.dumps(seats.rng.bit_generator.state)),
        _SEATS: np.array([(places[id(member)], seat) for member, seat in met], np.int64),
        **{f"{_MODEL}/{place}": np.frombuffer(m.model, np.uint8) for place, m in enumerate(members) if m.model},
    }


def restore_league(seats: Seats, state: Mapping[str, np.ndarray], game: str) -> None:
    """Puts the league and its seats back to what `league_state` saw."""
    try:
        table = json_value(str(state[_TABLE]))
        rng_state, seated = json_value(str(state[_RNG])), state[_SEATS]
    except (KeyError, UnreadableError) as problem:
        raise CheckpointError("The checkpoint holds no league; it is of a run without one.") from problem
    if len(seated) != seats.game.num_envs:
        raise CheckpointError(f"The checkpoint seats {len(seated)} games; this run plays {seats.game.num_envs}.")
    members = []
    for place, row in enumerate(table):
        model = state[f"{_MODEL}/{place}"].tobytes() if f"{_MODEL}/{place}" in state else b""
        policy: Policy | None = None
        if row["kind"] != SELF:
            name = row["name"]
            shown = seats.game.spec.observation.size
            policy = _playing(model, name, shown) if model else heuristic_policy(name, game)
        members.append(Member(row["name"], row["kind"], policy, model, row["points"], row["games"]))
    seats.league.members = [member for member, row in zip(members, table, strict=True) if not row["retired"]]
    seats.rng.bit_generator.state = rng_state
    for number, (place, seat) in enumerate(seated.tolist()):
        seats.sit(number, members[place], seat)
