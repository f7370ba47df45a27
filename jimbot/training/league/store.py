"""The league of a run: made from its settings, kept in its checkpoints.

A checkpoint holds every member with its policy (past selves exist nowhere else), the scores, who sits where, and the
luck that draws opponents and their moves, so a continued run meets the same opponents and sees them play the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import numpy as np

from jimbot.errors import CheckpointError, SettingsError, UnreadableError
from jimbot.games.contract import game_entry
from jimbot.policies.contract import FirstFields, Policy
from jimbot.policies.onnx_form import onnx_from_params
from jimbot.policies.portable import OnnxPolicy, with_metadata
from jimbot.policies.scripted import scripted_names, scripted_policy
from jimbot.reading.plain import json_value
from jimbot.runs.checkpoint import Manifest, check_matches, load_checkpoint
from jimbot.training.init_policy import find_start, foreign_tensors, read_policy
from jimbot.training.league.opponents import SELF, League, Member, Seats
from jimbot.training.settings.record import TrainSettings

OPPONENT = "opponent"
"""The option by which a game of two says who plays the other side; `self` makes both sides rows."""
CLONE = "clone"
_TABLE, _LUCK, _SEATS, _MODEL = "members", "luck", "seats", "model"


def plays_league(settings: TrainSettings) -> bool:
    """Whether opponents come from a league: not where the game's own `opponent` was chosen."""
    return bool(settings.league.shares) and settings.game_options.get(OPPONENT, SELF) == SELF


def check_league(settings: TrainSettings, learner: str) -> None:
    """One sentence where a league cannot be honoured."""
    if not plays_league(settings):
        return
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
        if name in scripted_names(settings.game):
            league.add(Member(name, "exploiter", scripted_policy(name, settings.game)))
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
        known = ", ".join(scripted_names(settings.game))
        raise SettingsError(
            f"The league has no member '{reference}': no scripted player ({known}), run or checkpoint has this name. "
            "Check league_members."
        ) from problem
    spec = game_entry(settings.game).spec.under(settings.game_options)
    check_matches(manifest, spec, where=path, sees_less=True)
    policy = _playing(model, reference, spec.observation.size)
    return Member(CLONE if kind == CLONE else reference, kind, policy, model)


def _playing(model: bytes, name: str, shown: int) -> Policy:
    """A member's policy, in games that show so much; it may know only the first fields."""
    policy = OnnxPolicy.from_bytes(model, name)
    return policy if policy.observation_size == shown else FirstFields(policy, policy.observation_size)


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
        _LUCK: np.array(json.dumps(seats.luck.bit_generator.state)),
        _SEATS: np.array([(places[id(member)], seat) for member, seat in met], np.int64),
        **{f"{_MODEL}/{place}": np.frombuffer(m.model, np.uint8) for place, m in enumerate(members) if m.model},
    }


def restore_league(seats: Seats, state: Mapping[str, np.ndarray], game: str) -> None:
    """Puts the league and its seats back to what `league_state` saw."""
    try:
        table = json_value(str(state[_TABLE]))
        luck, sitting = json_value(str(state[_LUCK])), state[_SEATS]
    except (KeyError, UnreadableError) as problem:
        raise CheckpointError("The checkpoint holds no league; it is of a run without one.") from problem
    if len(sitting) != seats.game.num_envs:
        raise CheckpointError(f"The checkpoint seats {len(sitting)} games; this run plays {seats.game.num_envs}.")
    members = []
    for place, row in enumerate(table):
        model = state[f"{_MODEL}/{place}"].tobytes() if f"{_MODEL}/{place}" in state else b""
        policy: Policy | None = None
        if row["kind"] != SELF:
            name = row["name"]
            shown = seats.game.spec.observation.size
            policy = _playing(model, name, shown) if model else scripted_policy(name, game)
        members.append(Member(row["name"], row["kind"], policy, model, row["points"], row["games"]))
    seats.league.members = [member for member, row in zip(members, table, strict=True) if not row["retired"]]
    seats.luck.bit_generator.state = luck
    for number, (place, seat) in enumerate(sitting.tolist()):
        seats.sit(number, members[place], seat)
