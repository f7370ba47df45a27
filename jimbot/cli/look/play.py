"""`jimbot play`: a person plays a game in the terminal, by keys or (piped) by lines; or a policy plays on a server."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.text import Text

from jimbot.cli.look import screen
from jimbot.cli.look.keys import Keyboard
from jimbot.cli.look.replay import RECORD_HELP, GameFile, check_place
from jimbot.cli.shared import common, terminal
from jimbot.cli.shared.command import adds
from jimbot.errors import UsageError
from jimbot.plugins import provided

if TYPE_CHECKING:
    from jimbot.games import BatchGame
    from jimbot.games.contract import ActionSpec, GameEntry
    from jimbot.games.hooks import HumanInterface, PlayedOnline, Visit
    from jimbot.policies.win_chances import ShippedChances


EXAMPLES = """jimbot play hackmatrix
jimbot play hackmatrix --seed 42 --profile reference
jimbot play balatro --seed 7LB2WVPK --deck blue --stake gold
jimbot play balatro --record game.json   (then: jimbot replay game.json)
printf 'up\\nup\\nq\\n' | jimbot play hackmatrix   (lines instead of keys)
jimbot play balatro --live http://127.0.0.1:12346 --policy my-run --games 5   (the policy plays the bought game)
jimbot play balatro --live http://127.0.0.1:12346 --adviser   (Claude is asked where the policy is not sure)
jimbot play vgc --policy my-run --server ws://127.0.0.1:8000/showdown/websocket --challenge NAME   (the policy plays)"""
QUIT, HELP = ("q", "quit", "end"), ("?", "h", "help")
CHANCE = ("wins from here{}: {} (if the shipped policy went on)", "wins from here{}: {} (shipped policy)",
          "policy wins from here{}: {}", "policy wins{}: {}")  # fmt: skip
"""The chance to win, which is the shipped policy's and not the person's: the longest that fits is taken."""


@dataclass(frozen=True)
class Live:
    """How a policy plays the bought game; without an address it does not."""

    live: Annotated[str | None, "A policy plays the bought game through its mod: http://127.0.0.1:12346.", "URL"] = None
    confirm: Annotated[bool, "Live: you confirm every move, or make another."] = False
    join: Annotated[bool, "Live: go on with the run that is there."] = False
    deadline: Annotated[float, "Live: seconds a call may take before the state is read."] = 30.0
    restart: Annotated[str, "Live: starts the game again when nobody answers any more.", "COMMAND"] = ""
    unread: Annotated[str, "Live: who plays states that cannot be read exactly: fallback (heuristic) or stop."] = (
        "fallback"
    )
    as_json: Annotated[bool, "--json", "Live: print the summary as JSON."] = False


def play(
    game: Annotated[str, "A game, for instance hackmatrix."],
    seed: common.SeedOption = None,
    option: common.OptionOption = None,
    record: Annotated[Path | None, RECORD_HELP] = None,
    policy: Annotated[
        str | None, "On a server or live: who plays; a run, checkpoint, file, heuristic player or grpc://…"
    ] = None,
    server: Annotated[
        str | None, "A policy plays on this server: VGC on a Showdown server, ws://127.0.0.1:8000/showdown/websocket."
    ] = None,
    challenge: Annotated[
        str | None,
        "On a server: whom to challenge; without it challenges are accepted. Elsewhere: which challenge of "
        "the game to play.",
    ] = None,
    name: Annotated[str, "On a server: our name."] = "JimBot",
    team: Annotated[
        Path | None, "On a server: a file of teams; without it held-out teams of the default format."
    ] = None,
    games: Annotated[int, "On a server or live: how many games."] = 1,
    patience: Annotated[float, "On a server: seconds of silence before we give up."] = 300.0,
    stochastic: common.StochasticOption = False,
    runs_dir: common.RunsDirOption = common.RUNS,
    live: Live = Live(),
    plan: common.TimedPlan = common.TimedPlan(),
    advice: common.Advice = common.Advice(),
) -> None:
    """Play a game yourself, or let a policy play on a server.

    What can be typed is shown with the board: keys, or moves in words. ? tells what the game is about, q leaves.
    """
    from jimbot.games import game_entry

    entry, options = game_entry(game), terminal.pairs(option or [])
    visits = server is not None or (policy is not None and live.live is None)
    if challenge is not None and not visits and entry.spec.has_option("challenge"):
        options["challenge"], challenge = challenge, None
    if live.live is not None:
        terminal.require_positive(games=games, deadline=live.deadline)
        code = provided("jimbot.flags", "play_live")(
            entry, policy or game, options, stochastic, runs_dir, live, plan, advice, seed or "", games, record
        )
        if code:
            raise typer.Exit(code)
        return
    if advice.wanted:
        raise UsageError("--adviser advises a policy that plays --live; leave it out, or give --live URL.")
    if visits or challenge is not None:
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
    with closing(common.start_game(entry, chosen, seen)) as batch:
        interactive = sys.stdin.isatty() and sys.stdout.isatty()
        file = None if record is None else GameFile(record, batch, chosen, options)
        TerminalGame(entry, batch, options, interactive, file, chances).play()


register = adds(play, EXAMPLES)


def _chances(entry: GameEntry, options: Mapping[str, Any]) -> ShippedChances | None:
    """How often the shipped policy wins from a position, where that was measured for such a game."""
    from jimbot.policies.win_chances import shipped_chances

    return shipped_chances(entry, options)


class TerminalGame:
    """One person at one game: shows the game, takes a move, until the game is over or the player leaves."""

    def __init__(
        self,
        entry: GameEntry,
        game: BatchGame,
        options: Mapping[str, Any],
        interactive: bool,
        file: GameFile | None,
        chances: ShippedChances | None = None,
    ) -> None:
        from jimbot.games.seeds import seed_name

        self.entry, self.game, self.interactive, self.file, self.chances = entry, game, interactive, file, chances
        self.interface: HumanInterface | KeyInterface = (
            entry.human_interface(game) if entry.human_interface is not None else KeyInterface(game, interactive)
        )
        self.by_keys = isinstance(self.interface, KeyInterface) and self.interface.single
        self.console: Console = terminal.console()
        self.seed = seed_name(entry, int(game.seeds[0]))
        self.again = f"jimbot play {entry.spec.id} --seed {self.seed}{terminal.game_flags(options)}"
        self.turns, self.total = 0, 0.0
        typing = "Type the key of an action." if entry.human_interface is None else "Type a move, then Enter."
        self.message: RenderableType = "\n".join([*self.interface.messages(False), f"{typing} ? shows help, q leaves."])

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
            actions = self.interface.actions(text)
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
        messages = self.interface.messages(ended)
        got = Text.assemble(f"{words}: ", screen.rewards(self.entry.spec, terms))
        self.message = Text("\n".join(messages)) if messages else got
        return ended

    def show(self) -> None:
        """The game and what can be typed. By keys it is one steady picture; by lines what happened stands above it, and
        the terminal keeps what scrolls away."""
        head = Text(self.headline(), "bold")
        choices, board = self.interface.choices(), screen.board(self.entry, self.game)
        if self.interactive:
            shown = Group(head, choices, self.message if self.by_keys else "")
            rows = self.console.height - 2 - screen.height(self.console, shown)
            board = screen.fitting(self.console, self.entry, self.game, rows)
        if self.by_keys:
            self.console.clear()
            self.console.print(Group(head, board, choices, self.message))
        else:
            self.console.print(Group(self.message, head, board, choices))

    def headline(self) -> str:
        """The line above the board, with the chance to win in as many words as it has room for."""
        words = f"{self.entry.spec.id}  seed {self.seed}  turn {self.turns}  return {self.total:+.2f}"
        chance = None if self.chances is None else self.chances.of(self.game)
        if self.chances is None or chance is None:
            return words
        lines = [f"{words}  {form.format(self.chances.table.facing, f'{chance:.0%}')}" for form in CHANCE]
        return next((line for line in lines if len(line) <= self.console.width), words)

    def help(self) -> str:
        """What the game is about and how it is played here."""
        about = f"{self.entry.about}\n\n" if self.entry.about else ""
        return f"{about}{self.interface.how} ? shows this again, q leaves."

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


# --- keys for games whose actions have names of their own ---


MOVES = {"up": "w", "down": "s", "left": "a", "right": "d"}
_SIGNS = {"up": "↑", "down": "↓", "left": "←", "right": "→"}
_CHARACTERS = "1234567890bcefgijklmnoprtuvxyzwasd"  # all but q (leave) and h (help)
MOST_LISTED = 24  # actions of one block shown one by one


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


class KeyInterface:
    """Plays by keys or by the labels of actions (a `HumanInterface`)."""

    def __init__(self, game: BatchGame, by_keys: bool) -> None:
        self.game, self.actions_spec = game, game.spec.actions
        self.keymap = Keymap(self.actions_spec)
        self.single = by_keys and self.keymap.single

    @property
    def how(self) -> str:
        typing = "press its key" if self.single else "type its key or its name, then Enter"
        moves = "Arrow keys or w a s d move. " if any(label in self.actions_spec.labels for label in MOVES) else ""
        text = f"Only legal actions are listed; to play one, {typing}. {moves}"
        if self.keymap.single:
            tokens = sorted(self.keymap.token.items())
            text += "All keys: " + ", ".join(f"{key} {self.actions_spec.label(a)}" for a, key in tokens) + "."
        return text

    def choices(self) -> RenderableType:
        """The legal actions, one line per block, each with its key."""
        text = Text()
        for number, block in enumerate(self.actions_spec.blocks):
            members = (self.actions_spec.block_of == number) & self.game.legal_mask[0]
            legal = members.nonzero()[0].tolist()
            if not legal:
                continue
            text.append(f"{block.name}: ", style="dim")
            if len(legal) > MOST_LISTED:
                first, last = (self.actions_spec.label(legal[place]) for place in (0, -1))
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

    def actions(self, text: str) -> list[int]:
        action = self.keymap.find(text)
        if action is None:
            raise UsageError(f"'{text.strip()}' is no action here. Type one of the keys shown, ? for help, q to leave.")
        if not self.game.legal_mask[0, action]:
            words = self.game.describe_action(0, action)
            raise UsageError(f"'{words}' is not possible now. Choose one of the actions shown.")
        return [action]

    def messages(self, ended: bool) -> list[str]:
        return []


# --- `jimbot play GAME --server …` ---


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
    rng = np.random.default_rng()

    def decide(observation: np.ndarray, legal_mask: np.ndarray) -> int:
        decision = choice.policy.act(observation[None], legal_mask[None], not stochastic, rng)
        return int(decision.actions[0])

    def notify(played: PlayedOnline) -> None:
        result = "tied with" if played.tied else "won against" if played.won else "lost to"
        terminal.console().print(f"{choice.name} {result} {played.opponent} after {played.turns} turns.")

    terminal.note(f"{choice.name} is '{visit.name}' on {visit.server} and plays {visit.challenge or 'any challenger'}.")
    terminal.console().print(online.play(visit, choice.entry.spec.parse_options(agreed), decide, notify))
