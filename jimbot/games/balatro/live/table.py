"""One game at one table that answers the protocol's methods: the simulator in the place of the bought game.

No sockets and no envelopes here (`door.py`). Runs go on after the win at ante 8, as they do in the mod; `won` tells.
"""

from __future__ import annotations

import json
import random
import zlib
from functools import cache
from typing import Any

import numpy as np

from jimbot.errors import JimbotError, SnapshotError
from jimbot.games.balatro.compiling.kernels import announce_compilation
from jimbot.games.balatro.game import BalatroGame
from jimbot.games.balatro.live.calls import moves_of
from jimbot.games.balatro.live.handlers import HANDLERS, discover
from jimbot.games.balatro.live.methods import find_method, read_params, require_state
from jimbot.games.balatro.live.refusals import NeverAnsweredError, Traps, bad, failed, not_allowed
from jimbot.games.balatro.live.writer import Leftover, Writer
from jimbot.games.balatro.options import Options
from jimbot.games.balatro.rules import decisions
from jimbot.games.balatro.rules.chance.streams import SEED_COUNT, seed_bytes, seed_text
from jimbot.games.balatro.rules.scratch import new_scratch
from jimbot.games.balatro.rules.state import GAME_DTYPE, IN_HAND, MAX_HAND, SHOP, new_games
from jimbot.games.balatro.states import dialects as d
from jimbot.games.balatro.states import staging
from jimbot.games.balatro.view.scene import scene
from jimbot.games.drawing import draw
from jimbot.games.hooks.programs import HostFiles

_NONE = np.uint64(0)
_SAVED = b"jimbot-balatro-save\n"
_LARGEST_SAVE = 1 << 20


class NoFiles:
    """The files of a table that was given none."""

    def read(self, path: str) -> bytes:
        raise OSError("this table has no files")

    def write(self, path: str, data: bytes) -> None:
        raise OSError("this table has no files")

    def picture(self, drawing: Any) -> bytes:
        return b""


class LiveTable:
    """One instance of the game."""

    def __init__(
        self,
        dialect: str = "1.x",
        fair: bool = True,
        traps: Traps = Traps(),
        files: HostFiles | None = None,
        rng_seed: int | None = None,
    ) -> None:
        self.dialect = d.find_dialect(dialect)
        self.traps = traps
        self.files: HostFiles = files or NoFiles()
        self.writer = Writer(self.dialect, fair)
        self.g: Any = new_games(1)[0]
        self.s: Any = new_scratch()[0]
        self.in_run = False
        self.leftover: Leftover | None = None
        self.dealing = self.restocking = False
        """The game is not done with what was answered already (see `refusals.Traps`)."""
        self._stock = 0
        self._rng = random.Random(rng_seed)

    @property
    def state(self) -> str:
        return d.STATE_OF_PHASE[self.g["phase"]] if self.in_run else d.MENU

    def call(self, method: Any, params: Any = None) -> str:
        """Does what a method asks for; its result as JSON. Says no with a `RefusedError`."""
        if method == "rpc.discover":
            return discover(self, {})
        row = find_method(self.dialect.name, method)
        values = read_params(row, params)
        require_state(row, self.state)
        looking = row.name == "gamestate"
        if not looking:
            self.dealing = self.restocking = False
        answer = HANDLERS[row.name](self, values)
        if answer is None:
            answer = self.gamestate()
        if looking:  # the second look finds the game done
            self.dealing = self.restocking = False
        return answer

    def gamestate(self) -> str:
        if not self.in_run:
            return self.writer.menu()
        slow_deal, slow_reroll = self.traps.slow_deal and self.dealing, self.traps.slow_reroll and self.restocking
        dealt = int(self.g["hand_count"]) // 2 if slow_deal else None
        return self.writer.text(self.g, self.leftover, dealt, not slow_reroll, self._stock)

    # --- runs ---

    def begin(self, deck: int, stake: int, challenge: int, seed: str | None) -> None:
        g = new_games(1)[0]
        text = seed if seed else seed_text(self._rng.randrange(SEED_COUNT))
        try:
            g.seed, g.seed_length = seed_bytes(text)
        except JimbotError as problem:
            raise bad(str(problem)) from problem
        g.deck, g.stake, g.challenge, g.endless = deck, stake, challenge, True
        decisions.apply(g, self.s, decisions.START, 0, _NONE)
        self.g, self.in_run, self.leftover = g, True, None

    def leave(self) -> None:
        self.in_run, self.leftover = False, None

    def saved(self) -> bytes:
        """The run as the bytes of a file."""
        head = {"leftover": self.leftover, "size": GAME_DTYPE.itemsize}
        return _SAVED + zlib.compress(json.dumps(head).encode() + b"\n" + self.g.tobytes())

    def restore(self, data: bytes, path: str) -> None:
        """Goes on with a saved run."""
        try:
            if not data.startswith(_SAVED):
                raise SnapshotError("it was not written by this server")
            plain = zlib.decompressobj().decompress(data[len(_SAVED) :], _LARGEST_SAVE)
            head, _, body = plain.partition(b"\n")
            known = json.loads(head)
            games = _checked(body)
            leftover = Leftover(*known["leftover"]) if known["leftover"] else None
        except (zlib.error, ValueError, KeyError, TypeError, SnapshotError) as problem:
            raise failed(f"Invalid save file format: '{path}': {problem}") from problem
        self.g, self.leftover, self.in_run = games[0], leftover, True

    def drawn(self) -> Any:
        """What a person would see, for rich."""
        if not self.in_run:
            return "JimBot: main menu"
        game = BalatroGame(1)
        game.games[0] = self.g
        return draw(scene(game, 0))

    # --- moves ---

    def allows(self, method: str, params: dict[str, Any]) -> bool:
        return all(decisions.is_legal(self.g, *move.encoded()) for move in moves_of(self.g, method, params))

    def move(self, method: str, params: dict[str, Any], refused: str = "") -> None:
        """Makes the engine's moves of a call; what the rules forbid all the same is refused with `refused`."""
        g = self.g
        if g["phase"] == SHOP:
            self.leftover = Leftover(int(g.shop_count), int(g.voucher_count), int(g.booster_count))
        for step in moves_of(g, method, params):
            if not decisions.apply(g, self.s, *step.encoded()):
                raise not_allowed(refused or f"The game does not allow '{method}' now")

    def wait_for_ever(self, trap: str) -> None:
        """Never answers, where that trap is on."""
        if getattr(self.traps, trap):
            raise NeverAnsweredError

    # --- debugging ---

    def add_joker(self, joker: int, edition: int, flags: int, rounds: int) -> None:
        counter = staging.stage(self.g, self.s, staging.START_COUNTER, joker)
        place = staging.stage(self.g, self.s, staging.ADD_JOKER, joker, edition, flags, counter)
        if place < 0:
            raise not_allowed("No room for another joker, of any edition")
        self.g.joker_serial[place] = self._serial()
        if rounds:
            self.g.joker_perish[place] = min(rounds, 127)

    def add_consumable(self, consumable: int, edition: int) -> None:
        place = staging.stage(self.g, self.s, staging.ADD_CONSUMABLE, consumable, edition)
        if place < 0:
            raise not_allowed("No room for another consumable, of any edition")
        self.g.consumable_serial[place] = self._serial()

    def add_card(self, rank: int, suit: int, enhancement: int, edition: int, seal: int) -> None:
        g = self.g
        if g.hand_count >= MAX_HAND:
            raise not_allowed("No room for another card in the hand")
        slot = staging.stage(self.g, self.s, staging.ADD_CARD, rank, suit, enhancement, edition, seal, IN_HAND)
        if slot < 0:
            raise not_allowed("No room for another card in the deck")
        others = [other for other in g.cards[: g.card_count].tolist() if other != slot]
        g.cards[: g.card_count] = [*others, slot]  # the newest card is the last one
        g.card_serial[slot] = self._serial()
        g.hand[g.hand_count] = slot
        g.hand_count += 1
        staging.stage(self.g, self.s, staging.DEBUFF)

    def restock(self) -> None:
        staging.stage(self.g, self.s, staging.STOCK)
        self._stock += 1

    def _serial(self) -> int:
        self.g.next_serial += 1
        return int(self.g.next_serial) - 1


@cache
def warm_up(saves: bool = False) -> None:
    """Compiles, or loads, what calls need: clients wait seconds for an answer, not minutes. `saves`: `load`, too."""
    table = LiveTable(rng_seed=0)
    announce_compilation(decisions.apply, lambda: table.begin(0, 1, 0, None))
    table.begin(0, 1, 0, None)
    table.gamestate()
    table.restock()
    if saves:
        table.restore(table.saved(), "")


def _checked(body: bytes) -> np.ndarray:
    """The record of a file, refused where it is no state a game can have."""
    if len(body) != GAME_DTYPE.itemsize:
        raise SnapshotError(f"it holds {len(body)} bytes of a run; expected {GAME_DTYPE.itemsize}")
    games = np.frombuffer(body, GAME_DTYPE).copy()
    faults = BalatroGame(1, options=Options())._faults_of(games)
    if faults:
        raise SnapshotError(faults[0])
    return games
