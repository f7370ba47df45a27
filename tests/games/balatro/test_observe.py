"""The observation: every column follows the game, nothing hidden reaches it, every number is finite."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jimbot.games.balatro.encoding import fields
from jimbot.games.balatro.encoding.fields import COLUMNS, FIELDS, OBSERVATION, WIDTH
from jimbot.games.balatro.encoding.scaling import LARGEST
from jimbot.games.balatro.rules.content import BLINDS, CONSUMABLES, HANDS, JOKERS, TAGS, VOUCHERS
from jimbot.games.balatro.rules.state import (
    CARD_DEBUFFED,
    CARD_FACE_DOWN,
    CARD_FORCED,
    CARD_PLAYED_THIS_ANTE,
    DEBUFFED,
    ETERNAL,
    FACE_DOWN,
    FIRST_PACK_OFFER,
    GRABBED_CONSUMABLE,
    GRABBED_HAND_CARD,
    GRABBED_JOKER,
    OFFER_CARD,
    PERISHABLE,
    PINNED,
    RENTAL,
    SHOP,
)
from tests.games.balatro.playing import Run
from tests.games.balatro.wandering import redeal, wander

Change = Callable[[Run], Any]


def view(run: Run, name: str, helpers: bool = False) -> np.ndarray:
    return OBSERVATION.view(run.look(helpers), name)


def in_round() -> Run:
    run = Run()
    run.joker("j_joker")
    run.joker("j_blueprint")
    run.joker("j_ice_cream")
    run.consumable("c_fool")
    return run.act("select")


def in_shop() -> Run:
    run = Run()
    run.g.money = 100
    return run.to_shop()


def in_pack() -> Run:
    return in_shop().act("open", 0)


def choosing() -> Run:
    return Run()


def paid() -> Run:
    return Run().act("select").win_round()


# --- what changes which column ---


def put(**values: Any) -> Change:
    """Sets fields of the game; (place, value) for one entry of an array."""

    def change(run: Run) -> None:
        for name, value in values.items():
            if isinstance(value, tuple):
                run.g[name][value[0]] = value[1]
            else:
                setattr(run.g, name, value)

    return change


def card(**values: int) -> Change:
    """Sets fields of the first hand card."""

    def change(run: Run) -> None:
        for name, value in values.items():
            run.g[f"card_{name}"][run.slots[0]] = value

    return change


def pile_card(**values: int) -> Change:
    def change(run: Run) -> None:
        for name, value in values.items():
            run.g[f"card_{name}"][run.g.pile[0]] = value

    return change


def boss_up(name: str, **values: Any) -> Change:
    return put(blind=BLINDS.id(name), **values)


ORBITAL = TAGS.id("tag_orbital")
CHANGES: dict[str, tuple[Callable[[], Run], Change]] = {
    "phase": (in_round, put(phase=SHOP)),
    "hand_card": (in_round, card(rank=3)),
    "hand_enhancement": (in_round, card(enhancement=2)),
    "hand_edition": (in_round, card(edition=2)),
    "hand_seal": (in_round, card(seal=2)),
    "hand.present": (in_round, put(hand_count=5)),
    "hand.face_down": (in_round, card(flags=CARD_FACE_DOWN)),
    "hand.debuffed": (in_round, card(flags=CARD_DEBUFFED)),
    "hand.selected": (in_round, put(selected=5)),
    "hand.forced": (in_round, card(flags=CARD_FORCED)),
    "hand.played_this_ante": (in_round, card(flags=CARD_PLAYED_THIS_ANTE)),
    "hand.extra_chips": (in_round, card(extra_chips=15)),
    "hand.grabbed": (in_round, put(grabbed=GRABBED_HAND_CARD, grabbed_index=2)),
    "joker_id": (in_round, put(joker_id=(0, 7))),
    "joker_edition": (in_round, put(joker_edition=(0, 2))),
    "joker_copies": (in_round, put(joker_count=2)),
    "jokers.present": (in_round, put(joker_count=1)),
    "jokers.face_down": (in_round, put(joker_flags=(0, FACE_DOWN))),
    "jokers.debuffed": (in_round, put(joker_flags=(0, DEBUFFED))),
    "jokers.eternal": (in_round, put(joker_flags=(0, ETERNAL))),
    "jokers.perishable": (in_round, put(joker_flags=(0, PERISHABLE))),
    "jokers.rental": (in_round, put(joker_flags=(0, RENTAL))),
    "jokers.pinned": (in_round, put(joker_flags=(0, PINNED))),
    "jokers.rounds_left": (in_round, put(joker_perish=(0, 3))),
    "jokers.value": (in_round, put(joker_value=(2, 1.25))),
    "jokers.counter": (in_round, put(joker_counter=(0, 3))),
    "jokers.sell_value": (in_round, put(joker_extra_value=(0, 9))),
    "jokers.grabbed": (in_round, put(grabbed=GRABBED_JOKER, grabbed_index=1)),
    "consumable_id": (in_round, put(consumable_id=(0, 5))),
    "consumables.present": (in_round, put(consumable_count=0)),
    "consumables.negative": (in_round, put(consumable_edition=(0, 4))),
    "consumables.sell_value": (in_round, put(consumable_extra_value=(0, 9))),
    "consumables.grabbed": (in_round, put(grabbed=GRABBED_CONSUMABLE, grabbed_index=0)),
    "shop_item": (in_shop, put(offer_id=(0, 3))),
    "shop_enhancement": (in_shop, put(offer_kind=(0, OFFER_CARD), offer_id=(0, 5), offer_enhancement=(0, 3))),
    "shop_edition": (in_shop, put(offer_edition=(0, 3))),
    "shop_seal": (in_shop, put(offer_kind=(0, OFFER_CARD), offer_id=(0, 5), offer_seal=(0, 3))),
    "shop.present": (in_shop, put(shop_count=1)),
    "shop.price": (in_shop, put(discount_percent=50)),
    "shop.affordable": (in_shop, put(money=0)),
    "shop.room": (in_shop, put(joker_slots=0, consumable_slots=0)),
    "shop.eternal": (in_shop, put(offer_flags=(0, ETERNAL))),
    "shop.perishable": (in_shop, put(offer_flags=(0, PERISHABLE))),
    "shop.rental": (in_shop, put(offer_flags=(0, RENTAL))),
    "open_pack": (in_pack, put(pack_id=0)),
    "pack_item": (in_pack, put(offer_id=(FIRST_PACK_OFFER, 3))),
    "pack_enhancement": (
        in_pack,
        put(
            offer_kind=(FIRST_PACK_OFFER, OFFER_CARD), offer_id=(FIRST_PACK_OFFER, 5),
            offer_enhancement=(FIRST_PACK_OFFER, 3),
        ),
    ),
    "pack_edition": (in_pack, put(offer_edition=(FIRST_PACK_OFFER, 3))),
    "pack_seal": (
        in_pack,
        put(
            offer_kind=(FIRST_PACK_OFFER, OFFER_CARD), offer_id=(FIRST_PACK_OFFER, 5),
            offer_seal=(FIRST_PACK_OFFER, 3),
        ),
    ),
    "pack.present": (in_pack, put(pack_count=1)),
    "pack.room": (in_pack, put(joker_slots=0, consumable_slots=0)),
    "pack.eternal": (in_pack, put(offer_flags=(FIRST_PACK_OFFER, ETERNAL))),
    "pack.perishable": (in_pack, put(offer_flags=(FIRST_PACK_OFFER, PERISHABLE))),
    "pack.rental": (in_pack, put(offer_flags=(FIRST_PACK_OFFER, RENTAL))),
    "voucher_id": (in_shop, put(shop_voucher=(0, VOUCHERS.id("v_retcon")))),
    "vouchers_on_sale.present": (in_shop, put(voucher_count=0)),
    "vouchers_on_sale.price": (in_shop, put(discount_percent=50)),
    "vouchers_on_sale.affordable": (in_shop, put(money=3)),
    "booster_id": (in_shop, put(booster_id=(0, 30))),
    "boosters.present": (in_shop, put(booster_count=1)),
    "boosters.price": (in_shop, put(booster_free=(0, 1))),
    "boosters.affordable": (in_shop, put(money=0)),
    "shopping.reroll_price": (in_shop, put(reroll_increase=3)),
    "shopping.reroll_affordable": (in_shop, put(money=2)),
    "shopping.free_rerolls": (in_shop, put(free_rerolls=1)),
    "shopping.boss_reroll": (choosing, put(voucher_owned=(VOUCHERS.id("v_retcon"), 1), money=50)),
    "shopping.picks_left": (in_pack, put(pack_picks=2)),
    "deck_left": (in_round, pile_card(rank=2, suit=2)),
    "deck_total": (in_round, card(rank=2, suit=2)),
    **{
        f"{field}.{kind} {key}": (in_round, change(**{kind: number}))
        for field, change in (("deck_left_kinds", pile_card), ("deck_total_kinds", card))
        for kind, keys, first in (
            ("enhancement", [k.split()[1] for k in fields._KINDS_OF_CARDS[:8]], 1),
            ("edition", [k.split()[1] for k in fields._KINDS_OF_CARDS[8:11]], 1),
            ("seal", [k.split()[1] for k in fields._KINDS_OF_CARDS[11:]], 1),
        )
        for number, key in enumerate(keys, first)
    },
    "hands.level": (in_round, put(hand_level=(3, 4))),
    "hands.played": (in_round, put(hand_played=(3, 4))),
    "hands.played_this_round": (in_round, put(hand_played_round=(3, 4))),
    "hands.chips": (in_round, put(hand_level=(3, 4))),
    "hands.mult": (in_round, put(hand_level=(3, 4))),
    "hands.most_played": (in_round, put(most_played_hand=2)),
    "hands.blocked_by_boss": (in_round, boss_up("bl_eye", eye_used=16)),
    "hands.on_to_do_list": (in_round, lambda run: run.joker("j_todo_list")),
    "last_hand": (in_round, put(last_hand=4)),
    "blind_id": (choosing, put(on_deck=1)),
    "boss_id": (choosing, put(boss=7)),
    "blind.requirement": (in_round, put(requirement=1e9)),
    "blind.boss_requirement": (choosing, put(ante=3)),
    "blind.score": (in_round, put(score=200.0)),
    "blind.score_share": (in_round, put(score=200.0)),
    "blind.missing": (in_round, put(score=200.0)),
    "blind.hands_left": (in_round, put(hands_left=2)),
    "blind.discards_left": (in_round, put(discards_left=1)),
    "blind.hands_played": (in_round, put(hands_played_round=2)),
    "blind.discards_used": (in_round, put(discards_used=2)),
    "blind.disabled": (in_round, put(blind_disabled=True)),
    "blind.small_up": (choosing, put(on_deck=2)),
    "blind.big_up": (choosing, put(on_deck=1)),
    "blind.boss_up": (choosing, put(on_deck=2)),
    "skip_tag": (choosing, put(skip_tag=(1, 3))),
    "skip_tag_hand": (choosing, put(skip_tag=(0, ORBITAL))),
    "tags": (choosing, lambda run: run.tag("tag_double")),
    "vouchers": (choosing, lambda run: run.voucher("v_grabber")),
    "money.money": (choosing, put(money=44)),
    "money.spendable": (choosing, lambda run: run.joker("j_credit_card")),
    "money.interest": (choosing, put(money=25)),
    "money.interest_cap": (choosing, put(interest_cap=100)),
    "money.interest_per_five": (choosing, put(interest_per_five=2)),
    "money.payout": (paid, put(payout=50)),
    "money.discount": (choosing, put(discount_percent=25)),
    "run.ante": (choosing, put(ante=4)),
    "run.antes_to_win": (choosing, put(win_ante=10)),
    "run.won": (choosing, put(won=True)),
    "run.endless": (choosing, put(endless=True)),
    "run.rounds": (choosing, put(rounds=9)),
    "run.steps": (choosing, put(steps=1500)),
    "run.hands_per_round": (choosing, put(hands_per_round=6)),
    "run.discards_per_round": (choosing, put(discards_per_round=6)),
    "run.hand_limit": (choosing, put(hand_size=10)),
    "run.hand_count": (in_round, put(hand_count=5)),
    "run.pile_count": (in_round, put(pile_count=10)),
    "run.card_count": (in_round, put(card_count=40)),
    "run.cards_lost": (in_round, put(starting_deck_size=60)),
    "run.joker_slots": (choosing, put(joker_slots=7)),
    "run.joker_count": (choosing, lambda run: run.joker("j_joker")),
    "run.consumable_slots": (choosing, put(consumable_slots=3)),
    "run.consumable_count": (choosing, lambda run: run.consumable("c_fool")),
    "run.shop_slots": (choosing, put(shop_slots=3)),
    "run.edition_rate": (choosing, put(edition_rate=4.0)),
    "run.odds": (choosing, lambda run: run.joker("j_oops")),
    "run.skips": (choosing, put(skips=3)),
    "run.hands_played": (choosing, put(hands_played=30)),
    "run.unused_discards": (choosing, put(unused_discards=9)),
    "run.tarots_used": (choosing, put(tarots_used=4)),
    "run.planets_used": (choosing, put(planets_used=5)),
    "run.ectoplasm_uses": (choosing, put(ectoplasm_uses=1)),
    "run.michel_extinct": (choosing, put(michel_extinct=True)),
    "run.sort_by_suit": (choosing, put(sort_by_suit=True)),
    "run.reorderings": (choosing, put(reorderings=3)),
    "deck": (choosing, put(deck=5)),
    "stake": (choosing, put(stake=5)),
    "challenge": (choosing, put(challenge=5)),
    "idol_card": (choosing, put(idol_rank=9, idol_suit=1)),
    "mail_rank": (choosing, put(mail_rank=2)),
    "target_suits": (choosing, lambda run: put(castle_suit=(int(run.g.castle_suit) + 1) % 4)(run)),
    "fool_copies": (choosing, put(last_tarot_planet=4)),
    "joker_worth.typical": (in_shop, lambda run: run.joker("j_joker")),
    "joker_worth.best": (in_shop, lambda run: run.joker("j_joker")),
    "shop_worth.typical": (in_shop, put(offer_kind=(0, 1), offer_id=(0, JOKERS.id("j_cavendish")))),
    "shop_worth.best": (in_shop, put(offer_kind=(0, 1), offer_id=(0, JOKERS.id("j_cavendish")))),
    "pack_worth.typical": (in_pack, put(offer_kind=(4, 1), offer_id=(4, JOKERS.id("j_cavendish")))),
    "pack_worth.best": (in_pack, put(offer_kind=(4, 1), offer_id=(4, JOKERS.id("j_cavendish")))),
    "best_plays.score": (in_round, put(hand_level=(11, 9))),
    "best_plays.share_of_missing": (in_round, put(requirement=1e9)),
    "best_play.score": (in_round, put(hand_level=(11, 90))),
    "best_play.share_of_missing": (in_round, put(requirement=1e9)),
    "best_play_cards": (in_round, put(hand_level=(11, 90))),
}  # fmt: skip


def test_every_field_and_every_column_has_a_change_that_moves_it():
    expected = [
        f"{field.name}.{column}" if field.name in COLUMNS else field.name
        for field in FIELDS
        for column in COLUMNS.get(field.name, ("",))
    ]
    assert set(CHANGES) == set(expected)


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_the_game_shows_in(name):
    build, change = CHANGES[name]
    field, _, column = name.partition(".")
    place = COLUMNS[field].index(column) if column else slice(None)
    run = build()
    helpers = field.startswith("best_") or field.endswith("_worth")
    before = view(run, field, helpers)[..., place].copy()
    change(run)
    assert not np.array_equal(before, view(run, field, helpers)[..., place])


def test_the_page_names_every_field_and_every_column():
    page = (Path(__file__).parents[3] / "docs" / "games" / "balatro-observation.md").read_text(encoding="utf-8")
    for field in FIELDS:
        assert f"`{field.name}`" in page, field.name
        for column in () if field.name.endswith("_kinds") else COLUMNS.get(field.name, ()):
            assert column in page, (field.name, column)
    assert f"{WIDTH} numbers" in page


def test_every_field_name_other_code_relies_on_has_items_on_its_first_axis():
    for name in ("hand", "jokers", "consumables", "shop", "pack", "vouchers_on_sale", "boosters"):
        assert len(OBSERVATION[name].shape) == 2, name
    assert WIDTH == sum(field.size for field in FIELDS) <= 1100


# --- what is written where ---


def test_the_hand_is_shown_in_its_order_with_stone_cards_unnamed():
    run = Run().act("select").hand("S_A H_2+m_stone D_K+m_glass+Red+foil")
    assert view(run, "hand_card")[:4].tolist() == [1 + 4 * 12, fields.STONE_ITEM, 1 + 4 * 11 + 3, 0]
    assert view(run, "hand_enhancement")[:3].tolist() == [0, 6, 4]
    assert view(run, "hand_seal")[2] == 2
    assert view(run, "hand_edition")[2] == 1


def test_jokers_keep_their_order_and_a_blueprint_shows_what_it_copies():
    run = Run()
    for key in ("j_brainstorm", "j_baron", "j_blueprint", "j_mime"):
        run.joker(key)
    first = fields.FIRST_JOKER_ITEM
    assert view(run, "joker_id")[1] == first + JOKERS.id("j_baron")
    assert view(run, "joker_copies")[:4].tolist() == [0, 0, first + JOKERS.id("j_mime"), 0]


def test_a_joker_has_the_same_id_in_the_shop_as_in_play():
    run = in_shop()
    for place in range(int(run.g.shop_count)):
        if run.g.offer_kind[place] == 1:
            item = view(run, "shop_item")[place]
            run.act("buy", place)
            assert view(run, "joker_id")[0] == item
            return
    raise AssertionError("the first shop of this seed should have a joker")


def test_the_fool_and_held_consumables_share_the_numbering():
    run = Run()
    run.consumable("c_pluto")
    run.g.last_tarot_planet = CONSUMABLES.id("c_pluto")
    assert view(run, "consumable_id")[0] == view(run, "fool_copies")[0] > fields.FIRST_CONSUMABLE_ITEM


def test_a_new_deck_has_a_quarter_in_every_cell_and_the_dealt_hand_missing():
    run = Run()
    assert np.all(view(run, "deck_total") == 0.25)
    run.act("select")
    assert view(run, "deck_left").sum() * 4 == 44


def test_the_eye_and_the_mouth_show_which_hands_are_blocked():
    run = in_round()
    boss_up("bl_mouth", mouth_hand=HANDS.id("Flush"))(run)
    blocked = view(run, "hands")[:, COLUMNS["hands"].index("blocked_by_boss")]
    assert blocked.tolist() == [float(hand != HANDS.id("Flush")) for hand in range(len(HANDS))]


def test_goods_are_gone_outside_the_shop_and_stay_while_a_pack_is_open():
    run = in_shop()
    goods = view(run, "shop_item").copy()
    run.act("open", 0)
    assert np.array_equal(view(run, "shop_item"), goods)
    run.act("skip_pack").act("next")
    assert not view(run, "shop_item").any()
    assert not view(run, "voucher_id").any()


# --- what is hidden ---


@pytest.mark.parametrize("boss", ["bl_house", "bl_wheel", "bl_mark", "bl_fish", "bl_final_acorn", "bl_small"])
def test_redealing_what_is_hidden_leaves_the_row_as_it_was(boss):
    run = Run(stake=8)
    for key in ("j_baron", "j_blueprint", "j_photograph", "j_misprint", "j_bloodstone", "j_raised_fist"):
        run.joker(key)
    run.g.joker_flags[1] |= ETERNAL
    run.boss(boss).act("select")
    if boss == "bl_fish":
        run.act("play", cards=[0])
    for card_slot in run.slots[:2]:
        run.g.card_flags[card_slot] |= CARD_FACE_DOWN
    before = run.look(helpers=True)
    names = run.held, run.jokers
    changed = False
    for seed in range(5):
        redeal(run, seed)
        assert np.array_equal(run.look(helpers=True), before)
        changed = changed or (run.held, run.jokers) != names
    assert changed


def test_a_hand_face_down_shows_that_cards_are_there_and_nothing_else():
    run = Run().boss("bl_house").act("select")
    assert len(run.face_down) == 8
    assert not view(run, "hand_card").any()
    hand = view(run, "hand")
    assert hand[:8, 0].tolist() == [1.0] * 8
    assert hand[:8, 1].tolist() == [1.0] * 8
    assert not hand[:, 2:].any()
    assert view(run, "deck_left").sum() * 4 == 52


def test_jokers_face_down_show_that_they_are_there_and_nothing_else():
    run = Run()
    for key in ("j_baron", "j_blueprint", "j_todo_list"):
        run.joker(key)
    run.boss("bl_final_acorn").act("select")
    assert BLINDS.key(run.g.blind) == "bl_final_acorn"
    assert not run.g.blind_disabled
    assert not view(run, "joker_id").any()
    assert not view(run, "joker_copies").any()
    assert view(run, "jokers")[:3, :2].tolist() == [[1.0, 1.0]] * 3
    assert not view(run, "jokers")[:, 2:].any()


@pytest.mark.parametrize("seed", range(4))
def test_random_games_show_nothing_hidden_and_only_finite_numbers_and_ids_in_range(seed):
    deck = ("b_red", "b_erratic", "b_plasma", "b_ghost")[seed]
    run = Run(seed=f"OBSERVE{seed + 1}", deck=deck, stake=1 + 2 * seed, endless=True)
    phases = set()
    for index, state in enumerate(wander(run, seed, 150)):
        phases.add(state.phase)
        kept, memory = state._games.copy(), state._games.tobytes()
        helpers = index % 4 == 0
        before = state.look(helpers)
        assert state._games.tobytes() == memory
        _check_numbers(before)
        redeal(state, index)
        assert np.array_equal(state.look(helpers), before)
        state._games[:] = kept
    assert len(phases) == 5


# --- numbers ---


def _check_numbers(observation: np.ndarray) -> None:
    assert np.isfinite(observation).all()
    for field in FIELDS:
        values = OBSERVATION.view(observation, field.name)
        if field.ids:
            assert np.array_equal(values, values.astype(int)), field.name
            assert values.min() >= 0, field.name
            assert values.max() < field.ids, field.name
        elif not field.name.startswith("deck_"):
            assert np.abs(values).max() <= LARGEST, field.name


@pytest.mark.parametrize("size", [1e12, 1e40, 1e300, np.inf])
def test_numbers_stay_small_however_large_the_game_grows(size):
    run = in_round()
    run.g.score, run.g.requirement = size, size
    run.g.joker_value[:3] = [size, -size, size]
    run.g.money = 10**17
    run.g.hand_level[:] = 2**31 - 1
    run.g.card_extra_chips[:] = 2**31 - 1
    run.g.hand_played[:] = 2**30
    observation = run.look(helpers=True)
    _check_numbers(observation)
    assert OBSERVATION.view(observation, "blind")[COLUMNS["blind"].index("score_share")] == 1


def test_more_cards_than_rows_are_counted_but_not_shown():
    run = Run().act("select").hand(" ".join(["H_2"] * 20))
    for _ in range(12):
        run.joker("j_joker", "negative")
    observation = run.look(helpers=True)
    _check_numbers(observation)
    assert OBSERVATION.view(observation, "jokers")[:, 0].sum() == fields.JOKER_ROWS
    assert OBSERVATION.view(observation, "hand")[:, 0].sum() == fields.HAND_ROWS


def test_the_helpers_cost_nothing_when_off_and_touch_no_other_field():
    run = in_round()
    without, with_helpers = run.look(), run.look(helpers=True)
    first = OBSERVATION.offsets["joker_worth"]
    assert not without[first:].any()
    assert with_helpers[first:].any()
    assert np.array_equal(without[:first], with_helpers[:first])


def test_plain_python_writes_the_same_row_as_compiled_code():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from tests.games.balatro.test_observe import in_round;"
        "sys.stdout.buffer.write(in_round().look(helpers=True).tobytes())"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", code, str(Path(__file__).parents[3])]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert np.allclose(np.frombuffer(done.stdout, np.float32), in_round().look(helpers=True), rtol=1e-6, atol=0)
