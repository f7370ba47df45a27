"""The heuristic players for rows in NumPy: the same rules as node/players.js, for all rows at once.

They exist twice because they are needed twice: inside the simulator's processes as opponents that cost no round trip,
and here as policies to evaluate, to record, to imitate and to train against. Both see nothing but a row and its mask,
and reckon in whole numbers, so a test can ask for equality, decision by decision.

Everything is reckoned at once, in arrays (N, slots, moves, aims); the aims are those of `_AIMS`, and only at the end
are they put in the order of the target columns, which differs between the slots.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.heuristics import HeuristicPlayer
from jimbot.games.vgc import fields, orders
from jimbot.games.vgc.fields import FOE, MOVES, OBSERVATION, SIDE_ROWS, SLOTS, column

WORST = -1000
_IMPOSSIBLE = -(10**6)
_ALL_ADJACENT = fields.vocabulary()["targets"].index("allAdjacent")
_STATUS = fields.vocabulary()["categories"].index("Status")
_PREVIEWS = np.array(orders.PREVIEW_ORDERS)
_AIMS = ("opponent a", "opponent b", "partner", "itself", "nobody")
_OPPONENTS, _PARTNER = 2, 2
_AIM_OF = np.array([[2, 3, 4, 0, 1], [3, 2, 4, 0, 1]])  # (slots, target columns): what each column means to a slot


class MoveTable:
    """Named access to whole numbers of N rows."""

    def __init__(self, observation: np.ndarray) -> None:
        self.features = np.rint(np.asarray(observation) / fields.scales()).astype(np.int64)
        self.hp = self.pokemon("hp") // 10  # (N, 12) percent
        self.damage = self.field("damage")  # (N, slots, moves, targets)
        own = [self.field(f"move_{number}")[:, :SLOTS] for number in range(1, MOVES + 1)]
        self._moves = np.stack(own, axis=2)  # (N, slots, moves, columns)
        here, opponents = self.hp[:, :SLOTS], self.hp[:, FOE : FOE + SLOTS]
        self.target_hp = np.stack([opponents[:, [0, 0]], opponents[:, [1, 1]], here[:, ::-1]], axis=2)[:, :, None]
        self.threatened = self.field("threat").max(axis=(1, 2)) >= here
        """(N, slots): whether the worst expected hit takes all that is left."""
        turned = np.where(self.whole("trickroom") > 0, -1, 1)
        self.outsped = turned[:, None] * self.field("outspeeds").sum(axis=2) < 0  # (N, slots)
        balance = np.minimum(100, self.field("matchup")) - np.minimum(100, self.field("matchup_threat"))
        self.balance = balance
        """(N, 6, 6): how each own Pokémon stands against each of the opponent's."""
        self.standing = (balance[:, :, :SLOTS] * (opponents > 0)[:, None]).sum(axis=2)
        """(N, 6): and against the opponents on the field."""

    def field(self, name: str) -> np.ndarray:
        return OBSERVATION.view(self.features, name)

    def pokemon(self, name: str) -> np.ndarray:
        return self.field("pokemon")[:, :, column("pokemon", name)]

    def move(self, name: str) -> np.ndarray:
        """(N, slots, moves)"""
        return self._moves[..., column("move", name)]

    def move_id(self, what: str) -> np.ndarray:
        """(N, slots, moves)"""
        return np.stack([self.field(f"move_{number}_{what}")[:, :SLOTS] for number in range(1, MOVES + 1)], axis=2)

    def own_side(self, name: str) -> np.ndarray:
        return self.field("side")[:, 0, column("side", name)]

    def whole(self, name: str) -> np.ndarray:
        return self.field("field")[:, column("field", name)]

    @property
    def forced(self) -> np.ndarray:
        return self.field("phase")[:, column("phase", "force_switch")] > 0


# --- simple players ---


def _power(table: MoveTable) -> np.ndarray:
    power = table.move("power")
    wide = np.where(table.move("spread") > 0, 3 * power // 2, power)
    return np.stack([wide, wide, -power, -power, wide], axis=-1)


def _damage(table: MoveTable) -> np.ndarray:
    a, b, partner = np.moveaxis(table.damage, -1, 0)
    hit = np.where(table.move_id("target") == _ALL_ADJACENT, partner, 0)
    nobody = np.where(table.move("spread") > 0, a + b - hit, np.maximum(a, b))
    return np.stack([a, b, -partner, np.zeros_like(a), nobody], axis=-1)


# --- the heuristic player ---


def _attack(table: MoveTable) -> np.ndarray:
    damage, hp = table.damage, table.target_hp
    hits = np.where(damage >= hp, hp + 60, damage) * table.move("accuracy")[..., None] // 100
    a, b, partner = np.moveaxis(np.where(hp <= 0, 0, hits), -1, 0)
    everybody = table.move_id("target") == _ALL_ADJACENT
    spread = a + b - np.where(everybody, 3 * partner // 2, 0)
    nobody = np.where(table.move("spread") > 0, spread, np.maximum(a, b))
    score = np.stack([a, b, partner, np.zeros_like(a), nobody], axis=-1)
    late = (table.threatened & table.outsped)[:, :, None, None]
    hasty = table.move("priority")[..., None] > 0
    score = np.where(hasty, score + 10, np.where(late, score * 7 // 10, score))
    slows = (table.move("speed_control") > 0) & table.outsped[:, :, None]
    score += (np.where(slows, 15, 0) - table.move("recoils") // 10)[..., None]
    score[..., _PARTNER] = -partner - 40
    return score


def _support(table: MoveTable) -> np.ndarray:
    """The first rule that applies decides; only the first two depend on the aim."""
    threatened, outsped = table.threatened[:, :, None], table.outsped[:, :, None]
    rules: list[tuple[np.ndarray, np.ndarray | int]] = []
    stalled = table.pokemon("stall")[:, :SLOTS, None] > 0
    rules.append((table.move("protects") > 0, np.where(stalled, -40, np.where(threatened, 55, 5))))
    settled = ((table.own_side("tailwind") > 0) | (table.whole("trickroom") > 0))[:, None, None]
    rules.append((table.move("speed_control") > 0, np.where(settled, -20, np.where(outsped, 70, 15))))
    helps = (table.threatened & (table.hp[:, :SLOTS] > 0))[:, ::-1, None]
    rules.append((table.move("redirects") > 0, np.where(helps, 45, 5)))
    heals = table.move("heals")
    healed = np.minimum(heals, 100 - table.hp[:, :SLOTS, None]) * 9 // 10
    rules.append((heals > 0, np.where(threatened & outsped, 0, healed)))
    gain = table.move("boosts_self")
    had = sum(table.pokemon(f"boost_{stat}")[:, :SLOTS, None] for stat in ("atk", "spa", "spe"))
    rules.append((gain > 0, np.where(threatened | (had >= 2), 0, np.minimum(50, 20 * gain))))
    sky = np.where(table.field("weather")[:, :, None] > 0, 0, 20)
    rules.append((table.move("weather_or_terrain") > 0, sky))
    rules.append((table.move("lowers_target") < 0, 15))
    shape = gain.shape
    anywhere = np.select([when for when, _ in rules], [np.broadcast_to(score, shape) for _, score in rules], default=10)
    found = np.repeat(anywhere[..., None], len(_AIMS), axis=-1)
    chance = 40 * table.move("accuracy") // 100
    for opponent in range(_OPPONENTS):
        has_status = table.field("status")[:, FOE + opponent, None, None] > 0
        here = np.where(table.move("inflicts_status") > 0, np.where(has_status, -30, chance), anywhere)
        found[..., opponent] = np.where(table.hp[:, FOE + opponent, None, None] <= 0, -30, here)
    return found


def _thoughtful(table: MoveTable) -> tuple[np.ndarray, np.ndarray]:
    """Scores without and with the gimmick."""
    support = table.move_id("category") == _STATUS
    score = np.where(support[..., None], _support(table), _attack(table))
    suits = ~support & (table.move_id("type") == table.field("tera_type")[:, :SLOTS, None])
    return score, score + np.where(suits[..., None] & (score >= 50), 12, -8)


def _switches(table: MoveTable) -> np.ndarray:
    """(N, slots, places)"""
    places = np.arange(orders.PLACES)
    standing, hp = table.standing[:, None, places], table.hp[:, None, places]
    gain = (standing - table.standing[:, :SLOTS, None]) // 4
    flees = (table.threatened & table.outsped)[:, :, None]
    return np.where(table.forced[:, None, None], 200 + standing + hp // 4, gain - np.where(flees, 10, 45))


def _together(table: MoveTable) -> np.ndarray:
    """(N, 45, 45): what the two choices make of each other."""
    found = np.zeros((len(table.features), orders.SLOT_CODES, orders.SLOT_CODES), np.int64)
    columns = len(orders.TARGETS)
    moves = np.zeros((len(found), MOVES, 2, columns, MOVES, 2, columns), np.int64)
    protects = table.move("protects") > 0
    both = protects[:, 0, :, None] & protects[:, 1, None, :]  # (N, moves of a, moves of b)
    moves -= 40 * both[:, :, None, None, :, None, None]
    for opponent in range(_OPPONENTS):
        at = _AIM_OF[0].tolist().index(opponent)  # opponents are under the same columns for both slots
        hp = table.hp[:, FOE + opponent, None, None]
        one, two = table.damage[:, 0, :, None, opponent], table.damage[:, 1, None, :, opponent]
        wasted = (one >= hp) & (two >= hp)
        joined = (one < hp) & (two < hp) & (one + two >= hp)
        moves[:, :, :, at, :, :, at] += np.where(wasted, -60, np.where(joined, 40, 0))[:, :, None, :, None]
    found[:, : orders.FIRST_SWITCH, : orders.FIRST_SWITCH] = moves.reshape(
        len(found), orders.FIRST_SWITCH, orders.FIRST_SWITCH
    )
    return found


def _slot_scores(table: MoveTable, name: str) -> np.ndarray:
    """(N, 2, 45)."""
    found = np.zeros((len(table.features), SLOTS, orders.SLOT_CODES), np.int64)
    if name == "heuristic":
        plain, gimmick = _thoughtful(table)
        switches = _switches(table)
    else:
        plain = gimmick = (_power if name == "max_power" else _damage)(table)
        switches = np.where(table.forced, 0, WORST)[:, None, None]
    both = np.stack([plain, gimmick], axis=3)  # (N, slots, moves, 2, aims)
    for slot in range(SLOTS):
        in_columns = both[:, slot][..., _AIM_OF[slot]]
        found[:, slot, : orders.FIRST_SWITCH] = in_columns.reshape(len(found), orders.FIRST_SWITCH)
    found[:, :, orders.FIRST_SWITCH : orders.FIRST_SWITCH + orders.PLACES] = switches
    return found


def scores(observation: np.ndarray, name: str) -> np.ndarray:
    """(N, A) whole numbers: what a heuristic player thinks of every action."""
    table = MoveTable(observation)
    slots = _slot_scores(table, name)
    pairs = slots[:, 0, :, None] + slots[:, 1, None, :]
    previews = np.zeros((len(slots), len(_PREVIEWS)), np.int64)
    if name == "heuristic":
        pairs = pairs + _together(table)
        worth = table.balance[:, :SIDE_ROWS].sum(axis=2)
        chosen = worth[:, _PREVIEWS]  # (N, 90, 4)
        previews = 2 * (chosen[:, :, 0] + chosen[:, :, 1]) + chosen[:, :, 2] + chosen[:, :, 3]
    return np.concatenate([pairs.reshape(len(slots), -1), previews], axis=1)


class VgcHeuristic(HeuristicPlayer):
    """A heuristic player as a policy: max_power, max_damage or heuristic."""

    def __init__(self, name: str) -> None:
        self.name = name

    def choose(self, observation: np.ndarray, legal: np.ndarray) -> np.ndarray:
        return np.where(legal, scores(observation, self.name), _IMPOSSIBLE).argmax(axis=1)
