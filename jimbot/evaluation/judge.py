"""`evaluate`: one policy, however named, judged on seeds it was never trained on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from jimbot.errors import UsageError
from jimbot.evaluation.play import Progress, Witness, play_games
from jimbot.evaluation.seeds import Bank, choose_seeds
from jimbot.evaluation.summary import Evaluation
from jimbot.games.seeds import HELD_OUT
from jimbot.policies.players import Named, find_player


class HowToPlay(TypedDict, total=False):
    """How games are played; the same for everyone who is compared. See `play_games`."""

    deterministic: bool
    num_envs: int
    luck_seed: int
    witness: Witness | None


def evaluate(
    policy: Named,
    game_id: str | None = None,
    games: int | None = None,
    *,
    bank: Bank = HELD_OUT,
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

    `policy` is a policy or anything `load_policy` understands: a game means the policy shipped for it. The game and
    its options come from the checkpoint unless given. `against` is a win rate to be told from this policy's.
    """
    if against is not None and not 0 < against < 1:
        raise UsageError(f"A win rate of {against} cannot be compared with; expected one between 0 and 1.")
    player = find_player(policy, game_id, None, runs_root, which, threads).under(options)
    seeds, called = choose_seeds(bank, games, seeds_file, game_id=player.game)
    played = play_games(player.policy, player.game, seeds, options=player.options, progress=progress, **how)
    return Evaluation(played, called, how.get("deterministic", True), player.options, against)
