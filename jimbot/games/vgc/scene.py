"""A battle as a scene: both sides (see `jimbot.games.scenes`), as one of them sees it."""

from __future__ import annotations

from typing import cast

from jimbot.games.batch_game import BatchGame
from jimbot.games.scenes import Member, Scene, Side, Stat
from jimbot.games.vgc.fields import FOE, MOVES, SIDE_ROWS
from jimbot.games.vgc.words import PHASE_WORDS, STATUS_WORDS, Row


def scene(game: BatchGame, row: int) -> Scene:
    """The battle as the player of a row sees it."""
    from jimbot.games.vgc.game import VgcGame

    view = Row(cast(VgcGame, game).features(row))
    stats: list[Stat] = [
        {"name": "turn", "value": str(view.turn)},
        {"name": "now", "value": PHASE_WORDS[view.phase]},
    ]
    if scenery := view.scenery():
        stats.append({"name": "field", "value": ", ".join(scenery), "tone": "energy"})
    sides = [_side(view, "opponent", FOE, 1), _side(view, "you", 0, 0)]
    return {"kind": "battle", "sides": sides, "stats": stats}


def _side(view: Row, title: str, first: int, side: int) -> Side:
    places = [place for place in range(first, first + SIDE_ROWS) if view.pokemon(place, "present")]
    return {"title": title, "notes": view.lasting(side), "members": [_member(view, place) for place in places]}


def _member(view: Row, place: int) -> Member:
    status = view.named("status", "statuses", place)
    notes = [STATUS_WORDS[status]] if status and status != "fnt" else []
    held = view.named("item", "items", place)
    types = [view.named(field, "types", place) for field in ("type_1", "type_2")]
    if view.pokemon(place, "terastallized"):
        notes.append(f"tera {view.named('tera_type', 'types', place)}")
    slot = "a" if view.pokemon(place, "active_a") else "b" if view.pokemon(place, "active_b") else ""
    member: Member = {
        "name": view.name(place),
        "health": view.pokemon(place, "hp") / 1000,
        "out": bool(slot),
        "slot": slot or " ",
        "tags": [name for name in types if name],
        "notes": [*notes, *view.boosts(place), *view.effects(place)],
        "moves": [name for number in range(MOVES) if (name := view.move(place, number))],
    }
    return member | {"item": held} if held and held != "none" else member
