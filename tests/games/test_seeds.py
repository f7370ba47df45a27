"""Seed banks: fixed for ever, disjoint, and never trained on."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from jimbot.errors import UnknownNameError, UsageError
from jimbot.games import seeds


def test_banks_are_the_same_for_ever() -> None:
    """If this fails, agents of earlier versions may have trained on what now judges them: change the code back."""
    assert seeds.bank_seeds("held-out", 8).tolist() == [42, 96, 250, 257, 465, 530, 607, 674]
    assert seeds.bank_seeds("validation", 8).tolist() == [75, 124, 174, 200, 305, 471, 484, 510]
    assert seeds.bank_seeds("train", 4).tolist() == [0, 1, 2, 3]
    assert seeds.bank_seeds("held-out", 2, start=2**63).tolist() == [9223372036854776207, 9223372036854776263]
    assert seeds.residue(*seeds.split([0, 1, 2, 2**32, 2**64 - 1])).tolist() == [89, 7, 26, 0, 54]


def test_every_seed_is_in_exactly_one_bank() -> None:
    upto = 30_000
    lists = [seeds.bank_seeds(bank, upto, start=0) for bank in seeds.BANKS]
    members = [set(found[found < upto].tolist()) for found in lists]
    assert sum(map(len, members)) == upto
    assert set().union(*members) == set(range(upto))
    for bank, found in zip(seeds.BANKS, members, strict=True):
        assert {seeds.bank_of(seed) for seed in sorted(found)[:50]} == {bank}
    held_out, validation, _ = (len(found) / upto for found in members)
    assert held_out == pytest.approx(0.01, abs=0.003)
    assert validation == pytest.approx(0.01, abs=0.003)


def test_bank_lists_continue_each_other() -> None:
    first = seeds.bank_seeds("held-out", 40)
    rest = seeds.bank_seeds("held-out", 10, start=int(first[29]) + 1)
    assert rest.tolist() == first[30:].tolist()


def test_train_seeds_are_never_judging_seeds() -> None:
    drawn = seeds.train_seeds(np.random.default_rng(5), 200_000)
    assert drawn.dtype == np.uint64
    assert (seeds.residue(*seeds.split(drawn)) >= seeds.FIRST_TRAIN_RESIDUE).all()
    assert len(np.unique(drawn)) == len(drawn)


def test_jax_and_numpy_agree_on_the_bank() -> None:
    high, low = seeds.split(np.random.default_rng(0).integers(0, 2**64, 10_000, dtype=np.uint64))
    assert np.array_equal(seeds.residue(high, low), np.asarray(seeds.residue(jnp.asarray(high), jnp.asarray(low))))


def test_halves_join_to_the_same_seed() -> None:
    wide = np.array([0, 1, 2**32 - 1, 2**32, 2**64 - 1], np.uint64)
    assert np.array_equal(seeds.join(*seeds.split(wide)), wide)


def test_scrambling_loses_nothing_and_spreads_every_bit() -> None:
    words = np.arange(100_000, dtype=np.uint32)
    mixed = seeds.mix32(words)
    assert len(np.unique(mixed)) == len(words)
    flipped = np.unpackbits((mixed[:, None] ^ seeds.mix32(words[:, None] ^ np.uint32(1))).view(np.uint8), axis=1)
    assert np.abs(flipped.mean(axis=0) - 0.5).max() < 0.02


def test_an_unknown_bank_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'held-out'"):
        seeds.bank_seeds("heldout", 3)


@pytest.mark.parametrize("count", [0, -4, 10**10])
def test_no_negative_and_absurd_counts_are_refused(count: int) -> None:
    with pytest.raises(UsageError, match=f"{count:,} games"):
        seeds.bank_seeds("train", count)
