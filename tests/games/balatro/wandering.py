"""Random legal play, and re-dealing what the player cannot know."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jimbot.games.balatro.rules.state import CARD_FACE_DOWN, FACE_DOWN
from tests.games.balatro.playing import Run

_CARD_FIELDS = (
    "card_rank", "card_suit", "card_first_suit", "card_enhancement", "card_edition", "card_seal", "card_extra_chips",
)  # fmt: skip
_JOKER_FIELDS = (
    "joker_id", "joker_edition", "joker_flags", "joker_perish", "joker_extra_value", "joker_serial", "joker_value",
    "joker_counter",
)  # fmt: skip
BETWEEN_ROUNDS = (
    ("buy", 4), ("redeem", 1), ("open", 2), ("reroll", 1), ("next", 1), ("next", 1), ("pick", 5), ("skip_pack", 1),
    ("cash_out", 1), ("select", 1), ("select", 1), ("skip", 1), ("use", 2), ("buy_and_use", 4), ("reroll_boss", 1),
)  # fmt: skip


def _step(run: Run, random: np.random.Generator) -> None:
    if run.phase == "selecting_hand":
        forced = [place for place in range(run.g.hand_count) if run.g.card_flags[run.g.hand[place]] & 8]
        count = int(random.integers(1, 6))
        others = [int(place) for place in random.permutation(int(run.g.hand_count)) if place not in forced]
        cards = (forced + others)[:count] or [0]
        if not (random.random() < 0.4 and run.try_act("discard", cards=cards)):
            run.act("play", cards=cards)
        return
    for _ in range(200):
        name, count = BETWEEN_ROUNDS[random.integers(len(BETWEEN_ROUNDS))]
        cards = [int(place) for place in random.permutation(max(1, int(run.g.hand_count)))[: random.integers(0, 3)]]
        if run.try_act(name, int(random.integers(count)), cards if name in ("use", "pick", "buy_and_use") else ()):
            return
    raise AssertionError(f"nothing to do in {run.phase}")


def wander(run: Run, seed: int, steps: int) -> Iterator[Run]:
    """Plays on at random, every state of a game that has not ended; rich enough to see many antes."""
    random = np.random.default_rng(seed)
    for _ in range(steps):
        if run.phase in ("game_over", "won"):
            return
        yield run
        run.g.hands_left = max(int(run.g.hands_left), 2)  # a random player loses at once otherwise
        run.g.money = max(int(run.g.money), 15)
        if run.phase == "selecting_hand" and random.random() < 0.3:
            run.g.score = run.g.requirement
        _step(run, random)


def _permute(run: Run, fields: tuple[str, ...], slots: list[int], random: np.random.Generator) -> None:
    order = random.permutation(len(slots))
    for field in fields:
        values = [run.g[field][slot] for slot in slots]
        for place, slot in enumerate(slots):
            run.g[field][slot] = values[order[place]]


def redeal(run: Run, seed: int) -> None:
    """Deals all that is hidden again: unseen cards, face-down jokers, every stream of random numbers."""
    g, random = run.g, np.random.default_rng(seed)
    hidden = [slot for slot in run.slots if g.card_flags[slot] & CARD_FACE_DOWN]
    unseen = [int(slot) for slot in g.pile[: g.pile_count]] + hidden
    _permute(run, _CARD_FIELDS, unseen, random)
    g.card_flags[hidden] ^= random.choice([0, 1, 4, 5], len(hidden)).astype(np.uint8)  # debuffed, played this ante
    g.pile[: g.pile_count] = random.permutation(g.pile[: g.pile_count])
    _permute(run, _JOKER_FIELDS, [i for i in range(g.joker_count) if g.joker_flags[i] & FACE_DOWN], random)
    g.fixed_streams[:] = random.random(g.fixed_streams.shape)
    g.ante_streams[:] = random.random(g.ante_streams.shape)
    g.seed_hash[:] = random.random(g.seed_hash.shape)
    g.hashed_seed = random.random()
