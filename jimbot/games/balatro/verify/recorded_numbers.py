"""Recorded random numbers (equal to the last bit, or wrong) and pools: the order of all content and its gates."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jimbot.errors import UnknownNameError
from jimbot.games.balatro.rules import content as c
from jimbot.games.balatro.rules.chance import rng, streams
from jimbot.games.balatro.rules.state import new_games
from jimbot.games.verification import Entry, FileReport

NAN_ROLL = 0.9924925569828447  # what every draw of a stream whose hash is NaN gives


def start_streams(seed: str, ante: int = 1) -> Any:
    """A record with nothing but its random streams."""
    g = new_games(1)[0]
    g.seed, g.seed_length = streams.seed_bytes(seed)
    g.ante = ante
    streams.start_streams(g)
    return g


def _bits(entry: Entry, where: str, recorded: str, simulated: float) -> None:
    """Compares a hexadecimal float (or "nan") bit for bit."""
    entry.values += 1
    expected = float(recorded) if recorded == "nan" else float.fromhex(recorded)
    if expected != simulated and not (math.isnan(expected) and math.isnan(simulated)):
        entry.differ(where, recorded, float(simulated).hex())


def _decimal(entry: Entry, recorded: dict[str, Any], simulated: float) -> None:
    if "dec" in recorded and recorded["dec"] != "nan":
        entry.exact("dec", float(recorded["dec"]), float(simulated))


def _check_pseudohash(entry: Entry, recorded: dict[str, Any]) -> None:
    entry.only_known("", recorded, ("s", "hex", "dec"))
    value = rng.hash_text(recorded["s"])
    _bits(entry, "hex", recorded["hex"], value)
    _decimal(entry, recorded, value)


def _draws_by_text(seed: str, key: str) -> Iterator[tuple[float, float]]:
    """(state after the use, value) of each use of a stream, from its text as the game has it; for any key."""
    hashed, state = rng.hash_text(seed), rng.hash_text(key + seed)
    while True:
        state = rng.advance_state(state)
        yield state, (state + hashed) / 2


def _draws(seed: str, key: str) -> Iterator[float]:
    """The values of a stream as the simulator draws them: by number; by text for a key only the recording has."""
    try:
        stream, ante, redraw = streams.split_key(key)
    except UnknownNameError:
        yield from (value for _, value in _draws_by_text(seed, key))
        return
    g = start_streams(seed, ante)
    while True:
        yield streams.draw_again(g, stream, redraw) if redraw else streams.draw(g, stream)


def _check_pseudoseed(entry: Entry, recorded: dict[str, Any]) -> None:
    """By text as the game does it, and by number as the simulator does it."""
    entry.only_known("", recorded, ("seed", "key", "hashed_seed", "init", "state", "pseudoseed", "first_random"))
    seed, key = recorded["seed"], recorded["key"]
    _bits(entry, "hashed_seed", recorded["hashed_seed"], rng.hash_text(seed))
    _bits(entry, "init", recorded["init"], rng.hash_text(key + seed))
    uses = zip(recorded["state"], recorded["pseudoseed"], recorded["first_random"], strict=True)
    drawn = zip(_draws_by_text(seed, key), _draws(seed, key), strict=False)
    for use, ((after, value, first), ((state, by_text), by_number)) in enumerate(zip(uses, drawn, strict=False)):
        _bits(entry, f"state[{use}]", after, state)
        _bits(entry, f"pseudoseed[{use}]", value, by_text)
        _bits(entry, f"pseudoseed[{use}]", value, by_number)
        _bits(entry, f"first_random[{use}]", first, rng.first_double(by_number))


def _words(words: Any) -> tuple[np.uint64, ...]:
    return tuple(np.uint64(word) for word in words)


def _check_prng(entry: Entry, recorded: dict[str, Any]) -> None:
    entry.only_known("", recorded, ("seed", "state_after_warmup", "u64", "double", "ints_1_to_n"))
    start = float.fromhex(recorded["seed"]["hex"])
    _decimal(entry, recorded["seed"], start)
    words = warm = rng.generator(start)
    for place, word in enumerate(recorded["state_after_warmup"]):
        entry.exact(f"state_after_warmup[{place}]", word, f"{int(words[place]):016x}")
    for place, (output, double) in enumerate(zip(recorded["u64"], recorded["double"], strict=True)):
        words = rng.generator_step(*_words(words))
        value = int(words[0]) ^ int(words[1]) ^ int(words[2]) ^ int(words[3])
        entry.exact(f"u64[{place}]", output, f"{value:016x}")
        _bits(entry, f"double[{place}]", double, rng.to_double(*_words(words)))
    words = warm
    for place, (count, number) in enumerate(recorded["ints_1_to_n"]):
        words = rng.generator_step(*_words(words))
        entry.exact(f"ints_1_to_n[{place}]", number, int(rng.to_index(rng.to_double(*_words(words)), count)) + 1)


def _check_round13(entry: Entry, recorded: list[str]) -> None:
    value, expected = recorded
    _bits(entry, value, expected, rng.round13(float.fromhex(value)))


def _check_shuffle(entry: Entry, recorded: dict[str, Any]) -> None:
    entry.only_known("", recorded, ("seed", "key", "n", "perm"))
    items = np.arange(recorded["n"])
    rng.shuffle(items, recorded["n"], next(_draws(recorded["seed"], recorded["key"])))
    entry.compare("perm", recorded["perm"], items.tolist())


def _check_element(entry: Entry, recorded: dict[str, Any]) -> None:
    entry.only_known("", recorded, ("seed", "key", "n", "index0"))
    drawn = itertools.islice(_draws(recorded["seed"], recorded["key"]), len(recorded["index0"]))
    picks = [int(rng.to_index(rng.first_double(value), recorded["n"])) for value in drawn]
    entry.compare("index0", recorded["index0"], picks)


def _check_nan_stream(entry: Entry, recorded: dict[str, Any]) -> None:
    entry.only_known("", recorded, ("seed", "key"))
    entry.compare("hash", "nan", float(rng.hash_text(recorded["key"] + recorded["seed"])))
    for use, value in enumerate(itertools.islice(_draws(recorded["seed"], recorded["key"]), 3)):
        entry.exact(f"draw[{use}]", NAN_ROLL, float(rng.first_double(value)))


_CHECKS: dict[str, Callable[[Entry, Any], None]] = {
    "pseudohash": _check_pseudohash,
    "pseudoseed": _check_pseudoseed,
    "prng": _check_prng,
    "round13": _check_round13,
    "shuffle": _check_shuffle,
    "element": _check_element,
    "nan_streams": _check_nan_stream,
}


def check_rng_units(recorded: dict[str, Any], report: FileReport) -> None:
    """Each item of each list is an entry."""
    report.unit = "vectors"
    report.only_known(recorded, _CHECKS)
    for name, items in recorded.items():
        if name not in _CHECKS:
            continue
        for number, item in enumerate(items):
            seed = item.get("seed", "") if isinstance(item, dict) else ""
            with report.entry(f"{name} {number}", seed if isinstance(seed, str) else "") as entry:
                _CHECKS[name](entry, item)


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


def _gates(table: c.ContentTable, name: str) -> dict[str, str]:
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
