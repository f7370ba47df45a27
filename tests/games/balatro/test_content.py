"""The tables: complete, in the game's order, ids and keys both ways, equal to the recorded pools."""

import json
from pathlib import Path

import numpy as np
import pytest

from jimbot.errors import UnknownNameError
from jimbot.games.balatro import content as c

POOLS = json.loads((Path(__file__).parents[2] / "golden" / "balatro" / "pools.json").read_text())
TABLES = {
    150: c.JOKERS, 52: c.CONSUMABLES, 32: c.VOUCHERS, 24: c.TAGS, 30: c.BLINDS, 15: c.DECKS, 8: c.STAKES,
    12: c.HANDS, 5: c.EDITIONS, 4: c.SEALS, 20: c.CHALLENGES,
}  # fmt: skip


@pytest.mark.parametrize(("count", "table"), [*TABLES.items(), (32, c.PACKS), (8, c.ENHANCEMENTS)])
def test_every_id_and_key_finds_the_other(count, table):
    assert len(table) == count
    for identifier in range(table.first, table.size):
        assert table.id(table.key(identifier)) == identifier
        assert table.name(identifier)


def test_unknown_keys_and_ids_name_the_nearest_one():
    with pytest.raises(UnknownNameError, match=r"Unknown joker 'j_blueprnt'\. Did you mean 'j_blueprint'"):
        c.JOKERS.id("j_blueprnt")
    with pytest.raises(UnknownNameError, match="Unknown enhancement '0'"):
        c.ENHANCEMENTS.key(0)


def test_the_order_of_all_pools_equals_the_recorded_pools():
    by_rarity = {str(rarity): [row["key"] for row in c.JOKERS if row["rarity"] == rarity] for rarity in (1, 2, 3, 4)}
    assert by_rarity == POOLS["joker_pools"]
    for kind in ("Tarot", "Planet", "Spectral"):
        assert [row["key"] for row in c.CONSUMABLES if row["set"] == kind] == POOLS[kind]
    assert list(c.VOUCHERS.keys) == POOLS["Voucher"]
    assert list(c.ENHANCEMENTS.keys) == POOLS["Enhanced"]
    assert [[row["key"], row["min_ante"]] for row in c.TAGS] == POOLS["Tag"]
    assert [[row["key"], row["weight"], row["cards"], row["picks"]] for row in c.PACKS] == POOLS["Booster"]
    assert list(c.FRONTS) == POOLS["fronts"]
    bosses = [c.BLINDS.key(boss) for boss in c.BOSS_ORDER]
    assert [[key, c.BLINDS.row(key)["min_ante"]] for key in bosses if not c.BLINDS.row(key)["showdown"]] == POOLS[
        "bosses"
    ]
    assert [key for key in bosses if c.BLINDS.row(key)["showdown"]] == POOLS["showdown_bosses"]


def test_the_gates_of_all_pools_equal_the_recorded_gates():
    requires = {row["key"]: row["requires"] for row in c.VOUCHERS if row["requires"]}
    assert requires == POOLS["voucher_requires"]
    gates = {row["key"]: row["needs_enhancement"] for row in c.JOKERS if "needs_enhancement" in row}
    assert gates == POOLS["joker_enhancement_gate"]
    assert {r["key"]: r["needs_flag"] for r in c.JOKERS if "needs_flag" in r} == POOLS["joker_flag_needed"]
    assert {r["key"]: r["blocked_by_flag"] for r in c.JOKERS if "blocked_by_flag" in r} == POOLS["joker_flag_blocks"]
    secret = {r["key"]: r["hand"] for r in c.CONSUMABLES if r.get("needs_hand_played")}
    assert secret == POOLS["planet_needs_played_hand"]
    ordinary = [row for row in c.JOKERS if row["rarity"] < 4]
    assert sorted(r["key"] for r in ordinary if not r["eternal"]) == sorted(POOLS["never_eternal"])
    assert sorted(r["key"] for r in ordinary if not r["perishable"]) == sorted(POOLS["never_perishable"])


def test_challenges_name_only_known_content():
    for row in c.CHALLENGES:
        for joker in row["jokers"]:
            assert joker["id"] in c.JOKERS
        for key in row["banned_cards"]:
            assert any(key in table for table in (c.JOKERS, c.CONSUMABLES, c.VOUCHERS, c.PACKS)), key
        assert all(key in c.TAGS for key in row["banned_tags"])
        assert all(key in c.BLINDS for key in row["banned_blinds"])


def test_playing_cards_read_and_write_their_codes():
    assert [c.card_code(int(r), int(s)) for r, s in zip(c.FRONT_RANK, c.FRONT_SUIT, strict=True)] == list(c.FRONTS)
    with pytest.raises(UnknownNameError, match="playing card"):
        c.parse_card("X_2")


def test_every_planet_belongs_to_one_poker_hand():
    planets = c.PLANET_HAND[c.FIRST_PLANET : c.FIRST_SPECTRAL]
    assert sorted(planets.tolist()) == list(range(12))
    assert np.array_equal(c.PLANET_HAND[c.HAND_PLANET], np.arange(12))
