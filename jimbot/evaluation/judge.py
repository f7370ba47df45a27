"""`evaluate`: one policy, however named, judged on seeds it was never trained on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

from jimbot.errors import UsageError
from jimbot.evaluation.play import Progress, Witness, play_games
from jimbot.evaluation.seeds import choose_seeds
from jimbot.evaluation.summary import Evaluation
from jimbot.games.seeds import HELD_OUT
from jimbot.policies.contract import Policy
from jimbot.policies.portable import load_policy
from jimbot.policies.scripted import with_needed_options


class Player(NamedTuple):
    """A policy together with what it plays."""

    policy: Policy
    game_id: str
    options: dict[str, Any]


class HowToPlay(TypedDict, total=False):
    """How games are played; the same for everyone who is compared. See `play_games`."""

    deterministic: bool
    num_envs: int
    luck_seed: int
    witness: Witness | None


def evaluate(
    policy: Policy | str | Path,
    game_id: str | None = None,
    games: int | None = None,
    *,
    bank: str = HELD_OUT,
    seeds_file: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
    against: float | None = None,
    progress: Progress | None = None,
    runs_root: str | Path = "runs",
    which: Literal["latest", "best"] = "latest",
    threads: int = 1,
    **how: Unpack[HowToPlay],
) -> Evaluation:
    """Plays `games` games (default 256, or the whole seeds file) and reports figures with intervals.

    `policy` is a policy or anything `load_policy` understands. The game and its options come from the checkpoint
    unless given. `against` is a win rate to be told from this policy's.
    """
    if against is not None and not 0 < against < 1:
        raise UsageError(f"A win rate of {against} cannot be compared with; expected one between 0 and 1.")
    player = find_player(policy, game_id, options, runs_root, which, threads)
    seeds, called = choose_seeds(bank, games, seeds_file)
    played = play_games(player.policy, player.game_id, seeds, options=player.options, progress=progress, **how)
    return Evaluation(played, called, how.get("deterministic", True), player.options, against)


def find_player(
    policy: Policy | str | Path,
    game_id: str | None = None,
    options: Mapping[str, Any] | None = None,
    runs_root: str | Path = "runs",
    which: Literal["latest", "best"] = "latest",
    threads: int = 1,
) -> Player:
    """The policy, its game and the options to play it with: as given, else as in its manifest, with what it needs."""
    manifest = None
    if isinstance(policy, str | Path):
        policy, manifest = load_policy(policy, game_id, runs_root, which, threads)
    if game_id is None and manifest is not None:
        game_id = manifest.game
    if game_id is None:
        raise UsageError(f"Policy '{policy.name}' does not say which game it plays; give the game as well.")
    if options is None:
        options = manifest.game_options if manifest is not None else {}
    return Player(policy, game_id, with_needed_options(policy, options))
