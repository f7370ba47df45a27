"""One row per tag: gained by skipping the Small or the Big Blind, alone and doubled. Details are in `test_tags.py`.

The registry test fails when a tag has no row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jimbot.games.balatro.rules.content import BLINDS, EDITIONS, JOKER_RARITY, JOKERS, PACKS, TAGS
from jimbot.games.balatro.rules.state import FREE, OFFER_JOKER
from tests.games.balatro.playing import Run

Seen = Callable[[Run], Any]


def field(name: str) -> Seen:
    return lambda run: int(run.g[name])


def free_jokers(run: Run) -> list[tuple[int, str]]:
    """Rarity and edition of the free jokers of the next shop; rerolled until the tags are spent."""
    run.to_shop()
    found = []
    while True:
        for place in range(run.g.shop_count):
            if run.g.offer_flags[place] & FREE:
                assert run.g.offer_kind[place] == OFFER_JOKER
                run.g.money = 0
                assert run.allows("buy", place), "it costs nothing"
                rarity = int(JOKER_RARITY[run.g.offer_id[place]])
                found.append((rarity, EDITIONS.key(int(run.g.offer_edition[place])).removeprefix("e_")))
        if not run.tags:
            return found
        run.g.money = 100
        run.act("reroll")


def rarities(run: Run) -> list[int]:
    return [rarity for rarity, _ in free_jokers(run)]


def editions(run: Run) -> list[str]:
    return [edition for _, edition in free_jokers(run)]


def packs_opened(run: Run) -> list[str]:
    """Packs that open one after the other, each skipped."""
    out = []
    while run.phase == "pack":
        out.append(PACKS.name(int(run.g.pack_id)) + f" of {run.g.pack_count}")
        run.act("skip_pack")
    return out


def after_boss(run: Run) -> int:
    """What tags pay after a Small Blind or Big Blind, and after a boss."""
    run.act("select").win_round()
    assert run.g.payout_part[3] == 0
    run.act("cash_out").act("next").boss("bl_club").act("select").win_round()
    assert run.tags == []
    return int(run.g.payout_part[3])


def in_shops(reads: Seen) -> Seen:
    """A number in each of the next two shops."""

    def seen(run: Run) -> list[Any]:
        out = [reads(run.to_shop())]
        return [*out, reads(run.act("next").to_shop())]

    return seen


def reroll_price(run: Run) -> int:
    run.g.money = 50
    return 50 - run.act("reroll").money


def price_of_all(run: Run) -> bool:
    """Whether the cards and packs on display are free."""
    free = [bool(run.g.offer_flags[place] & FREE) for place in range(run.g.shop_count)]
    free += [bool(flag) for flag in run.g.booster_free[: run.g.booster_count]]
    return all(free) if free[0] else any(free)


def bosses_drawn(run: Run) -> int:
    return sum(int(uses) for uses in run.g.boss_uses[: len(BLINDS)])


def levels_gained(run: Run) -> tuple[int, int]:
    levels = [int(level) - 1 for level in run.g.hand_level]
    return max(levels), sum(levels)


def rounds_of(name: str) -> Seen:
    """A field in the next two rounds."""

    def seen(run: Run) -> list[int]:
        out = [int(run.act("select").g[name])]
        run.win_round().act("cash_out").act("next")
        return [*out, int(run.act("select").g[name])]

    return seen


def start() -> Run:
    run = Run()
    run.g.hands_played, run.g.unused_discards, run.g.money = 7, 9, 20
    return run


# tag → what is seen, with the tag, and with it doubled
ROWS: dict[str, tuple[Seen, Any, Any]] = {
    "tag_uncommon": (rarities, [2], [2, 2]),
    "tag_rare": (rarities, [3], [3, 3]),
    "tag_negative": (editions, ["negative"], ["negative", "negative"]),
    "tag_foil": (editions, ["foil"], ["foil", "foil"]),
    "tag_holo": (editions, ["holo"], ["holo", "holo"]),
    "tag_polychrome": (editions, ["polychrome"], ["polychrome", "polychrome"]),
    "tag_investment": (after_boss, 25, 50),
    "tag_voucher": (in_shops(field("voucher_count")), [2, 1], [3, 1]),
    "tag_boss": (bosses_drawn, 2, 3),
    "tag_standard": (packs_opened, ["Mega Standard Pack of 5"], ["Mega Standard Pack of 5"] * 2),
    "tag_charm": (packs_opened, ["Mega Arcana Pack of 5"], ["Mega Arcana Pack of 5"] * 2),
    "tag_meteor": (packs_opened, ["Mega Celestial Pack of 5"], ["Mega Celestial Pack of 5"] * 2),
    "tag_buffoon": (packs_opened, ["Mega Buffoon Pack of 4"], ["Mega Buffoon Pack of 4"] * 2),
    "tag_handy": (field("money"), 20 + 7, 20 + 7 + 7),
    "tag_garbage": (field("money"), 20 + 9, 20 + 9 + 9),
    "tag_ethereal": (packs_opened, ["Spectral Pack of 2"], ["Spectral Pack of 2"] * 2),
    "tag_coupon": (in_shops(price_of_all), [True, False], [True, True]),
    "tag_double": (lambda run: run.tags, ["tag_double"], ["tag_double", "tag_double"]),
    "tag_juggle": (rounds_of("hand_count"), [11, 8], [14, 8]),
    "tag_d_six": (in_shops(reroll_price), [0, 5], [0, 0]),
    "tag_top_up": (lambda run: len(run.jokers), 2, 4),
    "tag_skip": (field("money"), 20 + 5, 20 + 5 + 5),
    "tag_orbital": (levels_gained, (3, 3), (6, 6)),
    "tag_economy": (field("money"), 40, 80),
}


def gain(run: Run, key: str, big: bool = False) -> Run:
    """Skips a blind for the tag."""
    run.g.on_deck = int(big)
    run.g.blind_state[0], run.g.blind_state[int(big)] = 4, 1
    run.g.skip_tag[int(big)] = TAGS.id(key)
    return run.act("skip")


def test_every_tag_has_a_row():
    assert sorted(ROWS) == sorted(TAGS.keys)


@pytest.mark.parametrize("key", ROWS)
def test_what_is_seen_after_skipping_the_small_blind(key):
    seen, alone, _ = ROWS[key]
    assert seen(gain(start(), key)) == alone


@pytest.mark.parametrize("key", [key for key in ROWS if key not in ("tag_investment", "tag_juggle")])
def test_the_same_is_seen_after_skipping_the_big_blind(key):
    seen, alone, _ = ROWS[key]
    run = gain(start(), key, big=True)
    assert run.g.on_deck == 2 or run.phase == "pack"
    assert seen(run) == alone


@pytest.mark.parametrize("key", ROWS)
def test_what_is_seen_when_a_double_tag_was_held(key):
    seen, _, doubled = ROWS[key]
    run = start()
    run.tag("tag_double")
    run.g.joker_slots = 5
    assert seen(gain(run, key)) == doubled


# --- unusual orders ---


def test_three_double_tags_turn_an_economy_tag_into_four_one_after_the_other():
    run = start()
    for _ in range(3):
        run.tag("tag_double")
    run.g.money = 5
    assert gain(run, "tag_economy").money == 5 * 2 * 2 * 2 + 40


def test_top_up_twice_fills_no_more_than_the_slots():
    run = start()
    run.tag("tag_double")
    run.g.joker_slots = 3
    assert len(gain(run, "tag_top_up").jokers) == 3


def test_the_anaglyph_decks_double_tag_copies_the_tag_of_the_next_skip():
    run = Run(deck="b_anaglyph").boss("bl_club").act("select").win_round()
    assert run.tags == ["tag_double"]
    run.act("cash_out").act("next")
    money = run.money
    assert gain(run, "tag_skip").money == money + 5 + 5
    assert run.tags == []


def test_waiting_shop_tags_keep_their_order_of_gain():
    run = start()
    for key in ("tag_polychrome", "tag_foil", "tag_rare", "tag_uncommon"):
        run.tag(key)
    run.to_shop()
    assert [int(JOKER_RARITY[run.g.offer_id[place]]) for place in range(2)] == [3, 2]
    assert [int(edition) for edition in run.g.offer_edition[:2]] == [3, 1]
    assert run.tags == []


def test_a_boss_tag_gained_before_a_pack_tag_fires_first_and_one_gained_after_it_waits_for_the_pack():
    run = start()
    run.tag("tag_boss")
    before = int(run.g.boss)
    gain(run, "tag_charm")
    assert run.phase == "pack"
    assert run.g.boss != before
    run = start()
    run.tag("tag_charm")
    before = int(run.g.boss)
    gain(run, "tag_boss")
    assert run.phase == "pack"
    assert run.g.boss == before
    run.act("skip_pack")
    assert run.g.boss != before


def test_an_edition_tag_passes_over_jokers_with_an_edition_and_cards_that_are_no_jokers():
    run = start()
    run.tag("tag_negative")
    run.to_shop()
    changed = [place for place in range(2) if run.g.offer_edition[place] == 4]
    plain = [place for place in range(2) if run.g.offer_kind[place] == OFFER_JOKER and not run.g.offer_edition[place]]
    assert (len(changed) == 1 and run.tags == []) or (not plain and run.tags == ["tag_negative"])


def test_a_free_joker_sells_for_half_its_full_price():
    run = start()
    run.tag("tag_rare")
    run.to_shop()
    key = JOKERS.key(int(run.g.offer_id[0]))
    edition = int(run.g.offer_edition[0])
    money = run.act("buy", 0).money
    price = JOKERS.row(key)["cost"] + (0, 2, 3, 5, 5)[edition]
    assert run.act("sell_joker").money == money + price // 2


def test_a_voucher_tag_shows_another_voucher_even_when_the_antes_own_was_bought():
    run = start()
    run.tag("tag_voucher")
    run.g.ante_voucher = -1
    run.to_shop()
    assert run.g.voucher_count == 1
    run.g.money = 10
    run.act("redeem").act("next").to_shop()
    assert run.g.voucher_count == 0
