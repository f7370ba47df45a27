"""What is known of a game beyond its last state, carried into a record that was put together from the next one.

`known` is our record after the same moves with luck of its own: what it counts is right, what it drew is not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from jimbot.games.balatro.live import dialects as d
from jimbot.games.balatro.live.shown import Shown
from jimbot.games.balatro.rules import decisions as k
from jimbot.games.balatro.rules.state import (
    CARD_DEBUFFED_FOR_GOOD,
    CARD_PLAYED_THIS_ANTE,
    IN_DISCARD,
    PACK,
    PERISHABLE,
    PINNED,
    SELECTING_HAND,
)
from jimbot.games.balatro.view.move_text import Move

_ALWAYS = (
    "steps", "reorderings", "skips", "best_hand", "unused_discards", "tarots_used", "planets_used", "ectoplasm_uses",
    "michel_extinct", "last_hand", "sort_by_suit", "boss_uses", "boss_rerolled", "orbital_ante", "orbital_hand",
    "idol_rank", "idol_suit", "mail_rank", "ancient_suit", "castle_suit", "hands_per_round", "discards_per_round",
    "saved_by_bones", "payout", "payout_part", "ante_voucher", "inflation",
)  # fmt: skip
_IN_ROUND = ("blind_disabled", "requirement", "blind_took_hands", "blind_took_discards", "blind_triggered",
             "blind_primed", "eye_used", "mouth_hand")  # fmt: skip
_LUCK = {"targets", "tag_hands", "joker_values", "deck", "payout", "helpers"}
"""What the moves alone do not tell."""
_SETTLED: dict[int, set[str]] = {
    k.SELECT: {"disabled", "free_rerolls"},
    k.PLAY: {"last_hand"},
    k.OPEN: {"open_pack"},
    k.SKIP: {"open_pack"},
}
"""What a move makes known again."""


def carry(known: Any, record: Any, shown: Shown) -> None:
    """Completes a record by what is known."""
    for name in _ALWAYS:
        record[name] = known[name]
    if shown.fool is None:
        record["last_tarot_planet"] = known["last_tarot_planet"]
    if shown.most_played is None:
        record["most_played_hand"] = known["most_played_hand"]
    if shown.tags is None:
        for name in ("tag_count", "tag_id", "tag_hand"):
            record[name] = known[name]
    same_phase = known["phase"] == record["phase"]
    if same_phase and record["phase"] == SELECTING_HAND:
        for name in _IN_ROUND:
            record[name] = known[name]
        limit = int(record["hand_size"]) + int(record["round_hand_size"])
        record["round_hand_size"] = known["round_hand_size"]
        record["hand_size"] = limit - int(known["round_hand_size"])
    if same_phase and record["phase"] == PACK and shown.state == d.PACK:
        record["pack_id"], record["pack_picks"] = known["pack_id"], known["pack_picks"]
    if shown.in_shop:
        for name in ("free_rerolls", "d6_shop", "reroll_increase", "reroll_rebate"):
            record[name] = known[name]
    _carry_jokers(known, record)
    _carry_cards(known, record, shown)


def _carry_jokers(known: Any, record: Any) -> None:
    """Each joker's own figures; the n-th of a kind is the n-th of that kind."""
    places: dict[int, list[int]] = defaultdict(list)
    for place in range(known["joker_count"]):
        places[int(known["joker_id"][place])].append(place)
    for place in range(record["joker_count"]):
        found = places[int(record["joker_id"][place])]
        if found:
            source = found.pop(0)
            for name in ("joker_value", "joker_counter"):
                record[name][place] = known[name][source]
            record["joker_flags"][place] |= known["joker_flags"][source] & (PERISHABLE | PINNED)


def _look(g: Any, slot: int) -> tuple[int, ...]:
    return tuple(int(g[f"card_{name}"][slot]) for name in ("rank", "suit", "enhancement", "edition", "seal"))


def _carry_cards(known: Any, record: Any, shown: Shown) -> None:
    """What cards carry unseen, and those that lie in no area: played and discarded ones."""
    slots: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for slot in known["cards"][: known["card_count"]].tolist():
        slots[_look(known, slot)].append(slot)
    for slot in record["cards"][: record["card_count"]].tolist():
        found = slots[_look(record, slot)]
        if found:
            source = found.pop(0)
            record["card_extra_chips"][slot] = known["card_extra_chips"][source]
            record["card_first_suit"][slot] = known["card_first_suit"][source]
            kept = known["card_flags"][source] & (CARD_PLAYED_THIS_ANTE | CARD_DEBUFFED_FOR_GOOD)
            record["card_flags"][slot] |= kept
    missing = shown.deck_size - int(record["card_count"])
    for source in sorted(slot for left in slots.values() for slot in left)[: max(0, missing)]:
        _lay_away(known, source, record)


def _lay_away(known: Any, source: int, record: Any) -> None:
    slot = int(record["card_count"])
    for name in ("rank", "suit", "first_suit", "enhancement", "edition", "seal", "flags", "extra_chips"):
        record[f"card_{name}"][slot] = known[f"card_{name}"][source]
    record["card_serial"][slot], record["cards"][slot] = record["next_serial"], slot
    record["card_place"][slot] = IN_DISCARD
    record["enhancement_count"][record["card_enhancement"][slot]] += 1
    record["next_serial"] += 1
    record["card_count"] += 1


def forget(unknown: Iterable[str], moves: Sequence[Move]) -> set[str]:
    """What is still unknown after some moves."""
    settled = set().union(*(_SETTLED.get(move.kind, set()) for move in moves)) if moves else set()
    return set(unknown) - settled


def still_unknown(assumed: set[str], before: set[str]) -> set[str]:
    """What a record put together and completed does not know."""
    return {name for name in assumed if name in _LUCK or name in before}
