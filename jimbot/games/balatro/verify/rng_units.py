"""Recorded random numbers: equal to the last bit, or wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jimbot.errors import UnknownNameError
from jimbot.games.balatro import rng, streams
from jimbot.games.balatro.state import new_games
from jimbot.games.balatro.verify.report import Entry, FileReport

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


def _check_pseudoseed(entry: Entry, recorded: dict[str, Any]) -> None:
    """By text as the game does it, and by number as the simulator does it."""
    entry.only_known("", recorded, ("seed", "key", "hashed_seed", "init", "state", "pseudoseed", "first_random"))
    seed, key = recorded["seed"], recorded["key"]
    hashed, state = rng.hash_text(seed), rng.hash_text(key + seed)
    _bits(entry, "hashed_seed", recorded["hashed_seed"], hashed)
    _bits(entry, "init", recorded["init"], state)
    by_number = _numbered_draws(seed, key)
    for use, (after, value, first) in enumerate(
        zip(recorded["state"], recorded["pseudoseed"], recorded["first_random"], strict=True)
    ):
        state = rng.advance_state(state)
        _bits(entry, f"state[{use}]", after, state)
        _bits(entry, f"pseudoseed[{use}]", value, (state + hashed) / 2)
        drawn = (state + hashed) / 2 if by_number is None else by_number()
        _bits(entry, f"pseudoseed[{use}]", value, drawn)
        _bits(entry, f"first_random[{use}]", first, rng.first_double(drawn))


def _numbered_draws(seed: str, key: str) -> Callable[[], float] | None:
    """Draws from the simulator's own stream of this key; None for a key that exists in the recording only."""
    try:
        stream, ante, redraw = streams.split_key(key)
    except UnknownNameError:
        return None
    g = start_streams(seed, ante)
    return lambda: streams.draw_again(g, stream, redraw) if redraw else streams.draw(g, stream)


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
    stream, ante, _ = streams.split_key(recorded["key"])
    items = np.arange(recorded["n"])
    streams.shuffle(start_streams(recorded["seed"], ante), stream, items, recorded["n"])
    entry.compare("perm", recorded["perm"], items.tolist())


def _check_element(entry: Entry, recorded: dict[str, Any]) -> None:
    """These keys exist in the recording only, so the stream is walked by text."""
    entry.only_known("", recorded, ("seed", "key", "n", "index0"))
    hashed, state = rng.hash_text(recorded["seed"]), rng.hash_text(recorded["key"] + recorded["seed"])
    picks = []
    for _ in recorded["index0"]:
        state = rng.advance_state(state)
        picks.append(int(rng.to_index(rng.first_double((state + hashed) / 2), recorded["n"])))
    entry.compare("index0", recorded["index0"], picks)


def _check_nan_stream(entry: Entry, recorded: dict[str, Any]) -> None:
    entry.only_known("", recorded, ("seed", "key"))
    stream, ante, _ = streams.split_key(recorded["key"])
    g = start_streams(recorded["seed"], ante)
    entry.compare("hash", "nan", float(rng.hash_text(recorded["key"] + recorded["seed"])))
    for draw in range(3):
        entry.exact(f"draw[{draw}]", NAN_ROLL, float(streams.roll(g, stream)))


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
