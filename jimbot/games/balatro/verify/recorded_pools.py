"""Recorded pools: the order of all content and the gates that decide what is available."""

from __future__ import annotations

from typing import Any

from jimbot.games.balatro.rules import content as c
from jimbot.games.verification import FileReport

_ANY_ORDER = ("never_eternal", "never_perishable")  # written as sets: the order says nothing


def simulated_pools() -> dict[str, Any]:
    """The simulator's own tables in the form of the recording."""
    bosses = [c.BLINDS.key(int(boss)) for boss in c.BOSS_ORDER]
    ordinary = [row for row in c.JOKERS if row["rarity"] < 4]
    return {
        "joker_pools": {
            str(rarity): [row["key"] for row in c.JOKERS if row["rarity"] == rarity] for rarity in range(1, 5)
        },
        **{
            kind: [row["key"] for row in c.CONSUMABLES if row["set"] == kind]
            for kind in ("Tarot", "Planet", "Spectral")
        },
        "Voucher": list(c.VOUCHERS.keys),
        "Enhanced": list(c.ENHANCEMENTS.keys),
        "Tag": [[row["key"], row["min_ante"]] for row in c.TAGS],
        "Booster": [[row["key"], row["weight"], row["cards"], row["picks"]] for row in c.PACKS],
        "fronts": list(c.FRONTS),
        "bosses": [[key, c.BLINDS.row(key)["min_ante"]] for key in bosses if not c.BLINDS.row(key)["showdown"]],
        "showdown_bosses": [key for key in bosses if c.BLINDS.row(key)["showdown"]],
        "voucher_requires": {row["key"]: row["requires"] for row in c.VOUCHERS if row["requires"]},
        "joker_enhancement_gate": _gates(c.JOKERS, "needs_enhancement"),
        "joker_flag_needed": _gates(c.JOKERS, "needs_flag"),
        "joker_flag_blocks": _gates(c.JOKERS, "blocked_by_flag"),
        "planet_needs_played_hand": {r["key"]: r["hand"] for r in c.CONSUMABLES if r.get("needs_hand_played")},
        "never_eternal": [row["key"] for row in ordinary if not row["eternal"]],
        "never_perishable": [row["key"] for row in ordinary if not row["perishable"]],
    }


def _gates(table: c.Table, name: str) -> dict[str, str]:
    return {row["key"]: row[name] for row in table if name in row}


def check_pools(recorded: dict[str, Any], report: FileReport) -> None:
    """Each list of the file is an entry."""
    report.unit = "lists"
    simulated = simulated_pools()
    report.only_known(recorded, simulated)
    for name in recorded:
        if name in simulated:
            with report.entry(name) as entry:
                order = sorted if name in _ANY_ORDER else lambda items: items
                entry.compare(name, order(recorded[name]), order(simulated[name]))
