"""What is learned elsewhere, taken into a graph: the same from Python, GraphQL (`saveStrategy`, `saveSynergy`) and the
topic `knowledge.update`, on which whoever discovers something tells it.

Everything from outside is checked by the graph's own records, names may be keys or names, and what is known of the same
thing before gives way.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from jimbot.errors import KnowledgeError
from jimbot.evaluation.intervals import wilson_interval
from jimbot.knowledge.queries import Names
from jimbot.knowledge.records import PARTS, PLAYED, RELATIONS, SYNERGY, Edge, Strategy

if TYPE_CHECKING:
    from jimbot.proto.events_pb2 import KnowledgeUpdate

STRATEGY, PAIR = "strategy", "synergy"
_LEFT_OUT = ("key", "name", "uses")


def strategy_from(names: Names, name: str, uses: Mapping[str, float] | Sequence[str], **values: Any) -> Strategy:
    """A strategy as it will be stored. `uses`: parts, with how much they belong to it; values: fields of `Strategy`.
    Without an interval of its own the share of wins gets that of its games."""
    weights = uses if isinstance(uses, Mapping) else dict.fromkeys(uses, 1.0)
    labels = [label for label in PARTS if label not in ("Boss", "Tag")]
    found = {names.key(part, *labels): weight for part, weight in weights.items()}
    if not found:
        raise KnowledgeError(f"Strategy '{name[:80]}' uses nothing; name the jokers, the poker hand or the deck.")
    given = {"key": "s_" + _slug(name), "evidence": PLAYED, **values, "name": name, "uses": found}
    if "low" not in values and "high" not in values:
        games, share = given.get("games", 0), given.get("share", 0.0)
        sound = isinstance(games, int) and isinstance(share, int | float) and 0 <= share <= 1 and games >= 0
        around = wilson_interval(round(share * games), games) if sound and games else None
        given |= {"low": around.low, "high": around.high} if around is not None else {}
    one = _checked(Strategy, given)
    if not 0 <= one.low <= one.share <= one.high <= 1:
        raise KnowledgeError(
            f"Strategy '{one.name}' won a share of {one.share} [{one.low}, {one.high}]; expected 0 to 1, in order."
        )
    return one


def synergy_from(names: Names, jokers: Sequence[str], strength: float, **values: Any) -> Edge:
    """A claim about two or more jokers as it will be stored."""
    keys = sorted(names.keys(jokers, "Joker"))
    if len(set(keys)) != len(keys) or len(keys) < 2:
        raise KnowledgeError(f"A synergy is of two or more different jokers; got {', '.join(jokers)[:200]}.")
    given = {"low": strength, "high": strength, "channel": "all", "evidence": PLAYED, **values, "strength": strength}
    edge = _checked(Edge, {**given, "type": SYNERGY, "a": keys[0], "b": keys[1], "others": tuple(keys[2:])})
    if not edge.low <= edge.strength <= edge.high:
        raise KnowledgeError(f"The strength {edge.strength} lies outside its own interval [{edge.low}, {edge.high}].")
    return edge


def update_of(game: str, found: Strategy | Edge, learned_from: str = "") -> KnowledgeUpdate:
    """What was learned, to be told on the bus."""
    from jimbot.proto.events_pb2 import KnowledgeUpdate

    if isinstance(found, Strategy):
        values = {name: value for name, value in vars(found).items() if name not in _LEFT_OUT}
        update = KnowledgeUpdate(
            update_id=f"{game} {found.key} {found.command}", game=game, kind=STRATEGY, subjects=list(found.uses),
            relation=found.name, strength=found.share, observations=found.games, learned_from=learned_from,
        )  # fmt: skip
        update.details.update({**_plain(values), "key": found.key, "uses": dict(found.uses)})
        return update
    values = {name: getattr(found, name) for name in ("low", "high", "channel", "evidence", "order", "command")}
    subjects = [found.a, found.b, *found.others]
    update = KnowledgeUpdate(
        update_id=f"{game} {' '.join(subjects)} {found.channel} {found.command}", game=game, kind=PAIR,
        subjects=subjects, relation=found.type, strength=found.strength, observations=found.samples,
        learned_from=learned_from,
    )  # fmt: skip
    update.details.update(values)
    return update


def found_in(names: Names, game: str, update: KnowledgeUpdate) -> Strategy | Edge:
    """What an update tells, checked."""
    from google.protobuf.json_format import MessageToDict

    if update.game != game:
        raise KnowledgeError(f"The update is about '{update.game[:80]}', the graph about '{game}'.")
    values = _whole(MessageToDict(update.details))
    if update.kind == STRATEGY:
        uses = values.pop("uses", list(update.subjects))
        if not isinstance(uses, Mapping | list):
            raise KnowledgeError("The update's 'uses' are no parts.")
        known = {name: value for name, value in values.items() if name in Strategy.__dataclass_fields__}
        known |= {"games": int(update.observations), "share": update.strength}
        name = update.relation or " and ".join(names.name(key) for key in update.subjects)
        return strategy_from(names, name, uses, **known)
    if update.kind == PAIR:
        if update.relation not in ("", SYNERGY, *RELATIONS):
            raise KnowledgeError(f"The update's relation is '{update.relation[:80]}'; expected {SYNERGY}.")
        fields = ("low", "high", "channel", "evidence", "order", "command")
        known = {name: values[name] for name in fields if name in values}
        return synergy_from(names, list(update.subjects), update.strength, samples=int(update.observations), **known)
    raise KnowledgeError(f"The update's kind is '{update.kind[:80]}'; expected {STRATEGY} or {PAIR}.")


def _checked(kind: Any, values: Mapping[str, Any]) -> Any:
    try:
        return TypeAdapter(kind).validate_python(dict(values))
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise KnowledgeError(f"What was to be stored is wrong at '{place}': {first['msg']}.") from None


def _slug(name: str) -> str:
    """
    >>> _slug("Baron and Mime: Kings held")
    'baron_and_mime_kings_held'
    """
    return re.sub(r"[\W_]+", "_", name.casefold()).strip("_")[:100] or "strategy"


def _plain(values: Any) -> Any:
    """Values that a Struct can hold: what it cannot is left out."""
    if isinstance(values, Mapping):
        return {str(name): _plain(value) for name, value in values.items()}
    if isinstance(values, list | tuple):
        return [_plain(value) for value in values]
    return values if isinstance(values, str | bool | int | float | None) else str(values)


def _whole(values: Any) -> Any:
    """Whole numbers come out of a Struct as floats."""
    if isinstance(values, dict):
        return {name: _whole(value) for name, value in values.items()}
    if isinstance(values, list):
        return [_whole(value) for value in values]
    return int(values) if isinstance(values, float) and math.isfinite(values) and values == int(values) else values
