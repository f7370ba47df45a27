"""Worked examples: jokers that act around rounds, in the shop, when sold, or by being there.

See `joker_examples.py` for how to read a row.
"""

import pytest

from jimbot.games.balatro.rules.chance.pools import exists
from jimbot.games.balatro.rules.content import CONSUMABLES
from jimbot.games.balatro.rules.shop.prices import consumable_price
from jimbot.games.balatro.rules.state import FIRST_CONSUMABLE_KEY
from tests.games.balatro.joker_examples import Example, examples

PLUTO, FOOL = CONSUMABLES.id("c_pluto"), CONSUMABLES.id("c_fool")


def stones(table):
    return sum("m_stone" in card for card in table.owned)


def shop(table):
    return table.to_shop().set(money=50)


BLIND_SELECTED = examples(
    ("j_burglar", "hands", lambda t: t.act("select").g.hands_left, 4, 7, 10),
    ("j_burglar", "discards", lambda t: t.act("select").g.discards_left, 4, 0, 0),
    ("j_riff_raff", "jokers held", lambda t: len(t.act("select").jokers), 1, 3, 5),
    ("j_cartomancer", "Tarots", lambda t: len(t.act("select").consumables), 0, 1, 2),
    ("j_marble", "Stone Cards owned", lambda t: stones(t.act("select")), 0, 1, 2),
    ("j_certificate", "cards in hand", lambda t: t.act("select").g.hand_count, 8, 9, 10),
    ("j_ceremonial", "its Mult after eating an Egg", lambda t: t.others("j_egg").act("select").value, 0, 4, 4),
    ("j_madness", "its X Mult at a Small Blind", lambda t: t.others("j_egg", "j_egg").act("select").value, 1, 1.5, 1.5),
    ("j_madness", "jokers left at a Small Blind", lambda t: len(t.others("j_egg").act("select").jokers), 2, 1, 2),
    ("j_chicot", "the boss is disabled", lambda t: bool(t.boss("bl_wall").act("select").g.blind_disabled),
     False, True, True),
)  # fmt: skip

END_OF_ROUND = examples(
    ("j_popcorn", "its Mult after a round", lambda t: t.win().value, 20, 16, 16),
    ("j_turtle_bean", "hand size after a round", lambda t: t.win().g.hand_size, 8, 12, 12),
    ("j_egg", "sell value gained", lambda t: t.win().g.joker_extra_value[t.me], 0, 3, 3),
    ("j_gift", "sell value gained", lambda t: t.win().g.joker_extra_value[t.me], 0, 1, 1),
    ("j_rocket", "its dollars after a boss", lambda t: t.win(boss=True).value, 1, 3, 3),
    ("j_campfire", "its X Mult after a boss", lambda t: t.set(value=2.5).win(boss=True).value, 2.5, 1, 1),
    ("j_campfire", "its X Mult after a Small Blind", lambda t: t.set(value=2.5).win().value, 2.5, 2.5, 2.5),
    ("j_hit_the_road", "its X Mult after a round", lambda t: t.set(value=2.5).win().value, 2.5, 1, 1),
    ("j_invisible", "its rounds after a round", lambda t: t.win().g.joker_counter[t.me], 0, 1, 1),
    ("j_gros_michel", "jokers left with three Oops! All 6s",
     lambda t: len(t.others("j_oops", "j_oops", "j_oops").win().jokers), 4, 3, 4),
    ("j_mr_bones", "phase after a quarter of the requirement",
     lambda t: t.act("select").set(hands_left=1, score=75.0).act("play", cards=[0]).phase,
     "game_over", "round_eval", "round_eval"),
)  # fmt: skip

PAYOUT = examples(
    ("j_golden", "its payout", lambda t: t.win().payout, 0, 4, 4),
    ("j_delayed_grat", "its payout with four discards left", lambda t: t.win().payout, 0, 8, 8),
    ("j_cloud_9", "its payout with four 9s", lambda t: t.win().payout, 0, 4, 4),
    ("j_rocket", "its payout for a Small Blind", lambda t: t.win().payout, 0, 1, 1),
    ("j_rocket", "its payout for a boss", lambda t: t.win(boss=True).payout, 0, 3, 3),
    ("j_satellite", "its payout after three Planets", lambda t: t.set(planets_used=0b111).win().payout, 0, 3, 3),
    ("j_to_the_moon", "interest on $25", lambda t: t.set(money=25).win().g.payout_part[4], 5, 10, 10),
)  # fmt: skip

SHOP = examples(
    ("j_chaos", "free rerolls in a shop", lambda t: shop(t).g.free_rerolls, 0, 1, 1),
    ("j_credit_card", "a reroll is possible with nothing", lambda t: shop(t).set(money=0).allows("reroll"),
     False, True, True),
    ("j_credit_card", "a reroll is possible at -$16", lambda t: shop(t).set(money=-16).allows("reroll"), *[False] * 3),
    ("j_astronomer", "price of Pluto", lambda t: int(consumable_price(t.g, PLUTO, 0)), 3, 0, 0),
    ("j_ring_master", "a held Fool is taken",
     lambda t: t.consumable("c_fool") >= 0 and bool(exists(t.g, FIRST_CONSUMABLE_KEY + FOOL)), True, False, False),
    ("j_flash", "its Mult after a reroll", lambda t: shop(t).act("reroll").value, 0, 2, 2),
    ("j_red_card", "its Mult after skipping a pack", lambda t: shop(t).act("open").act("skip_pack").value, 0, 3, 3),
    ("j_hallucination", "Tarots from a pack, certain with Oops! All 6s",
     lambda t: len(shop(t.others("j_oops")).act("open").consumables), 0, 1, 2),
    ("j_perkeo", "consumables after leaving with one",
     lambda t: t.consumable("c_fool") >= 0 and len(shop(t).act("next").consumables), 1, 2, 3),
    ("j_constellation", "its X Mult after a Planet", lambda t: t.use("c_pluto").value, 1, 1.1, 1.1),
    ("j_fortune_teller", "Mult of a Pair after two Tarots",
     lambda t: t.use("c_hermit").use("c_hermit").play("S_9 H_9").mult, 2, 4, 6),
    ("j_throwback", "Mult of a Pair after a skip", lambda t: t.act("skip").play("S_9 H_9").mult, 2, 2.5, 3.125),
)  # fmt: skip

CARDS_COME_AND_GO = examples(
    ("j_hologram", "its X Mult after Cryptid", lambda t: t.act("select").use("c_cryptid", 0).value, 1, 1.5, 1.5),
    ("j_glass", "its X Mult after a hanged Glass Card",
     lambda t: t.act("select").hand("S_9+m_glass S_2 S_3").use("c_hanged_man", 0).value, 1, 1.75, 1.75),
    ("j_glass", "its X Mult after an immolated Glass Card",
     lambda t: t.act("select").hand("S_9+m_glass S_2 S_3").use("c_immolate").value, 1, 1, 1),
    ("j_caino", "its X Mult after a hanged King",
     lambda t: t.act("select").hand("S_K S_2 S_3").use("c_hanged_man", 0).value, 1, 2, 2),
)  # fmt: skip

SOLD = examples(  # the joker in place 0 is sold: the joker itself, or the Blueprint that copies it
    ("j_luchador", "the boss is disabled",
     lambda t: bool(t.boss("bl_wall").act("select").act("sell_joker", 0).g.blind_disabled), False, True, True),
    ("j_diet_cola", "tags", lambda t: t.act("sell_joker", 0).tags, [], *[["tag_double"]] * 2),
    ("j_invisible", "jokers beside Joker after two rounds",
     lambda t: t.others("j_joker").set(counter=2).act("sell_joker", 0).jokers,
     ["j_joker"], ["j_joker", "j_joker"], ["j_invisible", "j_joker"]),
    ("j_campfire", "its X Mult after a consumable is sold",
     lambda t: t.consumable("c_fool") >= 0 and t.act("sell_consumable", 0).value, 1, 1.25, 1.25),
)  # fmt: skip

BY_BEING_THERE = examples(
    ("j_juggler", "hand size", lambda t: t.g.hand_size, 8, 9, 9),
    ("j_turtle_bean", "hand size", lambda t: t.g.hand_size, 8, 13, 13),
    ("j_stuntman", "hand size", lambda t: t.g.hand_size, 8, 6, 6),
    ("j_drunkard", "discards in a round", lambda t: t.act("select").g.discards_left, 4, 5, 5),
    ("j_merry_andy", "hand size", lambda t: t.g.hand_size, 8, 7, 7),
    ("j_merry_andy", "discards in a round", lambda t: t.act("select").g.discards_left, 4, 7, 7),
    ("j_troubadour", "hand size", lambda t: t.g.hand_size, 8, 10, 10),
    ("j_troubadour", "hands in a round", lambda t: t.act("select").g.hands_left, 4, 3, 3),
)  # fmt: skip

EXAMPLES = [*BLIND_SELECTED, *END_OF_ROUND, *PAYOUT, *SHOP, *CARDS_COME_AND_GO, *SOLD, *BY_BEING_THERE]


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_worked_example(example: Example):
    assert example.watched() == example.expected
