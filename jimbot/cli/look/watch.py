"""`jimbot watch`: looks over a policy's shoulder: the board, its chances, what it expects and what it gets."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from jimbot.cli.look import screen
from jimbot.cli.look.replay import RECORD_HELP, check_place
from jimbot.cli.look.watcher import FEW_CHANCES, Pace, Watcher
from jimbot.cli.shared import common, terminal
from jimbot.cli.shared.command import adds
from jimbot.errors import UsageError
from jimbot.plugins import provided

if TYPE_CHECKING:
    from jimbot.cli.look.keys import Keyboard
    from jimbot.games import BatchGame
    from jimbot.policies import Decision
    from jimbot.policies.players import Player


DEFAULT_GAME = "hackmatrix"
EXAMPLES = """jimbot watch hackmatrix   (the policy that comes with JimBot)
jimbot watch --latest   (the run that is training now, newest checkpoint for each game)
jimbot watch my-run --stochastic --speed 8 --seed 42
jimbot watch heuristic --game hackmatrix --games 3
jimbot watch balatro --seed 7LB2WVPK --deck blue
jimbot watch vgc my-run --opponent max_damage   (both sides of a battle)
jimbot watch hackmatrix --games 100 --bus embedded   (others may listen and learn: jimbot record --from-bus)
jimbot watch balatro --advise   (a second opinion beside the policy's chances; it is not played)
jimbot watch balatro --record game.json   (then: jimbot replay game.json)"""


def watch(
    policy: Annotated[
        str | None,
        typer.Argument(
            autocompletion=common.complete_policy,
            help="A run, checkpoint, params_<step>.npz, .onnx or heuristic policy; or a game, for the policy shipped "
            f"with it. Without one: {DEFAULT_GAME}.",
        ),
    ] = None,
    second: Annotated[str | None, typer.Argument(metavar="policy", help="The policy, if a game came first.")] = None,
    game: Annotated[str | None, "The game, for heuristic policies."] = None,
    opponent: Annotated[
        str | None, "In games of two players, the other side: a heuristic player, run, checkpoint or file."
    ] = None,
    latest: Annotated[bool, "The newest checkpoint of the newest run."] = False,
    games: Annotated[int | None, "How many games; without it until q (one, if not on a terminal)."] = None,
    speed: Annotated[float, "Steps per second, on a terminal."] = 4.0,
    seed: common.SeedOption = None,
    stochastic: common.StochasticOption = False,
    advise: Annotated[bool, "Show a second opinion where the policy is not sure: Claude, or the planner."] = False,
    adviser_set: common.AdviserSetOption = None,
    pause: Annotated[bool, "Start paused."] = False,
    option: common.OptionOption = None,
    record: Annotated[Path | None, f"{RECORD_HELP} One game, unless --games says more (FILE-2, …)."] = None,
    model: Annotated[str | None, "The same as naming it without a flag."] = None,
    hidden_dim: Annotated[int | None, "Width of the hidden layers; every file says it, so it is only checked."] = None,
    num_layers: Annotated[int | None, "Hidden layers; only checked, too."] = None,
    bus: common.BusOption = None,
    runs_dir: common.RunsDirOption = common.RUNS,
    plan: common.TimedPlan = common.TimedPlan(),
    hints: common.Hints = common.Hints(),
) -> None:
    """Watch a policy play.

    Shows the board, its likeliest actions, the return it expects and the rewards it gets; in games of two players what
    both sides would do.
    """
    from jimbot.policies.players import find_player

    terminal.require_positive(games=games, speed=speed)
    check_place(record)
    if model is not None:
        policy, second = (model, second) if policy is None else (policy, model)
    if latest and policy is not None:
        raise UsageError(f"Both --latest and '{policy}' say what to watch; give one of them.")
    if policy is not None:
        policy, game = common.game_first(policy, second, game)
    options = terminal.pairs(option or [])

    def load() -> Player:
        reference = str(common.newest_checkpoint(runs_dir)) if latest else policy or game or DEFAULT_GAME
        player = plan.of(hints.of(find_player(reference, game, options, runs_dir)))
        check_network(player, hidden_dim, num_layers)
        return player

    loading, adviser = load, None
    if advise or adviser_set:
        loading, adviser = provided("jimbot.flags", "watch_advised")(load, adviser_set)
    on_terminal = sys.stdout.isatty()
    endless = on_terminal and record is None
    watcher = _watcher(
        loading, latest, Pace(speed, pause, on_terminal), stochastic, record, opponent, options, runs_dir
    )
    watcher.adviser = adviser
    if bus is not None:
        if type(watcher) is not Watcher:
            raise UsageError("--bus publishes games with one player; name the opponent as an option of the game.")
        watcher.publisher = provided("jimbot.flags", "watch_bus")(bus)
    watcher.watch(_seeds(terminal.seed_of(watcher.choice.entry, seed)), games or (None if endless else 1))
    if adviser is not None:
        adviser.close()
        terminal.note(f"The adviser ({adviser.source.name}): {adviser.metrics}.")


register = adds(watch, EXAMPLES)


def check_network(player: Player, hidden_dim: int | None, num_layers: int | None) -> None:
    """Raises unless the policy's network is as wide and deep as the flags say."""
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
    """For one player, or for both where the game has two. Of a recorded game the opponent is the game's own."""
    entry = load().entry
    alone = entry.two_sides is None or record is not None or any(name in options for name in entry.two_sides.options)
    if alone:
        if opponent is not None:
            why = "recorded games have one player" if entry.two_sides is not None else "the game is for one player"
            raise UsageError(f"--opponent is '{opponent}', but {why}; leave it out.")
        return Watcher(load, latest, pace, stochastic, record)
    from jimbot.evaluation.duels import heuristic_opponents
    from jimbot.policies.players import find_player

    other = find_player(opponent or heuristic_opponents(entry)[-1], entry.spec.id, None, runs_dir)
    return DuelWatcher(load, latest, pace, stochastic, other)


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


# --- `jimbot watch` for games of two players ---


MOST_LINES = 16  # of what happened, in a live picture
MOST_CHANCES = 5
ROOMY = 100  # columns
SIDES = ("one", "two")


class DuelWatcher(Watcher):
    """Shows both players of a battle before each of their decisions."""

    def __init__(
        self, load: Callable[[], Player], reload: bool, pace: Pace, stochastic: bool, opponent: Player
    ) -> None:
        from jimbot.evaluation.duels import agreed_options

        def both() -> Player:
            choice = load()
            two_sides = choice.entry.two_sides
            assert two_sides is not None, "the caller looked"
            given = {name: value for name, value in choice.options.items() if name not in two_sides.options}
            stated = choice.manifest.game_options if choice.manifest is not None else {}
            chosen = {name: value for name, value in given.items() if stated.get(name) != value}
            options = {**agreed_options(choice.entry, [choice, opponent], chosen), **two_sides.options}
            return replace(choice, options=options)

        super().__init__(both, reload, pace, stochastic)
        self.opponent = opponent
        self.wins = [0, 0]
        self._lines: list[str] = []

    def _game(self, seed: int, keys: Keyboard) -> None:
        from jimbot.policies.players import decide_sides

        self.episode += 1
        self.turns, self._lines = 0, []
        read = 0
        with closing(common.start_game(self.choice.entry, seed, self.choice.options, quiet=True)) as game:
            while True:
                happened, read = _story(game, read)
                self._narrate(happened)
                decisions = decide_sides((self.choice, self.opponent), game, not self.stochastic, self.rng)
                show = partial(self._show_both, game, decisions, seed)
                show()
                self.pace.wait(keys, show)
                game.step(self._actions(decisions))
                if game.terminated[0] or game.truncated[0]:
                    break
                self.turns += int(not game.refused.any())
            self._narrate(_story(game, read, ended=True)[0])
            self._end(game, seed)

    def _actions(self, decisions: list[Decision | None]) -> Any:
        import numpy as np

        return np.array([0 if decision is None else int(decision.actions[0]) for decision in decisions])

    def _narrate(self, happened: list[str]) -> None:
        self._lines = happened if happened else self._lines
        if happened and not self.pace.on_terminal:
            self.console.print("\n".join(happened))

    def _show_both(self, game: BatchGame, decisions: list[Decision | None], seed: int) -> None:
        self._draw(self.duel_picture(game, decisions, seed))

    def duel_picture(self, game: BatchGame, decisions: list[Decision | None], seed: int) -> RenderableType:
        """The moment before both sides decide: the board as side one sees it, and what each would do."""
        names = (self.choice.name, self.opponent.name)
        head = Text.assemble(
            (f"{names[0]} (one) against {names[1]} (two)", "bold"),
            (f"  {self.choice.game}  seed {self._named(seed)}  game {self.episode}  decision {self.turns + 1}", "dim"),
        )
        foot = self._foot()
        board = screen.board(self.choice.entry, game)
        if not self.pace.on_terminal:
            return Group(head, board, self._both(game, decisions, names, MOST_CHANCES), foot)
        left = self.console.height - 1 - screen.height(self.console, Group(head, foot))
        small = screen.small_board(self.choice.entry, game)
        for top in range(MOST_CHANCES, 0, -1):  # a smaller board before fewer actions, down to a few
            both = self._both(game, decisions, names, top)
            rows = left - screen.height(self.console, both)
            if screen.fits(self.console, board, rows) or (
                top <= FEW_CHANCES and screen.fits(self.console, small, rows)
            ):
                break
        above = screen.fitting(self.console, self.choice.entry, game, rows)
        rows = max(0, rows - screen.height(self.console, above))
        story = Text("\n".join(self._lines[-min(rows, MOST_LINES) :]), style="dim") if rows else Text("")
        lines = [screen.Cropped(story, rows)] if rows and self._lines else []
        return Group(head, above, both, *lines, foot)

    def _both(
        self, game: BatchGame, decisions: list[Decision | None], names: tuple[str, str], top: int
    ) -> RenderableType:
        one, two = (self._chances(game, row, decisions[row], names[row], top) for row in range(len(SIDES)))
        return screen.beside(self.console, one, two)

    def _chances(self, game: BatchGame, row: int, decision: Decision | None, name: str, top: int) -> RenderableType:
        title = f"{SIDES[row]}: {name}"
        if decision is None:
            return self._framed(Text("  waits", style="dim"), title)
        manifest = (self.choice.manifest, self.opponent.manifest)[row]
        body = screen.chances(
            game,
            decision.probabilities[0],
            int(decision.actions[0]),
            float(decision.values[0]) if manifest is not None else None,  # heuristic players have no opinion
            steady=self.pace.on_terminal and top > FEW_CHANCES,
            top=top,
            row=row,
            bars=self.console.width >= screen.NARROW,
            chance=self._win_chance(game, decision) if row == 0 else "",
        )
        return self._framed(body, title)

    def _win_chance(self, game: BatchGame, decision: Decision) -> str:
        from jimbot.policies.win_chances import chances_against

        table = None if self.stochastic else chances_against(self.choice, self.opponent)
        return "" if table is None else table.words(game.observation[0], float(decision.values[0]))

    def _framed(self, body: RenderableType, title: str) -> RenderableType:
        """Under its title; in a box where there is room for boxes."""
        if self.pace.on_terminal and self.console.width < ROOMY:
            return Group(Text(title, style="bold"), body)
        return Panel(Group(body), title=title, expand=False)

    def _end(self, game: BatchGame, seed: int) -> None:
        rows = self.console.height - 4 if self.pace.on_terminal else None
        self._draw(screen.final_board(self.console, self.choice.entry, game, rows))
        won = [bool(game.final_stats[row, game.spec.episode_stats.index("won")]) for row in range(len(SIDES))]
        turns = int(game.final_stats[0, game.spec.episode_stats.index("turns")])
        self.wins = [wins + one for wins, one in zip(self.wins, won, strict=True)]
        names = (self.choice.name, self.opponent.name)
        result = f"{names[won.index(True)]} ({SIDES[won.index(True)]}) won" if any(won) else "nobody won"
        standing = f" It stands {self.wins[0]} to {self.wins[1]}." if self.episode > 1 else ""
        self.console.print(
            f"Game {self.episode} (seed {self._named(seed)}): {result} after {turns} turns.{standing}",
            soft_wrap=True,
        )


def _story(game: Any, start: int, ended: bool = False) -> tuple[list[str], int]:
    return game.story(0, start, ended)
