"""States from plain Python values and back: how tests and outside suites set up a situation and read one out.

>>> virus = {"type": "virus", "row": 4, "col": 3}
>>> state = make_state(player=(3, 3), enemies=[virus], owned_programs=["WAIT"], energy=1)
>>> to_dict(state)["enemies"][0]["hp"]
2
>>> to_dict(state)["player"]["row"], to_dict(state)["owned_programs"]
(3, ['WAIT'])
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jimbot.errors import UsageError
from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.history import SNAPSHOT
from jimbot.games.hackmatrix.stages import FIRST_INTERVAL
from jimbot.games.hackmatrix.state import (
    DATA,
    ENEMY,
    EXIT,
    HIDDEN_DATA,
    HIDDEN_PROGRAM,
    PICKUP,
    PROGRAM,
    SLOTS,
    TRANSMISSION,
    Cell,
    Entity,
    State,
)
from jimbot.games.seeds import split

Where = Sequence[int]
_PLAYER_DEFAULTS = {"hp": 3, "credits": 0, "energy": 0, "data_siphons": 0, "attack_damage": 1, "score": 0}
_MOST_POINTS = 9


def make_state(
    *,
    player: Mapping[str, int] | Where = (0, 0),
    enemies: Iterable[Mapping[str, Any]] = (),
    transmissions: Iterable[Mapping[str, Any]] = (),
    blocks: Iterable[Mapping[str, Any]] = (),
    resources: Iterable[Mapping[str, int]] = (),
    pickups: Iterable[Where] = (),
    owned_programs: Iterable[str | int] | str = (),
    stage: int = 1,
    turn: int = 0,
    show: bool = False,
    calm: bool = False,
    exit: Where = (spec.SIDE - 1, spec.SIDE - 1),
    exit_tile: Where | None = None,
    hp: int | None = None,
    credits: int | None = None,
    energy: int | None = None,
    data_siphons: int | None = None,
    attack_damage: int | None = None,
    score: int | None = None,
    interval: int = FIRST_INTERVAL,
    next_turn: int = FIRST_INTERVAL,
    siphoned: Iterable[Where] = (),
    siphon_centres: Iterable[Where] = (),
    pending_spawns: int = 0,
    step_active: bool = False,
    attack_uses: int = 0,
    steps: int = 0,
    seed: int = 0,
    profile: str = "training",
) -> State:
    """One game in any situation; all rows and columns are 0..5, row 0 at the bottom.

    - player: (row, col), or a dict with row and col and any of hp, credits, energy, data_siphons, attack_damage,
      score. The same names can be given as arguments instead.
    - enemies, in list order: dicts with type ("virus", "daemon", "glitch", "cryptog", or 0..3), row, col, and
      optionally hp (default full), stunned, scheduled, from_siphon (default False).
    - transmissions, in list order: dicts with row, col, and optionally turns (default 1), type (default "virus"),
      scheduled, from_siphon.
    - blocks: dicts with row, col, type ("data", "program" or "question") and either points (0..9) or program (a name
      like "PUSH" or its action number 5..27); optionally spawn_count (default as generated: the points, or the
      program's own; 0 if siphoned) and siphoned (default False).
    - resources: dicts with row, col and either credits or energy. On a block cell they lie under the block.
    - pickups: (row, col) of data-siphon pickups.
    - owned_programs: names or action numbers, or "all".
    - exit: the exit coordinates; exit_tile: where the tile lies if not there (only UNDO across stages does that).
    - siphoned, siphon_centres: (row, col) of cells with that flag (siphoned blocks need not be listed again).
    - pending_spawns, step_active, attack_uses: siphon spawns not yet released, the STEP flag, ATK+ uses this stage.
    - steps: steps played, for the step limit. seed: of the draws to come. profile: fixes the length of the UNDO
      history, which starts empty.
    """
    row, col, stats = _player(player, locals())
    settings = spec.Options(profile).settings
    cells = np.zeros(spec.CELLS, np.int64)
    _lay_tiles(cells, exit if exit_tile is None else exit_tile, pickups)
    _lay_blocks(cells, blocks)
    _lay_resources(cells, resources)
    for where in siphoned:
        cells[_cell(where, "siphoned cell")] |= Cell.siphoned.make(1)
    for where in siphon_centres:
        cells[_cell(where, "siphon centre")] |= Cell.centre.make(1)
    numbers = {
        "player": _cell((row, col), "player"),
        **{"siphons" if name == "data_siphons" else name: value for name, value in stats.items()},
        "owned": _owned(owned_programs),
        "stage": _whole("stage", stage, 1, spec.STAGES),
        "turn": _whole("turn", turn),
        "interval": _whole("interval", interval, 1),
        "next_turn": _whole("next_turn", next_turn),
        "exit": _cell(exit, "exit"),
        "pending": _whole("pending_spawns", pending_spawns),
        "attack_uses": _whole("attack_uses", attack_uses),
        "steps": _whole("steps", steps),
        "history_top": 0,
        "history_size": 0,
    }
    numbers["attack"] = numbers.pop("attack_damage")
    state = State(
        key=np.concatenate(split([_whole("seed", seed, 0, 2**64 - 1)])),
        cells=cells.astype(np.int32),
        entities=np.array(_entities(enemies, transmissions), np.int32),
        **{name: np.int32(value) for name, value in numbers.items()},
        show=np.bool_(show),
        calm=np.bool_(calm),
        skip=np.bool_(step_active),
        history=np.zeros((settings.history_length, SNAPSHOT), np.int32),
    )
    return jax.device_put(state)


def to_dict(state: State) -> dict[str, Any]:
    """Everything in a state of one game as plain numbers, under the names `make_state` takes (it can be fed back,
    without `history_size`: the UNDO history itself is not read out)."""
    cells = np.asarray(state.cells)
    if cells.ndim != 1:
        raise UsageError(f"to_dict got states of shape {cells.shape[:-1]}; expected one game. Take one row first.")
    words = [int(word) for word in cells]
    entities = [int(word) for word in np.asarray(state.entities)]
    places = [(cell // spec.SIDE, cell % spec.SIDE) for cell in range(spec.CELLS)]

    def cells_where(test: Any) -> list[tuple[int, int]]:
        return [place for place, word in zip(places, words, strict=True) if test(word)]

    tiles = cells_where(lambda word: Cell.content.of(word) == EXIT)
    exit_cell = int(state.exit)
    return {
        "player": {
            "row": int(state.player) // spec.SIDE,
            "col": int(state.player) % spec.SIDE,
            "hp": int(state.hp),
            "credits": int(state.credits),
            "energy": int(state.energy),
            "data_siphons": int(state.siphons),
            "attack_damage": int(state.attack),
            "score": int(state.score),
        },
        "enemies": [_read_enemy(word) for word in entities if Entity.kind.of(word) == ENEMY],
        "transmissions": [_read_transmission(word) for word in entities if Entity.kind.of(word) == TRANSMISSION],
        "blocks": [_read_block(place, word) for place, word in zip(places, words, strict=True) if Cell.is_block(word)],
        "resources": [
            {"row": row, "col": col, "credits": Cell.credits.of(word), "energy": Cell.energy.of(word)}
            for (row, col), word in zip(places, words, strict=True)
            if Cell.credits.of(word) or Cell.energy.of(word)
        ],
        "pickups": cells_where(lambda word: Cell.content.of(word) == PICKUP),
        "siphoned": cells_where(Cell.siphoned.of),
        "siphon_centres": cells_where(Cell.centre.of),
        "exit": (exit_cell // spec.SIDE, exit_cell % spec.SIDE),
        "exit_tile": tiles[0] if tiles else None,
        "owned_programs": [name for number, name in enumerate(spec.PROGRAM_NAMES) if int(state.owned) >> number & 1],
        "stage": int(state.stage),
        "turn": int(state.turn),
        "show": bool(state.show),
        "calm": bool(state.calm),
        "interval": int(state.interval),
        "next_turn": int(state.next_turn),
        "pending_spawns": int(state.pending),
        "step_active": bool(state.skip),
        "attack_uses": int(state.attack_uses),
        "steps": int(state.steps),
        "history_size": int(state.history_size),
    }


def _read_enemy(word: int) -> dict[str, Any]:
    cell = Entity.cell.of(word)
    return {
        "type": spec.ENEMY_NAMES[Entity.type.of(word)],
        "row": cell // spec.SIDE,
        "col": cell % spec.SIDE,
        "hp": Entity.hp.of(word),
        "stunned": bool(Entity.stunned.of(word)),
        "scheduled": bool(Entity.scheduled.of(word)),
        "from_siphon": bool(Entity.siphon.of(word)),
    }


def _read_transmission(word: int) -> dict[str, Any]:
    read = _read_enemy(word)
    return {
        "row": read["row"],
        "col": read["col"],
        "turns": Entity.turns.of(word),
        "type": read["type"],
        "scheduled": read["scheduled"],
        "from_siphon": read["from_siphon"],
    }


def _read_block(place: tuple[int, int], word: int) -> dict[str, Any]:
    content, value = Cell.content.of(word), Cell.value.of(word)
    is_data = content in (DATA, HIDDEN_DATA)
    return {
        "row": place[0],
        "col": place[1],
        "type": "question" if content in (HIDDEN_DATA, HIDDEN_PROGRAM) else "data" if is_data else "program",
        **({"points": value} if is_data else {"program": spec.PROGRAM_NAMES[value]}),
        "spawn_count": Cell.spawn.of(word),
        "siphoned": bool(Cell.siphoned.of(word)),
    }


def _player(player: Mapping[str, int] | Where, given: Mapping[str, Any]) -> tuple[int, int, dict[str, int]]:
    values = dict(player) if isinstance(player, Mapping) else dict(zip(("row", "col"), player, strict=False))
    _only(values, {"row", "col", *_PLAYER_DEFAULTS}, "player")
    if "row" not in values or "col" not in values:
        raise UsageError(f"player is {player!r}; expected (row, col) or a dict with row and col.")
    stats = {}
    for name, default in _PLAYER_DEFAULTS.items():
        value = given[name]
        if value is not None and name in values:
            raise UsageError(f"{name} is given both in player and as an argument; give it once.")
        value = values.get(name, default) if value is None else value
        stats[name] = _whole(name, value, 0, spec.MAX_HP if name == "hp" else None)
    return values["row"], values["col"], stats


def _entities(enemies: Iterable[Mapping[str, Any]], transmissions: Iterable[Mapping[str, Any]]) -> list[int]:
    words = []
    flags = ("scheduled", "from_siphon")
    for item in enemies:
        _only(item, {"type", "row", "col", "hp", "stunned", *flags}, "enemy", ("type", "row", "col"))
        kind = _type(item["type"])
        hp = item.get("hp")
        words.append(
            Entity.kind.make(ENEMY)
            | _entity(item, kind, "enemy")
            | Entity.hp.make(spec.ENEMY_HP[kind] if hp is None else _whole("enemy hp", hp, 1, spec.ENEMY_HP[kind]))
            | Entity.stunned.make(int(bool(item.get("stunned", False))))
        )
    taken: set[int] = set()
    for item in transmissions:
        _only(item, {"type", "row", "col", "turns", *flags}, "transmission", ("row", "col"))
        cell = _cell((item["row"], item["col"]), "transmission")
        if cell in taken:
            raise UsageError(f"Two transmissions at ({item['row']}, {item['col']}); expected at most one per cell.")
        taken.add(cell)
        turns = _whole("transmission turns", item.get("turns", 1), 1, Entity.turns.largest)
        kind = _type(item.get("type", "virus"))
        words.append(Entity.kind.make(TRANSMISSION) | _entity(item, kind, "transmission") | Entity.turns.make(turns))
    if len(words) > SLOTS:
        raise UsageError(f"{len(words)} enemies and transmissions; at most {SLOTS} fit. Leave some out.")
    return words + [0] * (SLOTS - len(words))


def _entity(item: Mapping[str, Any], kind: int, what: str) -> int:
    return (
        Entity.cell.make(_cell((item["row"], item["col"]), what))
        | Entity.type.make(kind)
        | Entity.scheduled.make(int(bool(item.get("scheduled", False))))
        | Entity.siphon.make(int(bool(item.get("from_siphon", False))))
    )


def _lay_tiles(cells: np.ndarray, exit_tile: Where, pickups: Iterable[Where]) -> None:
    cells[_cell(exit_tile, "exit")] = Cell.content.make(EXIT)
    for where in pickups:
        cell = _cell(where, "pickup")
        if cells[cell]:
            raise UsageError(f"The pickup at {tuple(where)} lies on the exit or another pickup; move one of them.")
        cells[cell] = Cell.content.make(PICKUP)


def _lay_blocks(cells: np.ndarray, blocks: Iterable[Mapping[str, Any]]) -> None:
    names = {"row", "col", "type", "points", "program", "spawn_count", "siphoned"}
    for item in blocks:
        _only(item, names, "block", ("row", "col", "type"))
        where = (item["row"], item["col"])
        cell = _cell(where, "block")
        if cells[cell]:
            raise UsageError(f"The block at {where} lies on the exit, a pickup or another block; move one of them.")
        kind = item["type"]
        is_program = item.get("program") is not None
        if kind not in ("data", "program", "question") or is_program == (item.get("points") is not None):
            raise UsageError(f"Block {dict(item)} needs type data, program or question, and points or a program.")
        if kind != "question" and is_program != (kind == "program"):
            raise UsageError(
                f"Block {dict(item)} is of type {kind}; give data blocks points and program blocks a program."
            )
        if is_program:
            value = _program(item["program"])
            spawn = spec.PROGRAMS[value].spawn
            content = HIDDEN_PROGRAM if kind == "question" else PROGRAM
        else:
            value = spawn = _whole("block points", item["points"], 0, _MOST_POINTS)
            content = HIDDEN_DATA if kind == "question" else DATA
        siphoned = bool(item.get("siphoned", False))
        count = item.get("spawn_count")
        spawn = (0 if siphoned else spawn) if count is None else _whole("spawn_count", count, 0, Cell.spawn.largest)
        cells[cell] = (
            Cell.content.make(content)
            | Cell.value.make(value)
            | Cell.spawn.make(spawn)
            | Cell.siphoned.make(int(siphoned))
        )


def _lay_resources(cells: np.ndarray, resources: Iterable[Mapping[str, int]]) -> None:
    for item in resources:
        _only(item, {"row", "col", "credits", "energy"}, "resource", ("row", "col"))
        cell = _cell((item["row"], item["col"]), "resource")
        credits = _whole("credits of a resource", item.get("credits", 0), 0, Cell.credits.largest)
        energy = _whole("energy of a resource", item.get("energy", 0), 0, Cell.energy.largest)
        if credits and energy:
            raise UsageError(f"Resource {dict(item)} has credits and energy; a cell holds one kind only.")
        cells[cell] |= Cell.credits.make(credits) | Cell.energy.make(energy)


def _owned(programs: Iterable[str | int] | str) -> int:
    if programs == "all":
        return (1 << len(spec.PROGRAMS)) - 1
    if isinstance(programs, str):
        raise UsageError(f"owned_programs is {programs!r}; expected a list of names or action numbers, or 'all'.")
    owned = 0
    for program in programs:
        owned |= 1 << _program(program)
    return owned


def _program(name: str | int) -> int:
    """Program number 0..22 from a name or an action number."""
    if isinstance(name, str) and name.upper() in spec.PROGRAM_NAMES:
        return spec.PROGRAM_NAMES.index(name.upper())
    if isinstance(name, int | np.integer) and 0 <= name - spec.FIRST_PROGRAM < len(spec.PROGRAMS):
        return int(name) - spec.FIRST_PROGRAM
    raise UsageError(
        f"Unknown program {name!r}; expected an action number 5..27 or one of {', '.join(spec.PROGRAM_NAMES)}."
    )


def _type(name: str | int) -> int:
    if isinstance(name, str) and name.lower() in spec.ENEMY_NAMES:
        return spec.ENEMY_NAMES.index(name.lower())
    if isinstance(name, int | np.integer) and 0 <= name < len(spec.ENEMY_NAMES):
        return int(name)
    raise UsageError(f"Unknown enemy type {name!r}; expected 0..3 or one of {', '.join(spec.ENEMY_NAMES)}.")


def _cell(where: Where, what: str) -> int:
    values = tuple(where)
    if len(values) != 2 or not all(_is_whole(value) and 0 <= value < spec.SIDE for value in values):
        raise UsageError(f"The {what} is at {values!r}; expected (row, col), both 0..{spec.SIDE - 1}.")
    return int(values[0]) * spec.SIDE + int(values[1])


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _whole(name: str, value: Any, least: int = 0, most: int | None = None) -> int:
    if not _is_whole(value) or value < least or (most is not None and value > most):
        wanted = f"{least} or more" if most is None else f"{least} to {most}"
        raise UsageError(f"{name} is {value!r}; expected a whole number, {wanted}.")
    return int(value)


def _only(item: Any, names: set[str], what: str, needed: tuple[str, ...] = ()) -> None:
    if not isinstance(item, Mapping):
        raise UsageError(f"A {what} is {item!r}; expected a dict with {', '.join(sorted(names))}.")
    unknown = [name for name in item if name not in names]
    missing = [name for name in needed if name not in item]
    if unknown or missing:
        problem = f"has unknown {', '.join(unknown)}" if unknown else f"lacks {', '.join(missing)}"
        raise UsageError(f"The {what} {dict(item)} {problem}; expected {', '.join(sorted(names))}.")
