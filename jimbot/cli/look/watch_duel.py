"""`jimbot watch` for games of two players: the board, what either side would do, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from jimbot.cli.look import screen
from jimbot.cli.look.watcher import FEW_CHANCES, Pace, Watcher
from jimbot.cli.shared.start import start_game

if TYPE_CHECKING:
    from rich.console import RenderableType

    from jimbot.cli.look.keys import Keyboard
    from jimbot.games import BatchGame
    from jimbot.policies import Decision
    from jimbot.policies.players import Player

MOST_LINES = 16  # of what happened, in a live picture
MOST_CHANCES = 5
ROOMY = 100  # columns
SIDES = ("one", "two")


class DuelWatcher(Watcher):
    """Shows both players of a battle before each of their decisions."""

    def __init__(self, load: Callable[[], Player], reload: bool, pace: Pace, stochastic: bool, rival: Player) -> None:
        from jimbot.evaluation.duels import agreed_options

        def both() -> Player:
            choice = load()
            two_sides = choice.entry.two_sides
            assert two_sides is not None, "the caller looked"
            given = {name: value for name, value in choice.options.items() if name not in two_sides.options}
            stated = choice.manifest.game_options if choice.manifest is not None else {}
            chosen = {name: value for name, value in given.items() if stated.get(name) != value}
            options = {**agreed_options(choice.entry, [choice, rival], chosen), **two_sides.options}
            return replace(choice, options=options)

        super().__init__(both, reload, pace, stochastic)
        self.rival = rival
        self.wins = [0, 0]
        self._lines: list[str] = []

    def _game(self, seed: int, keys: Keyboard) -> None:
        self.episode += 1
        self.turns, self._lines = 0, []
        read = 0
        with closing(start_game(self.choice.entry, seed, self.choice.options, quiet=True)) as game:
            while True:
                told, read = _story(game, read)
                self._tell(told)
                decisions = self._decide(game)
                show = partial(self._show_both, game, decisions, seed)
                show()
                self.pace.wait(keys, show)
                game.step(self._actions(decisions))
                if game.terminated[0] or game.truncated[0]:
                    break
                self.turns += int(not game.refused.any())
            self._tell(_story(game, read, ended=True)[0])
            self._end(game, seed)

    def _decide(self, game: BatchGame) -> list[Decision | None]:
        import numpy as np

        from jimbot.policies.contract import decide_rows

        policies = [player.shown(self.choice.options) for player in (self.choice, self.rival)]
        return [
            decide_rows(policy, game, np.array([row]), not self.stochastic, self.luck) if game.acting[row] else None
            for row, policy in enumerate(policies)
        ]

    def _actions(self, decisions: list[Decision | None]) -> Any:
        import numpy as np

        return np.array([0 if decision is None else int(decision.actions[0]) for decision in decisions])

    def _tell(self, told: list[str]) -> None:
        self._lines = told if told else self._lines
        if told and not self.pace.on_terminal:
            self.console.print("\n".join(told))

    def _show_both(self, game: BatchGame, decisions: list[Decision | None], seed: int) -> None:
        self._draw(self.duel_picture(game, decisions, seed))

    def duel_picture(self, game: BatchGame, decisions: list[Decision | None], seed: int) -> RenderableType:
        """The moment before both sides decide: the board as side one sees it, and what each would do."""
        from rich.console import Group
        from rich.text import Text

        names = (self.choice.name, self.rival.name)
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
        told = [screen.Cropped(story, rows)] if rows and self._lines else []
        return Group(head, above, both, *told, foot)

    def _both(
        self, game: BatchGame, decisions: list[Decision | None], names: tuple[str, str], top: int
    ) -> RenderableType:
        one, two = (self._chances(game, row, decisions[row], names[row], top) for row in range(len(SIDES)))
        return screen.beside(self.console, one, two)

    def _chances(self, game: BatchGame, row: int, decision: Decision | None, name: str, top: int) -> RenderableType:
        from rich.text import Text

        title = f"{SIDES[row]}: {name}"
        if decision is None:
            return self._framed(Text("  waits", style="dim"), title)
        manifest = (self.choice.manifest, self.rival.manifest)[row]
        body = screen.chances(
            game,
            decision.probabilities[0],
            int(decision.actions[0]),
            float(decision.values[0]) if manifest is not None else None,  # scripted players have no opinion
            steady=self.pace.on_terminal and top > FEW_CHANCES,
            top=top,
            row=row,
            bars=self.console.width >= screen.NARROW,
        )
        return self._framed(body, title)

    def _framed(self, body: RenderableType, title: str) -> RenderableType:
        """Under its title; in a box where there is room for boxes."""
        from rich.console import Group
        from rich.panel import Panel
        from rich.text import Text

        if self.pace.on_terminal and self.console.width < ROOMY:
            return Group(Text(title, style="bold"), body)
        return Panel(Group(body), title=title, expand=False)

    def _end(self, game: BatchGame, seed: int) -> None:
        rows = self.console.height - 4 if self.pace.on_terminal else None
        self._draw(screen.final_board(self.console, self.choice.entry, game, rows))
        won = [bool(game.final_stats[row, game.spec.episode_stats.index("won")]) for row in range(len(SIDES))]
        turns = int(game.final_stats[0, game.spec.episode_stats.index("turns")])
        self.wins = [wins + one for wins, one in zip(self.wins, won, strict=True)]
        names = (self.choice.name, self.rival.name)
        result = f"{names[won.index(True)]} ({SIDES[won.index(True)]}) won" if any(won) else "nobody won"
        standing = f" It stands {self.wins[0]} to {self.wins[1]}." if self.episode > 1 else ""
        self.console.print(
            f"Game {self.episode} (seed {self._named(seed)}): {result} after {turns} turns.{standing}",
            soft_wrap=True,
        )


def _story(game: Any, start: int, ended: bool = False) -> tuple[list[str], int]:
    return game.story(0, start, ended)
