"""Options that several commands have, each described once."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jimbot.cli.shared import terminal
from jimbot.errors import CheckpointError, UsageError
from jimbot.logs import setup_logging
from jimbot.plugins import provided

if TYPE_CHECKING:
    from jimbot.evaluation import Evaluation
    from jimbot.games import BatchGame
    from jimbot.games.contract import GameEntry
    from jimbot.policies.players import Player


def complete_run(ctx: Any, incomplete: str) -> list[str]:
    """Names of runs."""
    from jimbot.runs.checkpoint import run_names

    root = (ctx.params.get("runs_dir") if ctx is not None else None) or Path("runs")
    return [name for name in run_names(root) if name.startswith(incomplete)]


def complete_game(incomplete: str) -> list[str]:
    """Names of games."""
    from jimbot.games.contract import available_games

    return [name for name in available_games() if name.startswith(incomplete)]


def complete_policy(ctx: Any, incomplete: str) -> list[str]:
    """Whatever names a policy and is not a file: runs, then games with their shipped ones."""
    return [*complete_run(ctx, incomplete), *complete_game(incomplete)]


RUNS = Path("runs")

PolicyArgument = Annotated[str, "A run, checkpoint, .npz, .onnx, heuristic player, or a game for its shipped policy."]
GameOption = Annotated[str | None, "The game, for random and heuristic players."]
SeedOption = Annotated[str | None, "The seed to play, a number or as the game writes it."]
StochasticOption = Annotated[bool, "Draw actions instead of taking the best."]
OPTION_HELP = "name=value; an option of the game. --name value does the same."
OptionOption = Annotated[list[str] | None, OPTION_HELP]
AgainstOption = Annotated[str | None, "A win rate to compare this one with: 2.7% or 0.027.", "RATE"]
NumEnvsOption = Annotated[int, "Games played at the same time."]
BestOption = Annotated[bool, "Of a run, the best checkpoint instead of the newest."]
BusOption = Annotated[str | None, "Publish what happens: embedded, embedded:FILE or nats://HOST:PORT.", "ADDRESS"]
RunsDirOption = Annotated[Path, "Where runs live."]
HostOption = Annotated[str, "--host", "Address to listen on; other machines than this one need a token."]
TokenFileOption = Annotated[Path | None, "Good tokens, one per line; read anew when it changes."]


def show_log(level: str | None) -> None:
    """Takes effect where `--log-level` is read: no command has to do anything about it."""
    if level is not None:
        setup_logging(level)


LogLevelOption = Annotated[
    str | None,
    typer.Option(
        "--log-level",
        help="Also show log lines: debug, info, warning or error.",
        metavar="LEVEL",
        callback=show_log,
        expose_value=False,
    ),
]
JsonOption = Annotated[bool, "--json", "Print the result as JSON."]


def share(text: str) -> float:
    """A rate as people write it.

    >>> share("2.35%"), share("0.25")
    (0.0235, 0.25)
    """
    number, percent, rest = text.replace(" ", "").partition("%")
    try:
        rate = float(number) / 100 if percent else float(number)
    except ValueError:
        rate = math.nan
    if rest or not 0 < rate < 1:
        raise UsageError(f"--against is '{text}'; expected a win rate between 0 and 1, as 2.35% or 0.0235.")
    return rate


@contextmanager
def showing_progress(what: str, quiet: bool) -> Generator[Callable[[int, int], None]]:
    """A bar on stderr while games are played, in a pipe a line every few seconds; gives the function to call with
    (games over, games in all)."""
    if not quiet and not sys.stderr.isatty():
        yield terminal.plain_progress(what)
        return
    with terminal.progress(quiet) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)


ADVISER_SET_HELP = "A setting or limit of the adviser: model, dollars_per_hour, … (jimbot adviser settings)."
AdviserSetOption = Annotated[list[str] | None, ADVISER_SET_HELP, "NAME=VALUE"]


@dataclass(frozen=True)
class Advice:
    """Whether an adviser is asked, and how it is set."""

    adviser: Annotated[
        bool, "Ask where the policy is not sure: Claude if ANTHROPIC_API_KEY is set, else the planner."
    ] = False
    adviser_set: AdviserSetOption = None

    @property
    def wanted(self) -> bool:
        return self.adviser or bool(self.adviser_set)


@dataclass(frozen=True)
class Plan:
    """Whether a policy looks ahead, and how."""

    plan: Annotated[int | None, "Look ahead: so many simulations per decision in copies of the game.", "N"] = None
    plan_with: Annotated[
        str | None,
        "Who plays the simulations out, and whose move is improved: a heuristic player, a run, a file, or itself. "
        "Default: what the game's table names (the heuristic for balatro, its search for hackmatrix), else itself.",
        "PLAYER",
    ] = None

    def of(self, player: Player) -> Player:
        """The player, looking ahead if that was asked for."""
        from jimbot.planning import planning

        return planning(player, self.plan, self.plan_with, self.settings)

    @property
    def settings(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class TimedPlan(Plan):
    """Also by time instead of by simulations."""

    plan_seconds: Annotated[
        float | None, "Look ahead for so long at every decision: as many simulations as will be over in time.", "S"
    ] = None

    def of(self, player: Player) -> Player:
        from jimbot.planning import planning

        return planning(player, self.plan, self.plan_with, self.settings, self.plan_seconds)


@dataclass(frozen=True)
class PlanInDetail(TimedPlan):
    """With settings of the plan itself."""

    plan_set: Annotated[
        list[str] | None,
        "A setting of the plan in place of the game's own: candidates, depth, certain, margin, prior, seconds.",
        "NAME=VALUE",
    ] = None

    @property
    def settings(self) -> dict[str, Any]:
        return terminal.pairs(self.plan_set or [], "--plan-set")


ACT = "act"


@dataclass(frozen=True)
class Hints:
    """Whether what the knowledge graph says acts."""

    hints: Annotated[
        str | None, "act: moves in shops and packs lean to what the knowledge graph says of their parts.", "act"
    ] = None
    hints_most: Annotated[float, "By so many nats at most."] = 1.0
    graph: Annotated[str | None, "Which graph: a file or bolt://HOST:PORT; yours.", "ADDRESS"] = None

    def __post_init__(self) -> None:
        if self.hints not in (None, ACT):
            raise UsageError(f"--hints is '{self.hints}'; expected {ACT}.")
        if not 0 < self.hints_most <= 20:
            raise UsageError(f"--hints-most is {self.hints_most}; expected more than 0, up to 20 nats.")
        if self.hints is None and (self.graph is not None or self.hints_most != 1.0):
            raise UsageError(f"--graph and --hints-most say how hints act; add --hints {ACT}.")

    def of(self, player: Player) -> Player:
        """The player, leaning to what the graph says if that was asked for."""
        return player if self.hints is None else provided("jimbot.flags", "acting")(player, self.graph, self.hints_most)


def game_first(first: str, second: str | None, game: str | None) -> tuple[str, str | None]:
    """`GAME POLICY` as some type it, or `POLICY` alone: (policy, game)."""
    from jimbot.games.contract import available_games

    if second is None:
        return first, game
    if first not in available_games():
        raise UsageError(f"Got two policies, '{first}' and '{second}'; give one, or a game and a policy.")
    if game not in (None, first):
        raise UsageError(f"'{first}' and --game {game} name two games; give one of them.")
    return second, first


def newest_checkpoint(runs_dir: Path) -> Path:
    """The newest checkpoint of the run that was saved last."""
    from jimbot.runs.checkpoint import CHECKPOINTS, CheckpointStore, run_names

    names = run_names(runs_dir)
    # The folder of checkpoints changes with every save, the run's own folder only with its first one.
    for name in sorted(names, key=lambda name: (runs_dir / name / CHECKPOINTS).stat().st_mtime, reverse=True):
        if found := CheckpointStore(runs_dir / name / CHECKPOINTS).latest():
            return found
    raise CheckpointError(f"There is no checkpoint under {runs_dir} yet; train first, or name it with --runs-dir.")


def start_game(entry: GameEntry, seed: int, options: Mapping[str, Any], quiet: bool = False) -> BatchGame:
    """One game of `entry` at its first move, ready to answer at once."""
    import numpy as np

    from jimbot.foreign_text import Terminal
    from jimbot.games import make

    keep_compiled(entry)
    game = make(entry.spec.id, 1, options=options, checked=True)
    with Terminal(stderr=True, quiet=quiet).status(
        f"Preparing {entry.spec.id} (the first start on a machine compiles it)…"
    ):
        game.reset(np.array([seed], np.uint64))
        if entry.functional is not None:
            # The first step compiles, too; take it now and put everything back.
            before = game.snapshot()
            game.step(game.legal_mask.argmax(axis=1))
            game.restore(before)
    return game


def keep_compiled(entry: GameEntry) -> None:
    """Lets games written in JAX find what an earlier start compiled."""
    if entry.functional is not None:
        from jimbot.training.session.compile_cache import use_compile_cache

        use_compile_cache()


@dataclass(frozen=True)
class Playing:
    """Which games are played to evaluate a policy, and how."""

    games: Annotated[int | None, "Games each policy plays; 256, or all seeds of the file."] = None
    seed: Annotated[list[str] | None, "Play this seed instead of a bank; may be given several times."] = None
    seeds: Annotated[str, "Seed bank: held-out (never trained on), validation or train."] = "held-out"
    seeds_file: Annotated[Path | None, "Play the seeds in this file instead, one per line."] = None
    stochastic: StochasticOption = False
    option: OptionOption = None
    num_envs: NumEnvsOption = 256
    best: BestOption = False
    runs_dir: RunsDirOption = RUNS
    as_json: JsonOption = False

    def __post_init__(self) -> None:
        terminal.require_positive(games=self.games, num_envs=self.num_envs)

    @property
    def bank(self) -> str | list[str]:
        return self.seed or self.seeds

    @property
    def options(self) -> dict[str, Any]:
        return terminal.pairs(self.option or [])

    @property
    def found(self) -> dict[str, Any]:
        """Where policies are found, as every function that takes one by name takes it."""
        return {"runs_root": self.runs_dir, "which": "best" if self.best else "latest"}

    @contextmanager
    def shown(self, what: str) -> Generator[dict[str, Any]]:
        """A bar while games are played; gives what every function of `jimbot.evaluation` takes about playing."""
        with showing_progress(what, quiet=self.as_json) as progress:
            yield {
                "games": self.games, "bank": self.bank, "seeds_file": self.seeds_file,
                "deterministic": not self.stochastic, "num_envs": self.num_envs, "progress": progress,
            }  # fmt: skip


def evaluate_both(alone: Player, helped: Player, playing: Playing) -> tuple[Evaluation, Evaluation]:
    """A player and the same one with help, on the same seeds."""
    from jimbot.evaluation import evaluate

    found = []
    for player in (alone, helped):
        with playing.shown(f"Playing {player.name}") as how:
            found.append(evaluate(player.policy, player.game, options=alone.options, **how))
    return found[0], found[1]


OLD_PORTS = {"figures": "metrics"}
"""Ports by names they had: understood, never shown."""


def ports_of(given: list[str] | None) -> dict[str, int]:
    """What NAME=PORT says, name by name."""
    found = {OLD_PORTS.get(name, name): value for name, value in terminal.pairs(given or [], "--port").items()}
    for name, value in found.items():
        if type(value) is not int or not 0 < value < 65_536:
            raise UsageError(f"--port {name} is {value!r}; expected a number from 1 to 65535.")
    return found
