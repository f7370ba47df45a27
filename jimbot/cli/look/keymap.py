"""Keys for games whose actions have names of their own: what `jimbot play` offers where a game has no `Sitting`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jimbot.errors import UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from jimbot.games import BatchGame
    from jimbot.games.contract import ActionSpec

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


class KeySitting:
    """Plays by keys or by the labels of actions (a `Sitting`)."""

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
        from rich.text import Text

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

    def told(self, ended: bool) -> list[str]:
        return []
