"""Single facts of recorded real games, in words; `test_verify.py` compares the recordings in full."""

import json
from pathlib import Path

from jimbot.games.balatro.rules import run_start
from jimbot.games.balatro.rules.chance import streams
from jimbot.games.balatro.rules.content import (
    BLINDS,
    DECKS,
    STAKES,
    TAGS,
    card_code,
)
from jimbot.games.balatro.rules.playing_cards import cards
from jimbot.games.balatro.rules.state import new_games
from jimbot.games.balatro.seeds import finding

FOLDER = Path(__file__).parents[2] / "golden" / "balatro"
REAL = json.loads((FOLDER / "real_game.json").read_text())


def start(seed: str, deck: str = "b_red", stake: str = "stake_white"):
    g = new_games(1)[0]
    g.seed, g.seed_length = streams.seed_bytes(seed)
    g.deck, g.stake = DECKS.id(deck), STAKES.id(stake)
    run_start.start_run(g)
    return g


def codes(g, slots) -> list[str]:
    return [card_code(int(g.card_rank[slot]), int(g.card_suit[slot])) for slot in slots]


def pile(g) -> list[str]:
    return codes(g, g.pile[: g.pile_count])


def as_dicts(items) -> list[dict]:
    return [item.as_dict() for item in items]


def test_first_hand_of_the_recorded_seven_letter_seed():
    run = next(run for run in REAL["runs"] if run["seed"] == "BBBBBBB")
    g = start("BBBBBBB")
    cards.shuffle_pile(g, streams.stream_id("nr{ante}"))
    assert sorted(pile(g)[-8:]) == run["opening_hands"][0]["hand"]


def test_second_ante_of_the_recorded_game_4wax5m4d():
    run = next(run for run in REAL["runs"] if run["seed"] == "4WAX5M4D")
    ante = finding.preview("4WAX5M4D", antes=2).antes[1]
    assert BLINDS.row(ante.boss)["name"] == run["antes"]["2"]["boss"]
    assert [TAGS.row(tag)["name"] for tag in ante.tags] == run["antes"]["2"]["tags"]
    # What the player owned then blocked nothing that was drawn, so the queue is what was seen.
    assert ante.voucher == run["shops"][0]["voucher"][0]
    assert as_dicts(ante.shop[:2]) == [{"key": "j_swashbuckler"}, {"key": "j_faceless", "edition": "foil"}]
    assert [pack.key for pack in ante.packs[:2]] == run["shops"][0]["packs"]
    # In the second shop a Showman was bought before the picture was taken; the tag had made it Negative.
    assert as_dicts(ante.shop[2:4]) == [{"key": "j_ring_master"}, {"key": "j_wily"}]
    assert [pack.key for pack in ante.packs[2:4]] == run["shops"][2]["packs"]
    g = start("4WAX5M4D")
    g.ante = 2
    cards.shuffle_pile(g, streams.stream_id("nr{ante}"))
    assert sorted(pile(g)[-8:]) == run["opening_hands"][0]["hand"]


def test_bosses_tags_and_first_hand_of_the_recorded_game_u4cvjvie():
    antes = finding.preview("U4CVJVIE", deck="b_abandoned", stake="stake_red").antes
    bosses = ["Goad", "Window", "Hook", "Head", "Needle", "House", "Club", "Verdant Leaf"]
    assert [BLINDS.row(ante.boss)["name"].removeprefix("The ") for ante in antes] == bosses
    tags = [
        "Juggle/Economy", "D6/Uncommon", "Voucher/Charm", "Speed/Coupon", "Handy/Orbital", "Foil/Economy",
        "Meteor/Standard", "Polychrome/Handy",
    ]  # fmt: skip
    assert ["/".join(TAGS.row(tag)["name"].removesuffix(" Tag") for tag in ante.tags) for ante in antes] == tags
    g = start("U4CVJVIE", "b_abandoned", "stake_red")
    cards.shuffle_pile(g, streams.stream_id("nr{ante}"))
    assert sorted(pile(g)[-8:]) == sorted(["D_A", "S_T", "S_9", "C_9", "D_9", "C_8", "C_6", "C_5"])


def test_to_do_list_draws_of_the_recorded_game_u4cvjvie():
    from jimbot.games.balatro.rules.chance.create import pick_visible_hand
    from jimbot.games.balatro.rules.content import HANDS

    g = start("U4CVJVIE", "b_abandoned", "stake_red")
    expected = [
        "High Card",
        "Three of a Kind",
        "Four of a Kind",
        "Full House",
        "High Card",
        "Straight",
        "Flush",
        "Straight Flush",
        "Flush",
        "Four of a Kind",
        "Straight",
        "Pair",
        "Two Pair",
    ]
    current, got = -1, []
    for _ in expected:
        current = pick_visible_hand(g, streams.stream_id("to_do"), current)
        got.append(HANDS.key(int(current)))
    assert got == expected
    assert HANDS.key(int(pick_visible_hand(g, streams.stream_id("to_do"), -1))) == "Two Pair"


def test_erratic_deck_of_the_known_odd_seed_is_fifty_two_tens_of_spades():
    g = start("7LB2WVPK", "b_erratic")
    assert codes(g, g.cards[: g.card_count]) == ["S_T"] * 52


def test_a_cashout_shuffle_of_the_recorded_game_with_removed_and_added_cards():
    """`cashout2` third use and `cashout3` first use, 41 cards (serials 13..52 and 76 as the recording numbers them)."""
    g = start("U4CVJVIE")
    for slot in range(12):
        cards.remove_card(g, slot)
    cards.add_card(g, 2, 0, 0, 0, 0, 75, 1)
    serials = []
    for ante, uses in ((2, 3), (3, 1)):
        g.ante = ante
        for _ in range(uses):
            cards.shuffle_pile(g, streams.stream_id("cashout{ante}"))
        serials.append([int(g.card_serial[slot]) + 1 for slot in g.pile[: g.pile_count]])
    assert serials[0][-8:] == [39, 20, 31, 46, 76, 43, 33, 18]
    assert serials[1][-16:] == [16, 30, 19, 48, 13, 15, 20, 37, 50, 46, 18, 23, 44, 52, 49, 38]
