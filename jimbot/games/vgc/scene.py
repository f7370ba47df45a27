"""A battle as a scene: both sides for the page in the browser (see `jimbot.games.scenes`), as one of them sees it."""

from __future__ import annotations

from typing import cast

from jimbot.games.batch_game import BatchGame
from jimbot.games.scenes import Figure, Member, Scene, Side
from jimbot.games.vgc.fields import FOE, MOVES, SIDE_ROWS
from jimbot.games.vgc.words import PHASE_WORDS, STATUS_WORDS, Row


def scene(game: BatchGame, row: int) -> Scene:
    """The battle as the player of a row sees it."""
    from jimbot.games.vgc.game import VgcGame

    view = Row(cast(VgcGame, game).features(row))
    figures: list[Figure] = [
        {"name": "turn", "value": str(view.turn)},
        {"name": "now", "value": PHASE_WORDS[view.phase]},
    ]
    if scenery := view.scenery():
        figures.append({"name": "field", "value": ", ".join(scenery), "tone": "energy"})
    sides = [_side(view, "rival", FOE, 1), _side(view, "own side", 0, 0)]
    return {"kind": "battle", "sides": sides, "figures": figures}


def _side(view: Row, title: str, first: int, side: int) -> Side:
    places = [place for place in range(first, first + SIDE_ROWS) if view.pokemon(place, "present")]
    return {"title": title, "notes": view.lasting(side), "members": [_member(view, place) for place in places]}


def _member(view: Row, place: int) -> Member:
    status = view.named("status", "statuses", place)
    notes = [STATUS_WORDS[status]] if status else []
    held = view.named("item", "items", place)
    types = [view.named(field, "types", place) for field in ("type_1", "type_2")]
    if view.pokemon(place, "terastallized"):
        notes.append(f"tera {view.named('tera_type', 'types', place)}")
    return {
        "name": view.name(place),
        "health": view.pokemon(place, "hp") / 1000,
        "out": bool(view.pokemon(place, "active_a") or view.pokemon(place, "active_b")),
        "tags": [name for name in types if name],
        "notes": [*notes, *view.boosts(place), *view.effects(place), *([held] if held and held != "none" else [])],
        "moves": [name for number in range(MOVES) if (name := view.move(place, number))],
    }
