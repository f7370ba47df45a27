"""`jimbot watch`: looks over a policy's shoulder: the board, its chances, what it expects and what it gets."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jimbot.cli.look.recording import RECORD_HELP, check_place
from jimbot.cli.look.watcher import Pace, Watcher
from jimbot.cli.shared import terminal
from jimbot.cli.shared.advising import AdviserSetOption, second_opinion
from jimbot.cli.shared.completion import complete_policy
from jimbot.cli.shared.options import (
    RUNS,
    BusOption,
    OptionOption,
    PlanOption,
    PlanWithOption,
    RunsDirOption,
    SeedOption,
    StochasticOption,
)
from jimbot.errors import UsageError

if TYPE_CHECKING:
    from jimbot.policies.players import Player

DEFAULT_GAME = "hackmatrix"
EPILOG = """Examples:

jimbot watch hackmatrix   (the policy that comes with JimBot)

jimbot watch --latest   (the run that is training now, newest checkpoint for each game)

jimbot watch my-run --stochastic --speed 8 --seed 42

jimbot watch heuristic --game hackmatrix --games 3

jimbot watch balatro --seed 7LB2WVPK --deck blue

jimbot watch vgc my-run --opponent max_damage   (both sides of a battle)

jimbot watch hackmatrix --games 100 --bus embedded   (others may listen and learn: jimbot record --from-bus)

jimbot watch balatro --advise   (a second opinion beside the policy's chances; it is not played)

jimbot watch balatro --record game.json   (then: jimbot replay game.json)"""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(watch)


def watch(
    policy: Annotated[
        str | None,
        typer.Argument(
            autocompletion=complete_policy,
            help="A run, checkpoint, params_<step>.npz, .onnx or scripted policy; or a game, for the policy shipped "
            f"with it. Without one: {DEFAULT_GAME}.",
        ),
    ] = None,
    second: Annotated[str | None, typer.Argument(metavar="policy", help="The policy, if a game came first.")] = None,
    game: Annotated[str | None, typer.Option(help="The game, for scripted policies.")] = None,
    opponent: Annotated[
        str | None,
        typer.Option(help="In games of two players, the other side: a scripted player, run, checkpoint or file."),
    ] = None,
    latest: Annotated[bool, typer.Option("--latest", help="The newest checkpoint of the newest run.")] = False,
    games: Annotated[
        int | None, typer.Option(help="How many games; without it until q (one, if not on a terminal).")
    ] = None,
    speed: Annotated[float, typer.Option(help="Steps per second, on a terminal.")] = 4.0,
    seed: SeedOption = None,
    stochastic: StochasticOption = False,
    plan: PlanOption = None,
    plan_with: PlanWithOption = None,
    advise: Annotated[
        bool,
        typer.Option("--advise", help="Show a second opinion where the policy is not sure: Claude, or the planner."),
    ] = False,
    adviser_set: AdviserSetOption = None,
    pause: Annotated[bool, typer.Option("--pause", help="Start paused.")] = False,
    option: OptionOption = None,
    record: Annotated[
        Path | None, typer.Option(help=f"{RECORD_HELP} One game, unless --games says more (FILE-2, …).")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="The same as naming it without a flag.")] = None,
    hidden_dim: Annotated[
        int | None, typer.Option(help="Width of the hidden layers; every file says it, so it is only checked.")
    ] = None,
    num_layers: Annotated[int | None, typer.Option(help="Hidden layers; only checked, too.")] = None,
    bus: BusOption = None,
    runs_dir: RunsDirOption = RUNS,
) -> None:
    """Watch a policy play.

    Shows the board, its likeliest actions, the return it expects and the rewards it gets; in games of two players what
    both sides would do.
    """
    from jimbot.cli.shared.choice import game_first, newest_checkpoint
    from jimbot.planning import planning
    from jimbot.policies.players import find_player

    terminal.require_positive(games=games, speed=speed)
    check_place(record)
    if model is not None:
        policy, second = (model, second) if policy is None else (policy, model)
    if latest and policy is not None:
        raise UsageError(f"Both --latest and '{policy}' say what to watch; give one of them.")
    if policy is not None:
        policy, game = game_first(policy, second, game)
    options = terminal.pairs(option or [])

    def load() -> Player:
        reference = str(newest_checkpoint(runs_dir)) if latest else policy or game or DEFAULT_GAME
        player = planning(find_player(reference, game, options, runs_dir), plan, plan_with)
        check_network(player, hidden_dim, num_layers)
        return player

    loading, adviser = second_opinion(load, adviser_set) if advise or adviser_set else (load, None)
    on_terminal = sys.stdout.isatty()
    endless = on_terminal and record is None
    watcher = _watcher(
        loading, latest, Pace(speed, pause, on_terminal), stochastic, record, opponent, options, runs_dir
    )
    watcher.adviser = adviser
    if bus is not None:
        if type(watcher) is not Watcher:
            raise UsageError("--bus tells of games with one player; name the rival as an option of the game.")
        from jimbot.runs.sinks.publishing import open_publisher

        watcher.publisher = open_publisher(bus)
    watcher.watch(_seeds(terminal.seed_of(watcher.choice.entry, seed)), games or (None if endless else 1))
    if adviser is not None:
        adviser.close()
        terminal.note(f"The adviser ({adviser.source.name}): {adviser.figures}.")


def check_network(player: Player, hidden_dim: int | None, num_layers: int | None) -> None:
    """Raises unless the policy's network is as wide and deep as somebody says it is."""
    hidden = player.manifest.network.get("hidden") if player.manifest is not None else None
    found = (hidden[0], len(hidden)) if hidden else (None, None)
    for flag, said, is_so in (("--hidden-dim", hidden_dim, found[0]), ("--num-layers", num_layers, found[1])):
        if said is not None and is_so is not None and said != is_so:
            raise UsageError(f"{flag} is {said}, but '{player.name}' has {is_so}, as its file says. Leave it out.")


def _watcher(
    load: Callable[[], Player],
    latest: bool,
    pace: Pace,
    stochastic: bool,
    record: Path | None,
    opponent: str | None,
    options: Mapping[str, object],
    runs_dir: Path,
) -> Watcher:
    """For one player, or for both where the game has two. Of a recorded game the rival is the game's own."""
    entry = load().entry
    alone = entry.two_sides is None or record is not None or any(name in options for name in entry.two_sides.options)
    if alone:
        if opponent is not None:
            why = "recorded games have one player" if entry.two_sides is not None else "the game is for one player"
            raise UsageError(f"--opponent is '{opponent}', but {why}; leave it out.")
        return Watcher(load, latest, pace, stochastic, record)
    from jimbot.cli.look.watch_duel import DuelWatcher
    from jimbot.evaluation.duels import scripted_rivals
    from jimbot.policies.players import find_player

    rival = find_player(opponent or scripted_rivals(entry)[-1], entry.spec.id, None, runs_dir)
    return DuelWatcher(load, latest, pace, stochastic, rival)


def _seeds(first: int | None) -> Iterator[int]:
    """The seeds to show: from `first` on, or held-out ones from a random place."""
    from jimbot.games.seeds import HELD_OUT, bank_seeds

    if first is not None:
        yield from (seed % 2**64 for seed in count(first))
    place = secrets.randbelow(2**32)
    while True:
        seed = int(bank_seeds(HELD_OUT, 1, start=place)[0])
        yield seed
        place = seed + 1
