"""Decks, stakes and challenges at the start of a run, and the choice of bosses."""

from collections import Counter

import numpy as np
import pytest

from jimbot.games.balatro.rules import antes, run_start
from jimbot.games.balatro.rules import content as c
from jimbot.games.balatro.rules.chance import streams
from jimbot.games.balatro.rules.content import BLINDS, CHALLENGES, CONSUMABLES, DECKS, JOKERS, RATES, VOUCHERS
from jimbot.games.balatro.rules.state import BYTES_PER_GAME, ETERNAL, GAME_DTYPE, PINNED, new_games


def start(deck: str = "b_red", stake: int = 1, challenge: str = "", seed: str = "TESTSEED"):
    g = new_games(1)[0]
    g.seed, g.seed_length = streams.seed_bytes(seed)
    g.deck, g.stake = DECKS.id(deck), stake
    g.challenge = CHALLENGES.id(challenge) if challenge else 0
    run_start.start_run(g)
    return g


def owned(g) -> list[str]:
    return [VOUCHERS.key(index) for index in np.flatnonzero(g.voucher_owned)]


def suits(g) -> Counter:
    return Counter(int(g.card_suit[slot]) for slot in g.cards[: g.card_count])


# deck → (money, hands, discards, hand size, joker slots, consumable slots, cards)
PLAIN = (4, 4, 3, 8, 5, 2, 52)
DECK_STARTS = {
    "b_red": (4, 4, 4, 8, 5, 2, 52),
    "b_blue": (4, 5, 3, 8, 5, 2, 52),
    "b_yellow": (14, 4, 3, 8, 5, 2, 52),
    "b_green": PLAIN,
    "b_black": (4, 3, 3, 8, 6, 2, 52),
    "b_magic": (4, 4, 3, 8, 5, 3, 52),
    "b_nebula": (4, 4, 3, 8, 5, 1, 52),
    "b_ghost": PLAIN,
    "b_abandoned": (4, 4, 3, 8, 5, 2, 40),
    "b_checkered": PLAIN,
    "b_zodiac": PLAIN,
    "b_painted": (4, 4, 3, 10, 4, 2, 52),
    "b_anaglyph": PLAIN,
    "b_plasma": PLAIN,
    "b_erratic": PLAIN,
}


@pytest.mark.parametrize("deck", DECKS.keys)
def test_each_deck_starts_with_its_own_numbers(deck):
    g = start(deck)
    got = (g.money, g.hands_per_round, g.discards_per_round, g.hand_size, g.joker_slots, g.consumable_slots)
    assert (*map(int, got), int(g.card_count)) == DECK_STARTS[deck]
    assert g.starting_deck_size == g.card_count == g.pile_count


def test_decks_with_vouchers_and_consumables_start_with_them():
    magic, nebula, ghost, zodiac = (start(deck) for deck in ("b_magic", "b_nebula", "b_ghost", "b_zodiac"))
    assert owned(magic) == ["v_crystal_ball"]
    assert [CONSUMABLES.key(i) for i in magic.consumable_id[: magic.consumable_count]] == ["c_fool", "c_fool"]
    assert owned(nebula) == ["v_telescope"]
    assert [CONSUMABLES.key(i) for i in ghost.consumable_id[: ghost.consumable_count]] == ["c_hex"]
    assert ghost.shop_weight.tolist() == [20, 4, 4, 0, 2]
    assert owned(zodiac) == ["v_overstock_norm", "v_tarot_merchant", "v_planet_merchant"]
    assert zodiac.shop_weight.tolist() == [20, 9.6, 9.6, 0, 0]
    assert zodiac.shop_slots == 3


def test_a_decks_own_voucher_is_never_the_first_one_on_sale():
    for number in range(200):
        assert start("b_magic", seed=streams.seed_text(number)).ante_voucher != VOUCHERS.id("v_crystal_ball")


def test_checkered_deck_is_half_spades_half_hearts_and_keeps_first_suits_for_sorting():
    g = start("b_checkered")
    assert suits(g) == {0: 26, 1: 26}
    assert sorted(Counter(g.card_first_suit[:52].tolist()).values()) == [13, 13, 13, 13]


def test_erratic_deck_is_created_in_code_order_and_may_repeat_cards():
    g = start("b_erratic")
    codes = [c.card_code(int(g.card_rank[s]), int(g.card_suit[s])) for s in g.cards[:52]]
    assert codes == sorted(codes)
    assert len(set(codes)) < 52


@pytest.mark.parametrize(
    ("stake", "discards", "small_blind_of_ante_2"),
    [(1, 3, 800), (2, 3, 800), (3, 3, 900), (4, 3, 900), (5, 2, 900), (6, 2, 1000), (7, 2, 1000), (8, 2, 1000)],
)
def test_each_stake_has_its_discards_and_score_table(stake, discards, small_blind_of_ante_2):
    g = start("b_blue", stake)
    g.ante = 2
    assert g.discards_per_round == discards
    assert antes.requirement_of(g, c.SMALL_BLIND) == small_blind_of_ante_2
    assert antes.requirement_of(g, c.BIG_BLIND) == 1.5 * small_blind_of_ante_2


def test_plasma_deck_doubles_the_requirement():
    g = start("b_plasma")
    assert antes.requirement_of(g, BLINDS.id("bl_wall")) == 300 * 4 * 2


@pytest.mark.parametrize("scaling", [1, 2, 3])
def test_requirements_beyond_ante_8_equal_the_known_table(scaling):
    known = RATES["blind_base"][str(scaling)]
    assert [antes.base_requirement(int(ante), scaling) for ante in known] == list(known.values())
    assert antes.base_requirement(-1, scaling) == 100
    assert antes.base_requirement(200, scaling) == np.inf


def test_bosses_do_not_repeat_until_all_eligible_ones_were_used():
    g = start()
    seen = [int(g.boss)]
    for ante in range(2, 8):
        g.ante = ante
        antes.draw_boss(g)
        seen.append(int(g.boss))
    assert len(set(seen)) == 7
    assert all(c.BLIND_MIN_ANTE[boss] <= ante for ante, boss in enumerate(seen, 1))
    g.ante = 8
    finals = []
    for _ in range(10):
        antes.draw_boss(g)
        finals.append(int(g.boss))
    assert sorted(finals[:5]) == sorted(finals[5:]) == np.flatnonzero(c.BLIND_SHOWDOWN).tolist()


@pytest.mark.parametrize("challenge", CHALLENGES.keys)
def test_each_challenge_starts_with_its_jokers_cards_and_values(challenge):
    row = CHALLENGES.row(challenge)
    g = start("b_green", 1, challenge)
    assert [JOKERS.key(j) for j in g.joker_id[: g.joker_count]] == [joker["id"] for joker in row["jokers"]]
    for place, joker in enumerate(row["jokers"]):
        assert bool(g.joker_flags[place] & ETERNAL) == joker.get("eternal", False)
        assert bool(g.joker_flags[place] & PINNED) == joker.get("pinned", False)
    assert owned(g) == sorted(row["vouchers"], key=VOUCHERS.id)
    assert [CONSUMABLES.key(i) for i in g.consumable_id[: g.consumable_count]] == row["consumables"]
    assert g.card_count == (52 if isinstance(row["deck"], str) else len(row["deck"]))
    negative = sum(joker.get("edition") == "negative" for joker in row["jokers"])
    assert g.joker_slots == row["modifiers"].get("joker_slots", 5) + negative
    assert g.money == row["modifiers"].get("dollars", 4)


def test_challenges_never_draw_what_they_ban():
    for number in range(40):
        g = start("b_green", 1, "c_mad_world_1", streams.seed_text(number))
        for ante in range(1, 30):
            g.ante = ante
            antes.draw_boss(g)
            assert BLINDS.key(int(g.boss)) != "bl_plant"


def test_medusa_starts_with_twelve_stone_cards_that_are_never_targets():
    g = start("b_green", 1, "c_medusa_1")
    assert g.enhancement_count[c.STONE] == 12
    for _ in range(60):
        antes.draw_targets(g)
        assert g.idol_rank not in (11, 12, 13)
        assert g.mail_rank not in (11, 12, 13)


def test_a_record_is_plain_bytes_within_the_memory_bar():
    assert BYTES_PER_GAME <= 16 * 1024
    assert not GAME_DTYPE.hasobject
    g = start()
    copied = np.frombuffer(g.tobytes(), GAME_DTYPE)[0]
    assert copied == g
