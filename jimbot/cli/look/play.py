"""`jimbot play`: a person plays a game in the terminal, by keys or (piped) by lines; or a policy plays on a server."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jimbot.cli.look import screen
from jimbot.cli.look.keymap import KeySitting
from jimbot.cli.look.keys import Keyboard
from jimbot.cli.look.recording import RECORD_HELP, GameFile, check_place
from jimbot.cli.shared import terminal
from jimbot.cli.shared.advising import AdviserOption, AdviserSetOption
from jimbot.cli.shared.completion import complete_game
from jimbot.cli.shared.options import (
    RUNS,
    OptionOption,
    PlanOption,
    PlanWithOption,
    RunsDirOption,
    SeedOption,
    StochasticOption,
)
from jimbot.cli.shared.start import start_game
from jimbot.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from jimbot.games import BatchGame
    from jimbot.games.contract import GameEntry
    from jimbot.games.hooks import Sitting
    from jimbot.policies.shipped_chances import ShippedChances

EPILOG = """Examples:

jimbot play hackmatrix

jimbot play hackmatrix --seed 42 --profile reference

jimbot play balatro --seed 7LB2WVPK --deck blue --stake gold

jimbot play balatro --record game.json   (then: jimbot replay game.json)

printf 'up\\nup\\nq\\n' | jimbot play hackmatrix   (lines instead of keys)

jimbot play balatro --live http://127.0.0.1:12346 --policy my-run --games 5   (the policy plays the bought game)

jimbot play balatro --live http://127.0.0.1:12346 --adviser   (Claude is asked where the policy is not sure)

jimbot play vgc --policy my-run --server ws://127.0.0.1:8000/showdown/websocket --challenge NAME   (the policy plays)"""
QUIT, HELP = ("q", "quit", "end"), ("?", "h", "help")
CHANCE = ("wins from here: {} (if the shipped policy went on)", "wins from here: {} (shipped policy)",
          "policy wins from here: {}", "policy wins: {}")  # fmt: skip
"""The chance to win, which is the shipped policy's and not the person's: the longest that fits is taken."""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(play)


def play(
    game: Annotated[str, typer.Argument(help="The game, for instance hackmatrix.", autocompletion=complete_game)],
    seed: SeedOption = None,
    option: OptionOption = None,
    record: Annotated[Path | None, typer.Option(help=RECORD_HELP)] = None,
    server: Annotated[
        str | None,
        typer.Option(
            help="A policy plays on this server: VGC on a Showdown server, ws://127.0.0.1:8000/showdown/websocket."
        ),
    ] = None,
    live: Annotated[
        str | None,
        typer.Option(metavar="URL", help="A policy plays the bought game through its mod: http://127.0.0.1:12346."),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(help="On a server or live: who plays; a run, checkpoint, file, scripted player or grpc://…"),
    ] = None,
    plan: PlanOption = None,
    plan_with: PlanWithOption = None,
    adviser: AdviserOption = False,
    adviser_set: AdviserSetOption = None,
    confirm: Annotated[bool, typer.Option("--confirm", help="Live: you confirm every move, or make another.")] = False,
    join: Annotated[bool, typer.Option("--join", help="Live: go on with the run that is there.")] = False,
    deadline: Annotated[float, typer.Option(help="Live: seconds a call may take before the state is read.")] = 30.0,
    restart: Annotated[
        str, typer.Option(metavar="COMMAND", help="Live: starts the game again when nobody answers any more.")
    ] = "",
    unread: Annotated[
        str, typer.Option(help="Live: who plays states that cannot be read exactly: fallback (scripted) or stop.")
    ] = "fallback",
    as_json: Annotated[bool, typer.Option("--json", help="Live: print the summary as JSON.")] = False,
    challenge: Annotated[
        str | None,
        typer.Option(
            help="On a server: whom to challenge; without it challenges are accepted. Elsewhere: which challenge of "
            "the game to play."
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="On a server: our name.")] = "JimBot",
    team: Annotated[
        Path | None, typer.Option(help="On a server: a file of teams; without it held-out teams of the default format.")
    ] = None,
    games: Annotated[int, typer.Option(help="On a server or live: how many games.")] = 1,
    patience: Annotated[float, typer.Option(help="On a server: seconds of silence before we give up.")] = 300.0,
    stochastic: StochasticOption = False,
    runs_dir: RunsDirOption = RUNS,
) -> None:
    """Play a game yourself, or let a policy play on a server.

    What can be typed is shown with the board: keys, or moves in words. ? tells what the game is about, q leaves.
    """
    from jimbot.games import game_entry

    entry, options = game_entry(game), terminal.pairs(option or [])
    if (
        challenge is not None
        and server is None
        and (policy is None or live is not None)
        and entry.spec.has_option("challenge")
    ):
        options["challenge"], challenge = challenge, None
    if live is None and (adviser or adviser_set):
        raise UsageError("--adviser advises a policy that plays --live; leave it out, or give --live URL.")
    if live is not None:
        from jimbot.cli.look.play_live import LiveVisit, play_live

        terminal.require_positive(games=games, deadline=deadline)
        visit = LiveVisit(live, seed or "", games, plan, plan_with, confirm, join, deadline, restart, unread, record,
                          as_json, (adviser_set or []) if adviser or adviser_set else None)  # fmt: skip
        code = play_live(entry, policy or game, visit, options, stochastic, runs_dir)
        if code:
            raise typer.Exit(code)
        return
    if server is not None or challenge is not None or policy is not None:
        from jimbot.cli.look.play_server import play_on_server
        from jimbot.games.hooks import Visit

        terminal.require_positive(games=games, patience=patience)
        visit = Visit(server or "", challenge, name, team, games, patience)
        play_on_server(game, policy or game, visit, options, stochastic, runs_dir)
        return
    check_place(record)
    number = terminal.seed_of(entry, seed)
    chosen = secrets.randbelow(2**32) if number is None else number
    chances = _chances(entry, options)
    seen = options if chances is None else chances.showing(options)
    with closing(start_game(entry, chosen, seen)) as batch:
        interactive = sys.stdin.isatty() and sys.stdout.isatty()
        file = None if record is None else GameFile(record, batch, chosen, options)
        Table(entry, batch, options, interactive, file, chances).play()


def _chances(entry: GameEntry, options: Mapping[str, Any]) -> ShippedChances | None:
    """How often the shipped policy wins from a position, where that was measured for such a game."""
    from jimbot.policies.shipped_chances import shipped_chances

    return shipped_chances(entry, options)


class Table:
    """One sitting: shows the game, takes a move, until the game is over or the player leaves."""

    def __init__(
        self,
        entry: GameEntry,
        game: BatchGame,
        options: Mapping[str, Any],
        interactive: bool,
        file: GameFile | None,
        chances: ShippedChances | None = None,
    ) -> None:
        from jimbot.games.seed_names import seed_name

        self.entry, self.game, self.interactive, self.file, self.chances = entry, game, interactive, file, chances
        self.sitting: Sitting | KeySitting = (
            entry.sitting(game) if entry.sitting is not None else KeySitting(game, interactive)
        )
        self.by_keys = isinstance(self.sitting, KeySitting) and self.sitting.single
        self.console: Console = terminal.console()
        self.seed = seed_name(entry, int(game.seeds[0]))
        self.again = f"jimbot play {entry.spec.id} --seed {self.seed}{terminal.game_flags(options)}"
        self.turns, self.total = 0, 0.0
        typing = "Type the key of an action." if entry.sitting is None else "Type a move, then Enter."
        self.message: RenderableType = "\n".join([*self.sitting.told(False), f"{typing} ? shows help, q leaves."])

    def play(self) -> None:
        ended = False
        try:
            with Keyboard() if self.by_keys else _Lines(self.interactive) as keys:
                self.show()
                while not ended:
                    text = keys.read()
                    if text is None or text.strip().lower() in QUIT:
                        break
                    turns, ended = self.turns, self.take(text)
                    if self.by_keys or (self.turns > turns and not ended):
                        self.show()
                    elif not ended:
                        self.console.print(self.message)
        finally:  # Ctrl+C, or a game that fails: what was played is kept
            self.end(ended)

    def take(self, text: str) -> bool:
        """Plays what was typed, or says what is wrong with it; True when the game is over."""
        if text.strip().lower() in HELP:
            self.message = self.help()
            return False
        try:
            actions = self.sitting.actions(text)
        except UsageError as problem:
            self.message = str(problem)
            return False
        refused = [action for action in actions[:1] if not self.game.legal_mask[0, action]]
        if refused:  # the rules would allow it, the table of actions does not: enough cards were moved for now
            self.message = f"'{text.strip()}' is not possible now. Choose one of the moves shown."
            return False
        return self._play(actions)

    def _play(self, actions: list[int]) -> bool:
        import numpy as np
        from rich.text import Text

        words, terms, ended = "", np.zeros(len(self.entry.spec.reward_terms)), False
        for action in actions:
            words = self.game.describe_action(0, action)
            if self.file is not None:
                self.file.note(action)
            self.game.step(np.array([action]))
            self.total += float(self.game.reward[0])
            terms += self.game.reward_terms[0]
            ended = bool(self.game.terminated[0] or self.game.truncated[0])
            if ended:
                break
        self.turns += 1
        told = self.sitting.told(ended)
        got = Text.assemble(f"{words}: ", screen.rewards(self.entry.spec, terms))
        self.message = Text("\n".join(told)) if told else got
        return ended

    def show(self) -> None:
        """The game and what can be typed. By keys it is one steady picture; by lines what happened stands above it, and
        the terminal keeps what scrolls away."""
        from rich.console import Group
        from rich.text import Text

        standing = Text(self.standing(), "bold")
        choices, board = self.sitting.choices(), screen.board(self.entry, self.game)
        if self.interactive:
            shown = Group(standing, choices, self.message if self.by_keys else "")
            rows = self.console.height - 2 - screen.height(self.console, shown)
            board = screen.fitting(self.console, self.entry, self.game, rows)
        if self.by_keys:
            self.console.clear()
            self.console.print(Group(standing, board, choices, self.message))
        else:
            self.console.print(Group(self.message, standing, board, choices))

    def standing(self) -> str:
        """The line above the board, with the chance to win in as many words as it has room for."""
        words = f"{self.entry.spec.id}  seed {self.seed}  turn {self.turns}  return {self.total:+.2f}"
        chance = None if self.chances is None else self.chances.of(self.game)
        if chance is None:
            return words
        lines = [f"{words}  {told.format(f'{chance:.0%}')}" for told in CHANCE]
        return next((line for line in lines if len(line) <= self.console.width), words)

    def help(self) -> str:
        """What the game is about and how it is played here."""
        about = f"{self.entry.about}\n\n" if self.entry.about else ""
        return f"{about}{self.sitting.how} ? shows this again, q leaves."

    def end(self, ended: bool) -> None:
        if ended:
            rows = self.console.height - 4 if self.interactive else None
            self.console.print(screen.final_board(self.console, self.entry, self.game, rows))
            self.console.print(self.message)
            result = screen.outcome(self.entry, self.game, self.total, self.turns)
            self.console.print(f"The game is over. {result}", soft_wrap=True, markup=False)
        else:
            self.console.print(f"Left after {self.turns} turns with a return of {self.total:+.2f}.")
        if self.file is not None:
            self.console.print(self.file.write(self.total), style="dim", soft_wrap=True)
        self.console.print(f"Play it again: {self.again}", style="dim", soft_wrap=True)


class _Lines:
    """Line by line, for pipes and for games with more actions than keys."""

    def __init__(self, prompt: bool) -> None:
        self.prompt = prompt

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def read(self) -> str | None:
        if self.prompt:
            sys.stdout.write("> ")
            sys.stdout.flush()
        while (line := sys.stdin.readline()) and not line.strip():
            pass
        return line or None
