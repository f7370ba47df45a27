"""`jimbot play`: a person plays a game in the terminal, by keys or (piped) by lines; or a policy plays on a server."""

from __future__ import annotations

import secrets
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jimbot.cli import screen, terminal
from jimbot.cli.completion import complete_game
from jimbot.cli.keys import Keyboard
from jimbot.cli.options import RUNS, OptionOption, RunsDirOption, SeedOption, StochasticOption
from jimbot.cli.recording import RECORD_HELP, GameFile, check_place
from jimbot.cli.start import start_game

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from jimbot.games import BatchGame
    from jimbot.games.contract import ActionSpec, GameEntry

MOVES = {"up": "w", "down": "s", "left": "a", "right": "d"}
_SIGNS = {"up": "↑", "down": "↓", "left": "←", "right": "→"}
_CHARACTERS = "1234567890bcefgijklmnoprtuvxyzwasd"  # all but q (leave) and h (help)
EPILOG = """Examples:

jimbot play hackmatrix

jimbot play hackmatrix --seed 42 --profile reference

jimbot play balatro --seed 7LB2WVPK --deck blue --stake gold

jimbot play balatro --record game.json   (then: jimbot replay game.json)

printf 'up\\nup\\nq\\n' | jimbot play hackmatrix   (lines instead of keys)

jimbot play vgc --policy my-run --server ws://127.0.0.1:8000/showdown/websocket --challenge NAME   (the policy plays)"""
MOST_LISTED = 24  # actions of one block shown one by one; a hand of cards can be played in hundreds of ways
QUIT, HELP = ("q", "quit", "end"), ("?", "h", "help")


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
    policy: Annotated[
        str | None, typer.Option(help="On a server: who plays; a run, checkpoint, file or scripted player.")
    ] = None,
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
    games: Annotated[int, typer.Option(help="On a server: how many games.")] = 1,
    patience: Annotated[float, typer.Option(help="On a server: seconds of silence before we give up.")] = 300.0,
    stochastic: StochasticOption = False,
    runs_dir: RunsDirOption = RUNS,
) -> None:
    """Play a game yourself, or let a policy play on a server.

    Arrows or w a s d move, the shown keys do everything else, ? helps, q leaves.
    """
    from jimbot.games import game_entry

    entry, options = game_entry(game), terminal.pairs(option or [])
    if challenge is not None and server is None and policy is None and entry.spec.has_option("challenge"):
        options["challenge"], challenge = challenge, None
    if server is not None or challenge is not None or policy is not None:
        from jimbot.cli.play_server import play_on_server
        from jimbot.games.hooks import Visit

        terminal.require_positive(games=games, patience=patience)
        visit = Visit(server or "", challenge, name, team, games, patience)
        play_on_server(game, policy or game, visit, options, stochastic, runs_dir)
        return
    check_place(record)
    number = terminal.seed_of(entry, seed)
    chosen = secrets.randbelow(2**32) if number is None else number
    with closing(start_game(entry, chosen, options)) as batch:
        interactive = sys.stdin.isatty() and sys.stdout.isatty()
        file = None if record is None else GameFile(record, batch, chosen, options)
        Table(entry, batch, interactive, file).play()


class Keymap:
    """Which key or word plays which action; the same all game long, whatever is legal now."""

    def __init__(self, actions: ActionSpec) -> None:
        moves = {label: actions.index(label) for label in MOVES if label in actions.labels}
        used = {MOVES[label] for label in moves}
        free = [character for character in _CHARACTERS if character not in used]
        others = [action for action in range(actions.size) if action not in moves.values()]
        self.single = len(others) <= len(free)  # otherwise actions are typed by number
        self.token = {action: free[i] if self.single else str(action) for i, action in enumerate(others)}
        self.token |= {action: MOVES[label] for label, action in moves.items()}
        self._action = {token: action for action, token in self.token.items()}
        self._action |= moves  # the words, and what the arrow keys are called
        self._action |= {label.lower(): action for action, label in enumerate(actions.labels)}
        self._labels = [label.lower() for label in actions.labels]

    def find(self, text: str) -> int | None:
        """The action meant by a key or by a word (its label, or the beginning of exactly one label)."""
        text = text.strip().lower()
        if text in self._action:
            return self._action[text]
        begun = [action for action, label in enumerate(self._labels) if text and label.startswith(text)]
        return begun[0] if len(begun) == 1 else None


class Table:
    """One sitting: shows the game, takes an action, until the game is over or the player leaves."""

    def __init__(self, entry: GameEntry, game: BatchGame, interactive: bool, file: GameFile | None = None) -> None:
        self.entry, self.game, self.interactive, self.file = entry, game, interactive, file
        self.keymap = Keymap(entry.spec.actions)
        self.console: Console = terminal.console()
        self.seed = int(game.seeds[0])
        self.turns, self.total = 0, 0.0
        self.message: RenderableType = "Type the key of an action. ? shows help, q leaves."

    def play(self) -> None:
        ended = False
        try:
            with Keyboard() if self.interactive and self.keymap.single else _Lines(self.interactive) as keys:
                while not ended:
                    self.show()
                    text = keys.read()
                    if text is None or text.strip().lower() in QUIT:
                        break
                    ended = self.take(text)
        finally:  # Ctrl+C, or a game that fails: what was played is kept
            self.end(ended)

    def take(self, text: str) -> bool:
        """Plays what was typed, or says what is wrong with it; True when the game is over."""
        import numpy as np
        from rich.text import Text

        if text.strip().lower() in HELP:
            self.message = self.help()
            return False
        action = self.keymap.find(text)
        if action is None:
            self.message = f"'{text.strip()}' is no action here. Type one of the keys shown, ? for help, q to leave."
            return False
        words = self.game.describe_action(0, action)
        if not self.game.legal_mask[0, action]:
            self.message = f"'{words}' is not possible now. Choose one of the actions shown."
            return False
        if self.file is not None:
            self.file.note(action)
        self.game.step(np.array([action]))
        self.turns += 1
        self.total += float(self.game.reward[0])
        self.message = Text.assemble(f"{words}: ", screen.rewards(self.entry.spec, self.game.reward_terms[0]))
        return bool(self.game.terminated[0] or self.game.truncated[0])

    def show(self) -> None:
        from rich.console import Group
        from rich.text import Text

        standing = Text(f"{self.entry.spec.id}  seed {self.seed}  turn {self.turns}  return {self.total:+.2f}", "bold")
        if self.interactive:
            self.console.clear()
        self.console.print(Group(standing, screen.board(self.entry, self.game), self.choices(), self.message))

    def choices(self) -> RenderableType:
        """The legal actions, one line per block, each with its key."""
        from rich.text import Text

        text = Text()
        for number, block in enumerate(self.entry.spec.actions.blocks):
            members = (self.entry.spec.actions.block_of == number) & self.game.legal_mask[0]
            legal = members.nonzero()[0].tolist()
            if not legal:
                continue
            text.append(f"{block.name}: ", style="dim")
            if len(legal) > MOST_LISTED:
                first, last = (self.entry.spec.actions.label(legal[place]) for place in (0, -1))
                text.append(f"{len(legal)} ways, from ").append(first, style="bold cyan").append(" to ")
                text.append(last, style="bold cyan").append("; type one by its name\n")
                continue
            for action in legal:
                label = self.game.describe_action(0, action)
                sign = _SIGNS.get(label, "")
                text.append(f"[{self.keymap.token[action]}{' ' + sign if sign else ''}]", style="bold cyan")
                text.append(f" {label}  ")
            text.append("\n")
        text.rstrip()
        return text

    def help(self) -> str:
        how = "press its key" if self.interactive and self.keymap.single else "type its key or its name, then Enter"
        moves = (
            "Arrow keys or w a s d move. " if any(label in self.entry.spec.actions.labels for label in MOVES) else ""
        )
        text = f"Only legal actions are listed; to play one, {how}. {moves}q leaves."
        if self.keymap.single:
            tokens = sorted(self.keymap.token.items())
            text += "\nAll keys: " + ", ".join(f"{key} {self.entry.spec.actions.label(a)}" for a, key in tokens)
        return text

    def end(self, ended: bool) -> None:
        if ended:
            stats = self.game.final_stats[0]
            cut = bool(self.game.truncated[0])
            self.console.print(self.message)
            result = screen.outcome(self.entry.spec, stats, self.total, self.turns, cut)
            self.console.print(f"The game is {result}.", soft_wrap=True)
        else:
            self.console.print(f"Left after {self.turns} turns with a return of {self.total:+.2f}.")
        if self.file is not None:
            self.console.print(self.file.write(self.total), style="dim", soft_wrap=True, markup=False)
        self.console.print(f"Play it again: jimbot play {self.entry.spec.id} --seed {self.seed}", style="dim")


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
