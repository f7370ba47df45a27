"""Shows a policy's games step by step, as fast as the user wants; `watch` is the command around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from jimbot.cli.look import screen
from jimbot.cli.look.keys import Keyboard
from jimbot.cli.look.replay import GameFile
from jimbot.cli.shared import terminal
from jimbot.cli.shared.common import start_game

if TYPE_CHECKING:
    from jimbot.games import BatchGame
    from jimbot.policies import Decision
    from jimbot.policies.players import Player

FASTEST, SLOWEST = 1000.0, 0.1  # steps per second that + and − can reach
MOST_CHANCES = 6
FEW_CHANCES = 4  # actions shown where there is little room
FEW_KEYS = "space, enter, + −, q quits"
KEYS = "space pause and step · enter go on · + − speed · q quit"


class QuitError(Exception):
    """The watcher pressed q."""


@dataclass
class Pace:
    """When the next step may happen: by the clock, or by hand while paused. Off a terminal: at once."""

    speed: float
    paused: bool
    on_terminal: bool

    def wait(self, keys: Keyboard, redraw: Callable[[], None]) -> None:
        """Returns when it is time for the next step; `redraw` shows at once what a key changed."""
        if not self.on_terminal:
            return
        while True:
            key = keys.read(None if self.paused and keys.active else 1.0 / self.speed)
            if key in ("q", "end", "escape"):
                raise QuitError
            if key == "space":
                stepping, self.paused = self.paused, True
                if stepping:
                    return
            elif key == "enter":
                self.paused = False
            elif key in ("+", "="):
                self.speed = min(FASTEST, self.speed * 1.5)
            elif key in ("-", "_"):
                self.speed = max(SLOWEST, self.speed / 1.5)
            elif key is None:
                return
            redraw()

    def __str__(self) -> str:
        return "paused" if self.paused else f"{self.speed:.3g} steps/s"


class Watcher:
    """Plays game after game and shows each step before it is taken."""

    def __init__(
        self, load: Callable[[], Player], reload: bool, pace: Pace, stochastic: bool, record: Path | None = None
    ) -> None:
        import numpy as np

        self.load, self.reload, self.pace, self.stochastic, self.record = load, reload, pace, stochastic, record
        self.choice: Player = load()
        self.console = terminal.console()
        self._draw: Callable[[RenderableType], None] = self.console.print
        self.rng = np.random.default_rng(0)
        self.episode = self.turns = 0
        self.total = 0.0
        self.last: RenderableType = ""
        self.returns: list[float] = []
        self.publisher: Any = None
        """Where games are published as they are played; `game(game, seed, policy)` begins one."""
        self.adviser: Any = None
        """Who gives a second opinion beside the policy's chances."""

    def watch(self, seeds: Iterator[int], games: int | None) -> None:
        start_game(self.choice.entry, 0, self.choice.options).close()  # compiles, before the picture is on the screen
        with ExitStack() as stack:
            keys = stack.enter_context(Keyboard(wanted=self.pace.on_terminal))
            if self.pace.on_terminal:
                live = stack.enter_context(Live(console=self.console, auto_refresh=False))
                self._draw = partial(live.update, refresh=True)
            if self.publisher is not None:
                stack.callback(self.publisher.close)
            try:
                for seed in seeds:
                    self._game(seed, keys)
                    if games is not None and self.episode >= games:
                        break
                    if self.reload:
                        self.choice = self.load()
            except QuitError:
                pass
        if len(self.returns) > 1:
            mean = sum(self.returns) / len(self.returns)
            self.console.print(f"{len(self.returns)} games, mean return {mean:+.2f}.")

    def _game(self, seed: int, keys: Keyboard) -> None:
        from jimbot.policies.contract import decide

        self.episode += 1
        self.turns, self.total, self.last = 0, 0.0, ""
        with closing(start_game(self.choice.entry, seed, self.choice.options, quiet=True)) as game, ExitStack() as end:
            file = self._file(game, seed)
            if file is not None:  # also of a game that is left
                end.callback(lambda: self.console.print(file.write(self.total), soft_wrap=True))
            published = self._published(game, seed)
            while True:
                decision = decide(self.choice.policy, game, game.acting, not self.stochastic, self.rng)
                show = partial(self._show, game, decision, seed)
                show()
                self.pace.wait(keys, show)
                words = game.describe_action(0, int(decision.actions[0]))
                if file is not None:
                    file.note(int(decision.actions[0]))
                if published is not None:
                    published.before(int(decision.actions[0]))
                game.step(decision.actions)
                if published is not None:
                    published.after()
                self._after(game, words)
                if game.terminated[0] or game.truncated[0]:
                    break
            self.returns.append(self.total)
            self._show_end(game, seed)

    def _show_end(self, game: BatchGame, seed: int) -> None:
        """The table after the last move, and how the game ended."""
        rows = self.console.height - 4 if self.pace.on_terminal else None
        self._draw(screen.final_board(self.console, self.choice.entry, game, rows))
        result = screen.outcome(self.choice.entry, game, self.total, self.turns)
        self.console.print(f"Game {self.episode} (seed {self._named(seed)}): {result}", soft_wrap=True, markup=False)

    def _named(self, seed: int) -> str:
        from jimbot.games.seeds import seed_name

        return seed_name(self.choice.entry, seed, self.choice.options)

    def _file(self, game: BatchGame, seed: int) -> GameFile | None:
        """Where this game is recorded: the file asked for, and numbered ones beside it for the games that follow."""
        if self.record is None:
            return None
        name = self.record.name if self.episode == 1 else f"{self.record.stem}-{self.episode}{self.record.suffix}"
        return GameFile(self.record.with_name(name), game, seed, self.choice.options)

    def _published(self, game: BatchGame, seed: int) -> Any:
        return None if self.publisher is None else self.publisher.game(game, str(seed), self.choice.name)

    def _show(self, game: BatchGame, decision: Decision, seed: int) -> None:
        self._draw(self.picture(game, decision, seed))

    def _after(self, game: BatchGame, words: str) -> None:
        self.turns += 1
        self.total += float(game.reward[0])
        self.last = Text.assemble(
            ("last  ", "dim"), f"{words}  ", screen.rewards(self.choice.entry.spec, game.reward_terms[0])
        )

    def picture(self, game: BatchGame, decision: Decision, seed: int) -> RenderableType:
        """Everything about the moment before an action, as one picture."""
        head = Text.assemble(
            (self.choice.name, "bold"),
            (f"  {self.choice.game}  seed {self._named(seed)}  game {self.episode}  turn {self.turns}  ", "dim"),
            (f"return {self.total:+.2f}", "bold"),
        )
        foot = self._foot()
        body = self._body(
            game, decision, self.console.height - 1 - screen.height(self.console, Group(head, self.last, foot))
        )
        return Group(head, body, self.last, foot)

    def _foot(self) -> RenderableType:
        keys = KEYS if self.console.width >= len(KEYS) + 16 else FEW_KEYS
        return Text(f"{self.pace} · {keys}" if self.pace.on_terminal else "", style="dim")

    def _body(self, game: BatchGame, decision: Decision, rows: int) -> RenderableType:
        """The board and what the policy would do. On a terminal it has so many rows and no more: where the drawing does
        not fit, the game's small one is taken, or the game is described in words."""
        board = screen.board(self.choice.entry, game)
        whole = screen.beside(self.console, board, self._chances_of(game, decision))
        if not self.pace.on_terminal or screen.fits(self.console, whole, rows):
            return whole
        for top in range(MOST_CHANCES, 0, -1):  # fewer actions before a board that is cut
            chances = self._chances_of(game, decision, top)
            left = rows - screen.height(self.console, chances)
            above = screen.fitting(self.console, self.choice.entry, game, left)
            if not isinstance(above, screen.Cropped):
                break
        return Group(above, chances)

    def _win_chance(self, game: BatchGame, decision: Decision) -> str:
        """How often the policy wins from here, where that was measured for the way it plays now."""
        from jimbot.policies.win_chances import win_chances

        table = None if self.stochastic else win_chances(self.choice)
        return "" if table is None else table.words(game.observation[0], float(decision.values[0]))

    def _chances_of(self, game: BatchGame, decision: Decision, top: int = MOST_CHANCES) -> RenderableType:
        has_value = self.choice.manifest is not None  # heuristic policies have no opinion
        chances = screen.chances(
            game,
            decision.probabilities[0],
            int(decision.actions[0]),
            float(decision.values[0]) if has_value else None,
            steady=self.pace.on_terminal and top >= FEW_CHANCES,
            top=top,
            bars=self.console.width >= screen.NARROW,
            chance=self._win_chance(game, decision),
        )
        if self.adviser is None:
            return chances
        said = getattr(self.choice.policy, "latest", {}).get(0)
        return Group(chances, Text("  " + (screen.opinion(said) if said is not None else ""), style="magenta"))
