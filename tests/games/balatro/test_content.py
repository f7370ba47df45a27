"""The tables: complete, in the game's order, ids and keys both ways (recorded pools: `test_verify.py`)."""

import numpy as np
import pytest

from jimbot.errors import UnknownNameError
from jimbot.games.balatro.rules import content as c

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
