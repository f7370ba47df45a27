"""One row per challenge: its own rule seen in play; and all of them played at random, their rules and bans holding.

The registry test fails when a challenge has no row. Start values are in `test_setup.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from jimbot.games.balatro.rules import challenges as ch
from jimbot.games.balatro.rules import content, state
from tests.games.balatro.playing import Run
from tests.games.balatro.roaming import diverse, help_along, new_game
from tests.games.balatro.worked import offer, open_pack, rerolled, sell_a_voucher

Seen = Callable[[Run], Any]


def payout_parts(run: Run) -> list[int]:
    """Blind, hands left, jokers, tags, interest of a round won by its first hand with 22 dollars."""
    run.act("select")
    run.g.money = 22
    return [int(part) for part in run.win_round().g.payout_part]


def rewards(run: Run) -> list[int]:
    """What Small Blind, Big Blind and boss pay."""
    out = []
    for _ in range(3):
        if run.g.on_deck == 2:
            run.boss("bl_club")
        out.append(int(run.act("select").win_round().g.payout_part[0]))
        run.act("cash_out").act("next")
    return out


def faces_and_low_cards(run: Run) -> tuple[int, int]:
    count = Counter(card[2] for card in run.owned)
    return count["J"] + count["Q"] + count["K"], count["A"] + count["2"] + count["3"]


def capped_score(run: Run) -> float:
    """A pair of Kings with 7 dollars: 30 chips become 7."""
    run.act("select").hand("S_K H_K C_2 C_3")
    run.g.money = 7
    run.act("play", cards=[0, 1])
    return float(run.s.score)


def dagger(run: Run) -> tuple[list[str], list[str]]:
    """Jokers after an attempt to move the dagger, and once a blind is selected."""
    run.joker("j_egg")
    run.act("move_joker", 1, to=0)
    return run.jokers, run.act("select").jokers


def face_down_share(run: Run) -> float:
    return sum(len(Run(f"XRAY{i}", challenge="c_xray_1").act("select").face_down) for i in range(1, 25)) / (24 * 8)


def cards_dealt(run: Run) -> list[int]:
    """Cards dealt with 4, 12 and -3 dollars."""
    out = []
    for money in (4, 12, -3):
        again = Run(challenge="c_luxury_1")
        again.g.money = money
        out.append(int(again.act("select").g.hand_count))
    return out


def sticker_of_shop_jokers(run: Run) -> bool:
    """Whether every joker that can be Eternal comes so, in shops and from Judgement."""
    run.to_shop().use("c_judgement")
    eternal = [bool(run.g.joker_flags[0] & state.ETERNAL) == bool(content.JOKER_CAN_BE_ETERNAL[run.g.joker_id[0]])]
    for _ in range(20):
        run.g.money = 1000
        run.act("reroll")
        for place in range(run.g.shop_count):
            if run.g.offer_kind[place] == state.OFFER_JOKER:
                can_be = bool(content.JOKER_CAN_BE_ETERNAL[run.g.offer_id[place]])
                eternal.append(bool(run.g.offer_flags[place] & state.ETERNAL) == can_be)
    return all(eternal)


def stays_debuffed(run: Run) -> list[bool]:
    """A scored card after its hand, and in the next round."""
    slot = run.act("select").slots[0]
    out = [bool(run.act("play", cards=[0]).g.card_flags[slot] & 1)]
    run.win_round().act("cash_out").act("next").act("select")
    return [*out, bool(run.g.card_flags[slot] & 1)]


def after_ante_4(run: Run) -> tuple[bool, int]:
    run.joker("j_joker")
    run.g.ante = 4
    run.boss("bl_club").act("select").win_round()
    return bool(run.g.joker_flags[0] & state.ETERNAL), int(run.g.joker_slots)


def inflated_prices(run: Run) -> list[int]:
    """What Jolly Joker (3 dollars) costs at first, then after each kind of spending."""
    run.to_shop()
    out = [price_of_jolly(run)]
    run.act("reroll")  # no purchase
    out.append(price_of_jolly(run))
    offer(run, 0, "c_pluto")
    run.act("buy_and_use", 0)
    out.append(price_of_jolly(run))
    sell_a_voucher(run, "v_blank")
    run.act("redeem")
    out.append(price_of_jolly(run))
    open_pack(run, "p_celestial_normal_1")
    run.act("skip_pack")
    out.append(price_of_jolly(run))
    run.act("next")
    run.g.skip_tag[1] = content.TAGS.id("tag_charm")
    run.act("skip").act("skip_pack").to_shop()
    return [*out, price_of_jolly(run)]


def price_of_jolly(run: Run) -> int:
    run.g.money = 1000
    before = run.g.copy()
    offer(run, 0, "j_jolly")
    price = 1000 - run.act("buy", 0).money
    run._games[0] = before
    return price


def kinds_in_shop(run: Run) -> tuple[bool, bool]:
    """Whether 60 rerolls show jokers, and playing cards."""
    cards = rerolled(run.to_shop(), 60)
    return any(key.startswith("j_") for key, *_ in cards), any(key[1] == "_" and key[0] in "SHCD" for key, *_ in cards)


def glass_left(run: Run) -> tuple[int, int]:
    """Glass Cards at the start, and cards left after one was played: two Oops! make its breaking certain."""
    glass = sum(card.endswith("+m_glass") for card in run.owned)
    return glass, len(run.act("select").act("play", cards=[0]).owned)


def in_round(*names: str) -> Seen:
    def seen(run: Run) -> tuple[int, ...]:
        run.act("select")
        return tuple(int(run.g[name]) for name in names)

    return seen


def no_buffoon_packs(run: Run) -> bool:
    run.to_shop()
    packs = {int(pack) for pack in run.g.booster_id[:2]}
    for _ in range(6):
        run.act("next").to_shop()
        packs |= {int(pack) for pack in run.g.booster_id[:2]}
    return all(content.PACK_KINDS[content.PACK_KIND[pack]] != "Buffoon" for pack in packs)


# challenge → what is looked at, and what is seen
ROWS: dict[str, tuple[Seen, Any]] = {
    "c_omelette_1": (payout_parts, [0, 0, 0, 0, 0]),
    "c_city_1": (faces_and_low_cards, (24, 0)),
    "c_rich_1": (capped_score, 7 * 2),
    "c_knife_1": (dagger, (["j_ceremonial", "j_egg"], ["j_ceremonial"])),
    "c_xray_1": (face_down_share, pytest.approx(0.25, abs=0.1)),
    "c_mad_world_1": (payout_parts, [3, 0, 0, 0, 0]),
    "c_luxury_1": (cards_dealt, [10, 8, 11]),
    "c_non_perishable_1": (sticker_of_shop_jokers, True),
    "c_medusa_1": (lambda run: sum(card.endswith("+m_stone") for card in run.owned), 12),
    "c_double_nothing_1": (stays_debuffed, [True, True]),
    "c_typecast_1": (after_ante_4, (True, 0)),
    "c_inflation_1": (inflated_prices, [3, 3, 4, 5, 6, 7]),
    "c_bram_poker_1": (kinds_in_shop, (False, True)),
    "c_fragile_1": (glass_left, (52, 51)),
    "c_monolith_1": (in_round("card_count", "joker_slots"), (53, 6)),
    "c_blast_off_1": (in_round("hands_left", "discards_left", "joker_slots"), (2, 2, 4)),
    "c_five_card_1": (in_round("hand_count", "discards_left", "joker_slots"), (5, 6, 7)),
    "c_golden_needle_1": (lambda run: run.act("select").act("discard", cards=[0]).money, 9),
    "c_cruelty_1": (rewards, [0, 0, 5]),
    "c_jokerless_1": (no_buffoon_packs, True),
}


def test_every_challenge_has_a_row():
    assert sorted(ROWS) == sorted(content.CHALLENGES.keys)


@pytest.mark.parametrize("challenge", ROWS)
def test_its_own_rule(challenge):
    seen, expected = ROWS[challenge]
    assert seen(Run(challenge=challenge)) == expected


def test_in_typecast_even_a_negative_joker_cannot_be_bought_once_the_slots_are_gone():
    run = Run(challenge="c_typecast_1").to_shop()
    run.joker("j_joker")
    run.g.joker_slots, run.g.money = 0, 100
    offer(run, 0, "j_jolly", edition=4)
    assert not run.allows("buy", 0)
    run.g.joker_slots = 1
    assert run.act("buy", 0).g.joker_slots == 2


def test_golden_needle_leaves_one_hand_and_a_jokerless_run_no_slot():
    assert Run(challenge="c_golden_needle_1").act("select").g.hands_left == 1
    run = Run(challenge="c_jokerless_1")
    assert not run.can_use("c_judgement")
    assert kinds_in_shop(run) == (False, False)


# --- played at random ---


def banned_things(g: Any, c: int) -> list[str]:
    """Everything banned that a game shows or holds."""
    out = [content.JOKERS.key(int(i)) for i in g.joker_id[: g.joker_count] if ch.BANNED_JOKER[c, i]]
    out += ["consumable" for i in g.consumable_id[: g.consumable_count] if ch.BANNED_CONSUMABLE[c, i]]
    for place in range(len(g.offer_kind)):
        if g.offer_kind[place] == state.OFFER_JOKER and ch.BANNED_JOKER[c, g.offer_id[place]]:
            out.append("offered joker")
        if g.offer_kind[place] == state.OFFER_CONSUMABLE and ch.BANNED_CONSUMABLE[c, g.offer_id[place]]:
            out.append("offered consumable")
    out += ["voucher" for i in g.shop_voucher[: g.voucher_count] if ch.BANNED_VOUCHER[c, i]]
    out += [content.PACKS.key(int(i)) for i in g.booster_id[: g.booster_count] if ch.BANNED_PACK[c, i]]
    out += [content.TAGS.key(int(i)) for i in (*g.skip_tag, *g.tag_id[: g.tag_count]) if ch.BANNED_TAG[c, i]]
    out += [content.BLINDS.key(int(g.boss))] if ch.BANNED_BLIND[c, g.boss] else []
    return out


def broken_rules(g: Any, c: int) -> list[str]:
    """Custom rules a game does not keep."""
    out = []
    if g.phase == state.ROUND_EVAL:
        no_reward = (ch.NO_REWARD_SMALL, ch.NO_REWARD_BIG, ch.NO_REWARD_BOSS)[g.on_deck]
        out += ["reward"] if no_reward[c] and g.payout_part[0] else []
        out += ["hand money"] if ch.NO_EXTRA_HAND_MONEY[c] and g.payout_part[1] else []
        out += ["interest"] if ch.NO_INTEREST[c] and g.payout_part[4] else []
    if ch.NO_SHOP_JOKERS[c]:
        shown = [place for place in range(g.shop_count) if g.offer_kind[place] == state.OFFER_JOKER]
        out += ["shop joker"] if any(not g.offer_flags[place] & state.FREE for place in shown) else []
    if ch.ALL_ETERNAL[c]:
        held = [
            g.joker_flags[i] & state.ETERNAL or not content.JOKER_CAN_BE_ETERNAL[g.joker_id[i]]
            for i in range(g.joker_count)
        ]
        out += ["eternal"] if not all(held) else []
    for joker in content.CHALLENGES.rows[c - 1]["jokers"]:
        if joker.get("eternal") and content.JOKERS.id(joker["id"]) not in g.joker_id[: g.joker_count]:
            out.append(f"{joker['id']} is gone")
        if joker.get("pinned") and not g.joker_flags[0] & state.PINNED:
            out.append("pinned joker moved")
    out += ["prices"] if g.inflation and not ch.INFLATION[c] else []
    return out


@pytest.mark.parametrize("challenge", content.CHALLENGES.keys)
def test_random_play_over_several_antes_keeps_its_rules_and_bans(challenge):
    c = content.CHALLENGES.id(challenge)
    game = new_game(16, seed=c, challenge=challenge)
    rng = np.random.default_rng(c)
    highest = 0
    for step in range(400):
        help_along(rng, game, odds=0.5)
        if ch.DOLLARS_PER_LOST_HAND_SIZE[c]:  # the rich hold no cards and lose
            np.minimum(game.games["money"], 20, out=game.games["money"])
            game.look()
        game.step(diverse(rng, game))
        highest = max(highest, int(game.games["ante"].max()))
        for g in game.games[step % 16 :: 8]:
            assert banned_things(g, c) == []
            assert broken_rules(g, c) == []
    assert not game.faults()
    game.close()
    assert highest >= 4
