"""The scripted players for rows in NumPy: the same rules as node/players.js, for all rows at once.

They exist twice because they are needed twice: inside the simulator's processes as opponents that cost no round trip,
and here as policies to judge, to record and to imitate. Both see nothing but a row and its mask, and reckon in whole
numbers, so a test can ask for equality, decision by decision.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.vgc import fields, orders
from jimbot.games.vgc.fields import FOE, MOVES, OBSERVATION, SIDE_ROWS, SLOTS, column

WORST = -1000
_IMPOSSIBLE = -(10**6)
_ALL_ADJACENT = fields.vocabulary()["targets"].index("allAdjacent")
_STATUS = fields.vocabulary()["categories"].index("Status")
_PREVIEWS = np.array(orders.PREVIEW_ORDERS)
_RIVAL_A, _RIVAL_B, _PARTNER, _ITSELF, _NOBODY = 0, 1, 2, 3, -1


class Table:
    """Named access to whole numbers of N rows."""

    def __init__(self, observation: np.ndarray) -> None:
        self.features = np.rint(np.asarray(observation) / fields.scales()).astype(np.int64)
        self._fields: dict[str, np.ndarray] = {}
        self.hp = self.pokemon("hp") // 10  # (N, 12) percent
        slots = range(SLOTS)
        # Asked for every move and aim, so worked out once.
        self.threatened = [self._threatened(slot) for slot in slots]
        self.outsped = [self._outsped(slot) for slot in slots]

    def field(self, name: str) -> np.ndarray:
        if name not in self._fields:
            self._fields[name] = OBSERVATION.view(self.features, name)
        return self._fields[name]

    def pokemon(self, name: str) -> np.ndarray:
        return self.field("pokemon")[:, :, column("pokemon", name)]

    def move(self, slot: int, move: int, name: str) -> np.ndarray:
        return self.field(f"move_{move + 1}")[:, slot, column("move", name)]

    def move_id(self, slot: int, move: int, what: str) -> np.ndarray:
        return self.field(f"move_{move + 1}_{what}")[:, slot]

    def side(self, place: int, name: str) -> np.ndarray:
        return self.field("side")[:, place, column("side", name)]

    def whole(self, name: str) -> np.ndarray:
        return self.field("field")[:, column("field", name)]

    def damage(self, slot: int, move: int, target: int) -> np.ndarray:
        return self.field("damage")[:, slot, move, target]

    @property
    def forced(self) -> np.ndarray:
        return self.field("phase")[:, column("phase", "force_switch")] > 0

    def _threatened(self, slot: int) -> np.ndarray:
        """Whether the worst expected hit takes all that is left."""
        return self.field("threat")[:, :, :, slot].max(axis=(1, 2)) >= self.hp[:, slot]

    def _outsped(self, slot: int) -> np.ndarray:
        turned = np.where(self.whole("trickroom") > 0, -1, 1)
        return turned * self.field("outspeeds")[:, slot].sum(axis=1) < 0

    def balance(self) -> np.ndarray:
        """(N, 6, 6): how each own Pokémon stands against each of the rival's."""
        return np.minimum(100, self.field("matchup")) - np.minimum(100, self.field("matchup_threat"))

    def standing(self, place: int) -> np.ndarray:
        """How an own Pokémon stands against the rivals on the field."""
        here = self.hp[:, FOE : FOE + SLOTS] > 0
        return np.where(here, self.balance()[:, place, :SLOTS], 0).sum(axis=1)


def _aim(slot: int, target_column: int) -> int:
    if target_column == 2:
        return _NOBODY
    if target_column >= 3:
        return target_column - 3
    return _ITSELF if target_column == 1 - slot else _PARTNER


# --- simple players ---


def _power(table: Table, slot: int, move: int, aim: int) -> np.ndarray:
    power = table.move(slot, move, "power")
    if aim >= _PARTNER:
        return -power
    return np.where(table.move(slot, move, "spread") > 0, 3 * power // 2, power)


def _damage(table: Table, slot: int, move: int, aim: int) -> np.ndarray:
    a, b, partner = (table.damage(slot, move, target) for target in range(3))
    if aim == _ITSELF:
        return np.zeros_like(a)
    if aim >= 0:
        return -partner if aim == _PARTNER else (a, b)[aim]
    hit = np.where(table.move_id(slot, move, "target") == _ALL_ADJACENT, partner, 0)
    return np.where(table.move(slot, move, "spread") > 0, a + b - hit, np.maximum(a, b))


# --- the heuristic player ---


def _hit(damage: np.ndarray, hp: np.ndarray, accuracy: np.ndarray) -> np.ndarray:
    gain = np.where(damage >= hp, hp + 60, damage)
    return np.where(hp <= 0, 0, gain * accuracy // 100)


def _attack(table: Table, slot: int, move: int, aim: int) -> np.ndarray:
    accuracy = table.move(slot, move, "accuracy")
    targets = (FOE, FOE + 1, 1 - slot)
    hits = [_hit(table.damage(slot, move, n), table.hp[:, place], accuracy) for n, place in enumerate(targets)]
    if aim == _PARTNER:
        return -hits[2] - 40
    if aim == _ITSELF:
        score = np.zeros_like(accuracy)
    elif aim >= 0:
        score = hits[aim]
    else:
        everybody = table.move_id(slot, move, "target") == _ALL_ADJACENT
        spread = hits[0] + hits[1] - np.where(everybody, 3 * hits[2] // 2, 0)
        score = np.where(table.move(slot, move, "spread") > 0, spread, np.maximum(hits[0], hits[1]))
    hasty = table.move(slot, move, "priority") > 0
    late = table.threatened[slot] & table.outsped[slot]
    score = np.where(hasty, score + 10, np.where(late, score * 7 // 10, score))
    score = score + np.where((table.move(slot, move, "speed_control") > 0) & table.outsped[slot], 15, 0)
    return score - table.move(slot, move, "recoils") // 10


def _support(table: Table, slot: int, move: int, aim: int) -> np.ndarray:
    """The first rule that applies decides."""
    threatened, outsped = table.threatened[slot], table.outsped[slot]
    rules: list[tuple[np.ndarray, np.ndarray | int]] = []
    if aim in (_RIVAL_A, _RIVAL_B):
        has_status = table.field("status")[:, FOE + aim] > 0
        chance = 40 * table.move(slot, move, "accuracy") // 100
        rules.append((table.hp[:, FOE + aim] <= 0, -30))
        rules.append((table.move(slot, move, "inflicts_status") > 0, np.where(has_status, -30, chance)))
    stalled = table.pokemon("stall")[:, slot] > 0
    rules.append((table.move(slot, move, "protects") > 0, np.where(stalled, -40, np.where(threatened, 55, 5))))
    settled = (table.side(0, "tailwind") > 0) | (table.whole("trickroom") > 0)
    rules.append((table.move(slot, move, "speed_control") > 0, np.where(settled, -20, np.where(outsped, 70, 15))))
    helps = table.threatened[1 - slot] & (table.hp[:, 1 - slot] > 0)
    rules.append((table.move(slot, move, "redirects") > 0, np.where(helps, 45, 5)))
    heals = table.move(slot, move, "heals")
    healed = np.minimum(heals, 100 - table.hp[:, slot]) * 9 // 10
    rules.append((heals > 0, np.where(threatened & outsped, 0, healed)))
    gain = table.move(slot, move, "boosts_self")
    had = sum(table.pokemon(f"boost_{stat}")[:, slot] for stat in ("atk", "spa", "spe"))
    rules.append((gain > 0, np.where(threatened | (had >= 2), 0, np.minimum(50, 20 * gain))))
    rules.append((table.move(slot, move, "weather_or_terrain") > 0, np.where(table.field("weather")[:, 0] > 0, 0, 20)))
    rules.append((table.move(slot, move, "lowers_target") < 0, 15))
    return np.select([when for when, _ in rules], [score for _, score in rules], default=10)


def _thoughtful(table: Table, slot: int, move: int, aim: int) -> tuple[np.ndarray, np.ndarray]:
    """Without and with the gimmick."""
    support = table.move_id(slot, move, "category") == _STATUS
    score = np.where(support, _support(table, slot, move, aim), _attack(table, slot, move, aim))
    suits = ~support & (table.move_id(slot, move, "type") == table.field("tera_type")[:, slot])
    return score, score + np.where(suits & (score >= 50), 12, -8)


def _switch(table: Table, slot: int, place: int) -> np.ndarray:
    replacing = 200 + table.standing(place) + table.hp[:, place] // 4
    gain = (table.standing(place) - table.standing(slot)) // 4
    flees = table.threatened[slot] & table.outsped[slot]
    return np.where(table.forced, replacing, gain - np.where(flees, 10, 45))


def _together(table: Table) -> np.ndarray:
    """(N, 40, 40): what two moves make of each other."""
    count = len(table.features)
    # The codes of moves are 4 moves × 2 (gimmick) × 5 aims, for either slot.
    shape = (MOVES, 2, len(orders.TARGETS))
    found = np.zeros((count, *shape, *shape), np.int64)
    protects = [np.stack([table.move(slot, move, "protects") > 0 for move in range(MOVES)], axis=1) for slot in (0, 1)]
    both = protects[0][:, :, None] & protects[1][:, None, :]  # (N, 4, 4)
    found -= np.where(both, 40, 0)[:, :, None, None, :, None, None]
    for aim in (_RIVAL_A, _RIVAL_B):
        hp = table.hp[:, FOE + aim, None, None]
        one, two = table.field("damage")[:, 0, :, None, aim], table.field("damage")[:, 1, None, :, aim]
        wasted = (one >= hp) & (two >= hp)
        joined = (one < hp) & (two < hp) & (one + two >= hp)
        at = orders.TARGETS.index(aim + 1)
        found[:, :, :, at, :, :, at] += np.where(wasted, -60, np.where(joined, 40, 0))[:, :, None, :, None]
    return found.reshape(count, orders.FIRST_SWITCH, orders.FIRST_SWITCH)


def _slot_scores(table: Table, name: str) -> np.ndarray:
    """(N, 2, 45)."""
    found = np.zeros((len(table.features), SLOTS, orders.SLOT_CODES), np.int64)
    for slot in range(SLOTS):
        for move in range(MOVES):
            for at in range(len(orders.TARGETS)):
                aim = _aim(slot, at)
                if name == "heuristic":
                    plain, tera = _thoughtful(table, slot, move, aim)
                else:
                    plain = tera = (_power if name == "max_power" else _damage)(table, slot, move, aim)
                for gimmick, score in ((False, plain), (True, tera)):
                    found[:, slot, orders.move_code(move, orders.TARGETS[at], gimmick)] = score
        for place in range(orders.PLACES):
            score = _switch(table, slot, place) if name == "heuristic" else np.where(table.forced, 0, WORST)
            found[:, slot, orders.switch_code(place)] = score
    return found


def scores(observation: np.ndarray, name: str) -> np.ndarray:
    """(N, A) whole numbers: what a scripted player thinks of every action."""
    table = Table(observation)
    slots = _slot_scores(table, name)
    pairs = slots[:, 0, :, None] + slots[:, 1, None, :]
    previews = np.zeros((len(slots), len(_PREVIEWS)), np.int64)
    if name == "heuristic":
        pairs[:, : orders.FIRST_SWITCH, : orders.FIRST_SWITCH] += _together(table)
        worth = table.balance()[:, :SIDE_ROWS].sum(axis=2)
        chosen = worth[:, _PREVIEWS]  # (N, 90, 4)
        previews = 2 * (chosen[:, :, 0] + chosen[:, :, 1]) + chosen[:, :, 2] + chosen[:, :, 3]
    return np.concatenate([pairs.reshape(len(slots), -1), previews], axis=1)


class Scripted:
    """A scripted player as a policy: max_power, max_damage or heuristic. It never draws."""

    def __init__(self, name: str) -> None:
        self.name = name

    def act(
        self,
        observation: np.ndarray,
        legal_mask: np.ndarray,
        deterministic: bool = True,
        key: np.random.Generator | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        legal = np.asarray(legal_mask, bool)
        actions = np.where(legal, scores(observation, self.name), _IMPOSSIBLE).argmax(axis=1)
        probabilities = np.zeros(legal.shape, np.float32)
        probabilities[np.arange(len(actions)), actions] = 1.0
        return actions, probabilities, np.zeros(len(actions), np.float32)
