"""VGC's entry: how to build it, and what it offers beyond being played (see `jimbot.games.hooks`)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from jimbot.games.batch_game import BatchGame
from jimbot.games.entry import GameEntry, TwoSides
from jimbot.games.hooks import lazy
from jimbot.games.hooks.learners import Plans
from jimbot.games.hooks.programs import Decide, Installation, Online, PlayedOnline, PublicReplays, Visit
from jimbot.games.vgc import simulator, teams
from jimbot.games.vgc.game import SPEC, VgcGame
from jimbot.games.vgc.masks import legal_masks
from jimbot.games.vgc.options import HEURISTICS, SELF, Options
from jimbot.games.vgc.plain_state import STATES

SERVER_TEAMS = "held-out"
ABOUT = (
    "A Pokémon battle of two against two. From teams of six both sides choose four; two are out, two wait. Each turn "
    "both sides give their two Pokémon orders at once: a move, at whom, or a switch. Types decide what hurts whom. "
    "Once per battle one Pokémon may terastallize, which changes its type. Who makes all four opponents faint wins."
)


def ending(board: BatchGame, row: int, stats: Mapping[str, float], cut: bool) -> str:
    """How a battle ended for the side of this row."""
    how = "Won" if stats["won"] else "Tied" if stats["tied"] else "Cut off" if cut else "Lost"
    fainted = f"{int(stats['knock_outs'])} of theirs and {int(stats['fainted'])} of ours fainted"
    return f"{how} after {int(stats['turns'])} turns; {fainted}"


def heuristic(name: str) -> Callable[[], Any]:
    def make_player() -> Any:
        from jimbot.games.vgc.heuristic import VgcHeuristic

        return VgcHeuristic(name)

    return make_player


# --- the simulator ---


def _install(force: bool) -> Path:
    package = simulator.install(force)
    simulator.check(simulator.node_program(), package)
    return package


INSTALLATION = Installation(
    simulator.PACKAGE, simulator.VERSION, "with npm (half a minute)", simulator.is_installed, _install
)


# --- servers ---


def _play_online(visit: Visit, options: Options, decide: Decide, report: Callable[[PlayedOnline], None]) -> str:
    from jimbot.games.vgc.poke_env_player import play_on_server
    from jimbot.games.vgc.reader import Reader

    with closing(Reader(options)) as reader:
        if visit.team is not None:
            packed = reader.approved_teams(teams.read_texts(visit.team), str(visit.team))
        else:
            packed = list(teams.split_teams(SERVER_TEAMS))
        player = play_on_server(
            decide, reader, visit.server, packed, name=visit.name, challenge=visit.challenge, battles=visit.battles,
            patience=visit.patience, report=report,
        )  # fmt: skip
    won, events = sum(played.won for played in player.played), player.events
    return (
        f"{won} of {len(player.played)} battles won; {events['decisions']} decisions, {events['invalid_choices']} "
        f"invalid, {events['refused_choices']} refused by hidden trapping."
    )


ONLINE = Online(
    "ws://127.0.0.1:8000/showdown/websocket", lazy("jimbot.games.vgc.poke_env_player:check_server"), _play_online
)


# --- other people's games ---


@contextmanager
def public_replays(path: Path, options: Options) -> Generator[PublicReplays]:
    """The replays in a file or folder."""
    from jimbot.games.vgc.battle_logs import read_replays, replay_files
    from jimbot.games.vgc.reader import Reader

    files = replay_files(path)
    with closing(Reader(options)) as reader:
        yield PublicReplays(len(files), read_replays(reader, files))


def make(num_envs: int, seed: int = 0, options: Options = Options(), checked: bool = False) -> VgcGame:
    """N battles behind the BatchGame contract."""
    return VgcGame(num_envs, seed, options, checked)


PLANS = Plans(
    ("order",),
    lambda observation, legal: np.zeros(len(observation), np.int64),
    # A turn decides much and costs a simulation of the whole battle so far: one turn in several deals, then the value.
    ({"candidates": 4, "depth": 0, "certain": 0.95},),
    opponent="heuristic",
)

GAME = GameEntry(
    spec=SPEC,
    make=make,
    heuristics={name: heuristic(name) for name in HEURISTICS if name != "random"},
    two_sides=TwoSides({"opponent": SELF}, agreed=("format", "open_team_sheets")),
    legal_masks=legal_masks,
    ending=ending,
    scene=lazy("jimbot.games.vgc.scene:scene"),
    canvas=(120, 22),
    about=ABOUT,
    human_interface=lazy("jimbot.games.vgc.human_interface:VgcInterface"),
    plans=PLANS,
    installation=INSTALLATION,
    online=ONLINE,
    public_replays=public_replays,
    states=STATES,
)
