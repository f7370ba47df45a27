"""`jimbot play vgc --server …`: a policy plays on a Showdown server."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jimbot.cli import terminal
from jimbot.errors import UsageError

if TYPE_CHECKING:
    from jimbot.games.vgc.poke_env_player import Played

GAME = "vgc"


@dataclass(frozen=True)
class Visit:
    """What was asked for on the command line."""

    server: str | None
    policy: str
    challenge: str | None
    name: str
    team: Path | None
    battles: int
    patience: float
    stochastic: bool


def play_on_server(game: str, visit: Visit, options: Mapping[str, Any], runs_dir: Path) -> None:
    """Plays and tells how each battle ended."""
    if game != GAME:
        raise UsageError(f"Game '{game}' has no servers; --server is for {GAME}.")
    if visit.server is None:
        raise UsageError("Where to play is missing; add --server, for instance ws://127.0.0.1:8000/showdown/websocket.")
    import numpy as np

    from jimbot.cli.choice import choose
    from jimbot.evaluation.duels import Player, agreed_options
    from jimbot.games.vgc import poke_env_player, teams
    from jimbot.games.vgc.options import Options
    from jimbot.games.vgc.reader import Reader

    choice = choose(visit.policy, None if visit.policy == GAME else GAME, {}, runs_dir)
    poke_env_player.check_server(visit.server)
    agreed = agreed_options(choice.entry, [Player(choice.name, choice.policy, choice.manifest)], options)
    chosen = choice.entry.spec.parse_options(agreed)
    assert isinstance(chosen, Options)
    luck = np.random.default_rng()

    def decide(observation: np.ndarray, legal_mask: np.ndarray) -> int:
        decision = choice.policy.act(observation[None], legal_mask[None], not visit.stochastic, luck)
        return int(decision.actions[0])

    def told(played: Played) -> None:
        result = "tied with" if played.tied else "won against" if played.won else "lost to"
        terminal.console().print(f"{choice.name} {result} {played.rival} after {played.turns} turns.", markup=False)

    with closing(Reader(chosen)) as reader:
        if visit.team is not None:
            packed = reader.approved_teams(teams.read_texts(visit.team), str(visit.team))
        else:
            packed = list(teams.split_teams("held-out"))
        rival = visit.challenge or "whoever challenges us"
        terminal.note(f"{choice.name} is '{visit.name}' on {visit.server} and plays {rival}.")
        player = poke_env_player.play_on_server(
            decide, reader, visit.server, packed, name=visit.name, challenge=visit.challenge, battles=visit.battles,
            patience=visit.patience, told=told,
        )  # fmt: skip
    won = sum(played.won for played in player.played)
    events = player.events
    terminal.console().print(
        f"{won} of {len(player.played)} battles won; {events['decisions']} decisions, {events['invalid_choices']} "
        f"invalid, {events['refused_choices']} refused by hidden trapping."
    )
