"""The tables: complete, in the game's order, ids and keys both ways (recorded pools: `test_verify.py`)."""

import ast

import numpy as np
import pytest

from jimbot.errors import UnknownNameError
from jimbot.games.balatro.compiling.kernels import PACKAGE
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


# Fractions in the rules that are no facts of the game's content: formulas and rounding.
FORMULAS = {
    "antes.py": {0.2, 0.75, 1.6, 10.0},  # requirements beyond ante 8
    "definitions.py": {0.5},  # The Flint rounds half up
    "prices.py": {0.5},  # prices likewise
}


def test_odds_and_factors_are_in_the_tables_and_not_in_the_rules():
    """A fraction in a rule is a chance or a factor of the game, and these belong to `tables/`."""
    for path in (PACKAGE / "rules").rglob("*.py"):
        if path.name != "rng.py":  # the number generator itself
            constants = [node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)]
            fractions = {value for value in constants if isinstance(value, float)} - {0.0, 1.0}
            assert fractions == FORMULAS.get(path.name, set()), path.name


def test_every_rate_is_read_by_a_rule():
    """A number nobody reads is a second copy of one that stands elsewhere."""
    sources = "".join(path.read_text() for path in (PACKAGE / "rules").rglob("*.py"))
    for name in c.RATES:
        assert f'RATES["{name}"]' in sources, name


def test_tags_name_the_pack_and_the_edition_they_give():
    assert {c.TAGS.key(tag): c.PACKS.key(int(pack)) for tag, pack in enumerate(c.TAG_PACK) if pack >= 0} == {
        "tag_standard": "p_standard_mega_1",
        "tag_charm": "p_arcana_mega_1",
        "tag_meteor": "p_celestial_mega_1",
        "tag_buffoon": "p_buffoon_mega_1",
        "tag_ethereal": "p_spectral_normal_1",
    }
    assert [int(c.TAG_EDITION[c.TAGS.id(f"tag_{name}")]) for name in ("foil", "holo", "polychrome", "negative")] == [
        c.FOIL, c.HOLOGRAPHIC, c.POLYCHROME, c.NEGATIVE,
    ]  # fmt: skip
    assert np.count_nonzero(c.TAG_EDITION) == 4
