"""`jimbot play GAME --server …`: a policy plays on a server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jimbot.cli.shared import terminal
from jimbot.errors import UsageError

if TYPE_CHECKING:
    from jimbot.games.hooks import PlayedOnline, Visit


def play_on_server(
    game: str, policy: str, visit: Visit, options: Mapping[str, Any], stochastic: bool, runs_dir: Path
) -> None:
    """Plays and tells how each battle ended."""
    import numpy as np

    from jimbot.evaluation.duels import agreed_options
    from jimbot.games.contract import game_entry, games_with
    from jimbot.policies.players import find_player

    online = game_entry(game).online
    if online is None:
        raise UsageError(f"Game '{game}' has no servers; --server is for {' and '.join(games_with('online'))}.")
    if not visit.server:
        raise UsageError(f"Where to play is missing; add --server, for instance {online.example}.")
    choice = find_player(policy, None if policy == game else game, {}, runs_dir)
    online.check(visit.server)
    agreed = agreed_options(choice.entry, [choice], options)
    luck = np.random.default_rng()

    def decide(observation: np.ndarray, legal_mask: np.ndarray) -> int:
        decision = choice.policy.act(observation[None], legal_mask[None], not stochastic, luck)
        return int(decision.actions[0])

    def told(played: PlayedOnline) -> None:
        result = "tied with" if played.tied else "won against" if played.won else "lost to"
        terminal.console().print(f"{choice.name} {result} {played.rival} after {played.turns} turns.")

    terminal.note(
        f"{choice.name} is '{visit.name}' on {visit.server} and plays {visit.challenge or 'whoever challenges us'}."
    )
    terminal.console().print(online.play(visit, choice.entry.spec.parse_options(agreed), decide, told))
