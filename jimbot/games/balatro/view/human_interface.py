"""A person plays Balatro by typing moves: cards by place, letter or name in any order, all else by number.

The table of actions has steps that only learners need (choosing a sixth card, taking a joker up). Here a move is one
line; beside the game runs a record of it (`RecordedRun`) that says in words what each move did.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from jimbot.errors import UsageError
from jimbot.games.balatro.encoding import action_table
from jimbot.games.balatro.rules import content, decisions, state
from jimbot.games.balatro.transcript import GameRecorder
from jimbot.games.balatro.view import describe as words
from jimbot.games.balatro.view.move_text import Move, read_move, write_move
from jimbot.games.contract import BatchGame
from jimbot.games.hooks.people import Offer

HOW = (
    "Cards by place, letter or name, in any order: play 1 3 5, p a c e, discard 2,4, play kh ks (s h c d are the "
    "suits). Things by number: buy 1, use 1 on 2 3, sell joker 2, move joker 1 to 3, move card 2 to 5, sort suit. "
    "The beginning of a word will do where it is the only one."
)
# What people type, and the engine's move. Where one word means several, the one that is possible in the phase.
VERBS: dict[str, tuple[int, ...]] = {
    "play": (decisions.PLAY,),
    "p": (decisions.PLAY,),
    "discard": (decisions.DISCARD,),
    "d": (decisions.DISCARD,),
    "select": (decisions.SELECT,),
    "skip": (decisions.SKIP, decisions.SKIP_PACK),
    "reroll boss": (decisions.REROLL_BOSS,),
    "reroll": (decisions.REROLL,),
    "cash out": (decisions.CASH_OUT,),
    "buy and use": (decisions.BUY_AND_USE,),
    "buy": (decisions.BUY,),
    "redeem": (decisions.REDEEM,),
    "open": (decisions.OPEN,),
    "pick": (decisions.PICK,),
    "next": (decisions.NEXT,),
    "leave": (decisions.NEXT,),
    "use": (decisions.USE,),
    "sell joker": (decisions.SELL_JOKER,),
    "sell consumable": (decisions.SELL_CONSUMABLE,),
    "sort": (decisions.SORT,),
    "move joker": (decisions.MOVE_JOKER,),
    "move consumable": (decisions.MOVE_CONSUMABLE,),
    "move card": (decisions.MOVE_HAND,),
}
_SPOKEN = {kind: verb for verb, kinds in reversed(VERBS.items()) for kind in kinds}  # the first of several
_KEPT = ("on", "to", "by", "rank", "suit")
_SUIT_LETTERS = "shcd"  # in the order of the suits' numbers


class BalatroInterface:
    """One person at a batch of one game."""

    how = HOW

    def __init__(self, game: BatchGame) -> None:
        self.run = GameRecorder(game).transcript().start()
        self._move: Move | None = None

    # --- what can be typed ---

    def choices(self) -> RenderableType:
        grid = Table.grid(padding=(0, 1))
        grid.add_column(style="bold cyan", no_wrap=True, min_width=18)
        for typed, said in self._offers():
            grid.add_row(typed, said)
        return grid

    def offers(self) -> Iterator[Offer]:
        g = self.run.g
        if g.phase == state.SELECTING_HAND:
            yield Offer("play", f"up to five cards, {int(g.hands_left)} hands left", "hand")
            if g.discards_left:
                yield Offer("discard", f"up to five cards, {int(g.discards_left)} discards left", "hand")
        yield from (Offer(typed, said) for typed, said in self._simple())
        yield from (Offer(typed.removesuffix("…").rstrip(), said, "hand") for typed, said in self._targeted())
        if g.hand_count > 1:
            yield Offer("sort rank" if g.sort_by_suit else "sort suit", "sorts the hand")

    def _offers(self) -> Iterator[tuple[str, str]]:
        """(what to type, what it does) of every kind of move that is possible now."""
        g = self.run.g
        if g.phase == state.SELECTING_HAND:
            yield "play 1 3 5", f"up to five cards, {int(g.hands_left)} hands left; letters (p a c e) or names do, too"
            if g.discards_left:
                yield "discard 2 4", f"up to five cards, {int(g.discards_left)} discards left"
        yield from self._simple()
        yield from self._targeted()
        if g.joker_count > 1:
            yield "move joker 1 to 2", "changes the order of jokers; the left one acts first"
        if g.hand_count > 1:
            yield "sort suit", "or sort rank; move card 1 to 3"

    def _simple(self) -> Iterator[tuple[str, str]]:
        """Moves that need no cards."""
        g = self.run.g
        counted = {
            decisions.BUY: g.shop_count, decisions.BUY_AND_USE: g.shop_count, decisions.REDEEM: g.voucher_count,
            decisions.OPEN: g.booster_count, decisions.PICK: g.pack_count, decisions.USE: g.consumable_count,
            decisions.SELL_JOKER: g.joker_count, decisions.SELL_CONSUMABLE: g.consumable_count,
        }  # fmt: skip
        alone = (decisions.SELECT, decisions.SKIP, decisions.REROLL_BOSS, decisions.CASH_OUT, decisions.REROLL,
                 decisions.SKIP_PACK, decisions.NEXT)  # fmt: skip
        for kind in (*counted, *alone):
            for index in range(counted.get(kind, 1)):
                if self.run.allows(Move(kind, index)):
                    number = f" {index + 1}" if kind in counted else ""
                    yield f"{_SPOKEN[kind]}{number}", words.describe_move(g, kind, index, 0)

    def _targeted(self) -> Iterator[tuple[str, str]]:
        """What is used on cards of the hand."""
        g = self.run.g
        if g.phase not in (state.SELECTING_HAND, state.PACK) or not g.hand_count:
            return
        held = [(decisions.USE, i, int(g.consumable_id[i])) for i in range(g.consumable_count)]
        held += [
            (decisions.PICK, i, int(g.offer_id[state.FIRST_PACK_OFFER + i]))
            for i in range(g.pack_count)
            if g.offer_kind[state.FIRST_PACK_OFFER + i] == state.OFFER_CONSUMABLE
        ]
        for kind, index, item in held:
            least, most = int(content.CONSUMABLE_MIN_TARGETS[item]), int(content.CONSUMABLE_MAX_TARGETS[item])
            if most and not self.run.allows(Move(kind, index)):
                cards = f"{least} to {most} cards" if least < most else f"{most} card{'s' if most > 1 else ''}"
                yield f"{_SPOKEN[kind]} {index + 1} on …", f"{words.describe_move(g, kind, index, 0)} on {cards}"

    # --- what a text means ---

    def actions(self, text: str) -> list[int]:
        verb, rest = self._verb(text)
        kind = next((k for k in VERBS[verb] if self.run.allows(Move(k))), VERBS[verb][0])
        numbers = " ".join(self._operands(rest))
        try:
            move = read_move(f"{decisions.ACTION_KINDS[kind]} {numbers}")
        except UsageError as problem:
            raise UsageError(f"'{text.strip()}' is no move; type one like those shown, ? for help.") from problem
        if not self.run.allows(move):
            raise UsageError(f"'{write_move(*move).replace('_', ' ')}' is not possible now. Type one of those shown.")
        self._move = move
        return action_table.actions_for(*move)

    def _verb(self, text: str) -> tuple[str, list[str]]:
        """(a verb of the table, the words after it); its words may be cut short where nothing else begins so."""
        typed = text.lower().replace(",", " ").replace("_", " ").split()
        for length in (3, 2, 1):
            found = _beginning_with(typed[:length])
            if len(found) == 1:
                return found[0], typed[length:]
        found = _beginning_with(typed[:1])
        if found:
            raise UsageError(f"'{typed[0]}' may be {' or '.join(found)}; type a little more.")
        if typed and self.run.g.phase == state.SELECTING_HAND and self._are_cards(typed):
            cards = " ".join(typed)
            raise UsageError(f"'{cards}' may be played or discarded; type play {cards}, or discard {cards}.")
        raise UsageError(f"'{text.strip()}' is no move here. Type one of those shown, ? for help, q to leave.")

    def _are_cards(self, typed: list[str]) -> bool:
        try:
            return all(place.isdigit() and 1 <= int(place) <= self.run.g.hand_count for place in self._operands(typed))
        except UsageError:
            return False

    def _operands(self, typed: list[str]) -> Iterator[str]:
        taken: set[int] = set()
        for word in typed:
            if word in _KEPT or word.isdigit():
                yield word
            elif len(word) == 1 and word.isascii() and word.isalpha():
                yield str(ord(word) - ord("a") + 1)
            else:
                yield str(self._named(word, taken) + 1)

    def _named(self, word: str, taken: set[int]) -> int:
        """The place of a card by name (kh, 10s): the leftmost that was not named yet."""
        g = self.run.g
        for place in range(g.hand_count):
            slot = int(g.hand[place])
            hidden = g.card_flags[slot] & state.CARD_FACE_DOWN or g.card_enhancement[slot] == content.STONE
            rank = content.LETTER_OF_RANK[int(g.card_rank[slot])].lower()
            name = rank + _SUIT_LETTERS[int(g.card_suit[slot])]
            if not hidden and place not in taken and word.replace("10", "t") == name:
                taken.add(place)
                return place
        raise UsageError(f"'{word}' is no card of your hand; name cards by place (1), letter (a) or name (kh, 10s).")

    # --- what came of it ---

    def messages(self, ended: bool) -> list[str]:
        if self._move is None:
            return []
        move, self._move = self._move, None
        step = self.run.do(move)
        return [step.words, *(f"  {effect}" for effect in step.effects), *self._needed(move)]

    def _needed(self, move: Move) -> list[str]:
        g: Any = self.run.g
        if move.kind != decisions.PLAY or g.phase != state.SELECTING_HAND:
            return []
        missing = words.number(max(0.0, float(g.requirement) - float(g.score)))
        return [f"  {missing} points still needed, {int(g.hands_left)} hands left"]


def _beginning_with(typed: list[str]) -> list[str]:
    """The verbs of as many words that begin like these; one that is spelled in full stands alone."""
    whole = " ".join(typed)
    if whole in VERBS:
        return [whole]
    shapes = [verb for verb in VERBS if len(verb.split()) == len(typed)]
    return [
        verb for verb in shapes if all(word.startswith(begun) for word, begun in zip(verb.split(), typed, strict=True))
    ]
