"""What was seen in the running game: bosses, tags, shops, first hands and scored hands of some runs.

Such a recording knows less than the others. A shop was looked at while things were being bought, so its cards must
lie, in order, within one display of the ante (first stock or a reroll), drawn with what the player owned in the way.
A first hand depends on the whole deck: the earliest one of a run is checked against the deck it started with, a later
one that does not fit is counted as undecided, because the player may have changed the deck. Likewise the cards of an
open pack must be those of some pack of its kind in the ante, with the first of them or more taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, product
from typing import Any

from jimbot.games.balatro.rules import content
from jimbot.games.balatro.rules.state import FIRST_CONSUMABLE_KEY, FIRST_PACK_OFFER, MAX_SHOP_CARDS
from jimbot.games.balatro.seeds import finding
from jimbot.games.balatro.states import staging
from jimbot.games.balatro.verify.recorded_hands import RecordedTable
from jimbot.games.balatro.verify.recorded_seeds import FIRST_BOOSTER, StagedRun
from jimbot.games.balatro.view.names import find_deck, find_id, find_stake
from jimbot.games.verification import Entry, FileReport

_RUN_FIELDS = ("seed", "deck", "stake", "antes", "shops", "opening_hands")
_SHOP_FIELDS = (
    "ante", "after_round", "cards", "packs", "voucher", "owned_jokers", "owned_consumables", "money", "used_vouchers",
    "open_pack",
)  # fmt: skip
_CARD_FIELDS = ("key", "ed", "cost", "c", "enh", "seal", "eternal", "perishable", "rental")
_SCORED_FIELDS = (
    "seed", "round", "ante", "blind", "played", "held", "jokers", "hand", "level", "money", "hands_left",
    "discards_left", "score", "blind_disabled",
)  # fmt: skip
_ITEM_FIELDS = {"c": "card", "ed": "edition", "enh": "enhancement", "seal": "seal"}
_OVERSTOCKS = ("v_overstock_plus", "v_overstock_norm")  # the one bought last first
_SHOPS_OF_ANTE = 3
_REROLLS = 8  # looked at per shop
_DISPLAYS = _SHOPS_OF_ANTE * (_REROLLS + 1)
_BLINDS_OF_ANTE = 3
_PACKS_BEFORE = 3  # of a kind that may have been opened earlier in the ante


def check_real_game(recorded: dict[str, Any], report: FileReport) -> None:
    """Each ante, shop, first hand and scored hand is an entry."""
    report.unit = "sightings"
    report.only_known(recorded, ("note", "runs", "scored_hands"))
    for run in recorded.get("runs", ()):
        seed = run.get("seed", "")
        with report.entry("run", seed) as entry:
            entry.only_known("", run, _RUN_FIELDS)
            deck, stake = find_deck(run["deck"]), find_stake(run["stake"])
        if entry.differences:
            continue
        for ante, expected in run.get("antes", {}).items():
            with report.entry(f"ante {ante}", seed) as entry:
                _check_ante(entry, int(ante), expected, deck, stake)
        for number, shop in enumerate(run.get("shops", ())):
            with report.entry(f"shop {number}", seed) as entry:
                _check_shop(entry, shop, deck, stake)
        for number, sighting in enumerate(run.get("opening_hands", ())):
            with report.entry(f"first hand {number}", seed) as entry:
                entry.undecidable = number > 0
                _check_first_hand(entry, sighting, deck, stake)
    for number, hand in enumerate(recorded.get("scored_hands", ())):
        with report.entry(f"scored hand {number}", hand.get("seed", "")) as entry:
            _check_scored_hand(entry, hand)


def _check_ante(entry: Entry, ante: int, expected: dict[str, Any], deck: str, stake: str) -> None:
    entry.only_known("", expected, ("boss", "tags", "voucher"))
    got = finding.preview(entry.seed, ante, deck, stake, shop_cards=0, first_packs=0, later_packs=0).antes[-1]
    for name, table, value in (("boss", content.BLINDS, got.boss), ("voucher", content.VOUCHERS, got.voucher)):
        if name in expected:
            recorded = table.name(find_id(table, expected[name]))
            entry.compare(name, recorded, table.name(table.id(value)))
    if "tags" in expected:
        recorded = [content.TAGS.name(find_id(content.TAGS, name)) for name in expected["tags"]]
        entry.compare("tags", recorded, [content.TAGS.name(content.TAGS.id(tag)) for tag in got.tags])


# --- shops ---


def _stage_owner(
    entry: Entry, shop: dict[str, Any], deck: str, stake: str, holding: bool, without: str = ""
) -> StagedRun:
    """A run in which the player owns what was seen; without jokers and consumables unless `holding`."""
    run = StagedRun(entry.seed, deck, stake)
    for key in shop.get("used_vouchers", ()):
        if key != without and not run.g.voucher_owned[content.VOUCHERS.id(key)]:
            run.do(staging.OWN_VOUCHER, content.VOUCHERS.id(key))
    if holding:
        for joker in shop.get("owned_jokers", ()):
            run.do(
                staging.ADD_JOKER, content.JOKERS.id(joker["key"]), content.EDITIONS.id(f"e_{joker.get('ed', 'base')}")
            )
        for item in shop.get("owned_consumables", ()):
            run.do(staging.ADD_CONSUMABLE, content.CONSUMABLES.id(item["key"] if isinstance(item, dict) else item))
    run.g.ante = shop["ante"]
    run.g.first_booster_given = shop["ante"] > 1
    if shop["ante"] > 1:  # the first ante's was drawn when the run began, with nothing owned
        run.do(staging.DRAW_VOUCHER)
    return run


def _check_shop(entry: Entry, shop: dict[str, Any], deck: str, stake: str) -> None:
    entry.only_known("", shop, _SHOP_FIELDS)
    for place, card in enumerate(shop["cards"]):
        entry.only_known(f"cards[{place}]", card, _CARD_FIELDS)
    displays: list[list[tuple[dict, int]]] = []
    boosters: list[list[str]] = []
    voucher = ""
    for holding in (True, False):  # what was just bought from this very shop is owned now but did not block it
        run = _stage_owner(entry, shop, deck, stake, holding)
        voucher = content.VOUCHERS.key(int(run.g.ante_voucher)) if run.g.ante_voucher >= 0 else ""
        for number in range(_SHOPS_OF_ANTE):
            cards, packs, costs = run.visit(shop["ante"], _REROLLS)
            displays += [list(zip(row, costs[place].tolist(), strict=False)) for place, row in enumerate(cards)]
            keys = [pack["pack"] for pack in packs]
            boosters.append(keys)
            if shop["ante"] == 1 and number == 0 and keys[0] in FIRST_BOOSTER:
                boosters += [[picture, *keys[1:]] for picture in FIRST_BOOSTER]
    entry.values += len(shop["cards"]) + len(shop["packs"])
    grown = _displays_with_new_slot(entry, shop, deck, stake)
    if not any(_lies_within(shop["cards"], display, _same_card) for display in chain(displays, grown)):
        entry.differ("cards", shop["cards"], "in no display of this ante")
    if not any(_lies_within(shop["packs"], row, lambda seen, drawn: seen == drawn) for row in boosters):
        entry.differ("packs", shop["packs"], boosters[:_SHOPS_OF_ANTE])
    if shop.get("open_pack"):
        _check_open_pack(entry, shop, deck, stake)
    for place, key in enumerate(shop.get("voucher", ())[:1]):  # more of them come from Voucher Tags
        entry.exact(f"voucher[{place}]", key, voucher)


def _displays_with_new_slot(
    entry: Entry, shop: dict[str, Any], deck: str, stake: str
) -> Iterator[list[tuple[dict, int]]]:
    """Displays of an ante in whose course Overstock was bought: it fills its slot, and those of cards sold, at once.

    Neither the display it was bought from is known nor how many cards were gone by then.
    """
    used = shop.get("used_vouchers", ())
    late = next((key for key in _OVERSTOCKS if key in used), "")
    if not late or StagedRun(entry.seed, deck, stake).g.voucher_owned[content.VOUCHERS.id(late)]:
        return
    for holding, shown, sold in product((True, False), range(_DISPLAYS), range(MAX_SHOP_CARDS - 1)):
        run = _stage_owner(entry, shop, deck, stake, holding, without=late)
        if sold > run.g.shop_slots:
            return
        cards, _, costs = run.visit(shop["ante"], _DISPLAYS, content.VOUCHERS.id(late), shown, sold)
        displays = [list(zip(row, costs[place].tolist(), strict=False)) for place, row in enumerate(cards)]
        grown = displays[shown + 1]
        yield displays[shown] + grown[len(displays[shown]) - sold :]
        yield from displays[shown + 2 :]


def _check_open_pack(entry: Entry, shop: dict[str, Any], deck: str, stake: str) -> None:
    """An open pack, drawn with the shop's cards in the way; which packs of its kind were opened before is not known."""
    pack = shop["open_pack"]
    entry.only_known("open_pack", pack, ("key", "cards", "left"))
    number = content.PACKS.id(pack["key"])
    sizes = {
        int(content.PACK_CARDS[i]): i
        for i in range(len(content.PACKS))
        if content.PACK_KIND[i] == content.PACK_KIND[number]
    }.values()
    entry.undecidable |= "v_telescope" in shop.get("used_vouchers", ()) and "celestial" in pack["key"]
    entry.values += len(pack["cards"])
    earlier = [chosen for count in range(_PACKS_BEFORE + 1) for chosen in product(sizes, repeat=count)]
    for holding, opened in product((True, False), earlier):
        run = _stage_owner(entry, shop, deck, stake, holding)
        for card in shop["cards"]:
            _mark_as_shown(run, card.get("key", ""))
        for other in opened:
            run.do(staging.OPEN_PACK, other)
            run.do(staging.CLOSE_PACK)
        run.do(staging.OPEN_PACK, number)
        drawn = run.offers(FIRST_PACK_OFFER, int(run.g.pack_count))
        if _lies_within(pack["cards"], drawn, _same_item):
            return
    entry.differ("open_pack", pack["cards"], f"in no {pack['key']} of this ante")


def _mark_as_shown(run: StagedRun, key: str) -> None:
    if key in content.JOKERS:
        run.g.used[content.JOKERS.id(key)] = 1
    elif key in content.CONSUMABLES:
        run.g.used[FIRST_CONSUMABLE_KEY + content.CONSUMABLES.id(key)] = 1


def _lies_within(seen: Sequence[Any], drawn: Sequence[Any], same: Any) -> bool:
    """Whether what was seen is what was drawn with some of it already gone, order kept."""
    rest = iter(drawn)
    return all(any(same(item, other) for other in rest) for item in seen)


def _same_card(seen: dict[str, Any], drawn: tuple[dict, int]) -> bool:
    item, cost = drawn
    if seen.get("cost", cost) == 0:  # a tag made it free and may have given it an edition
        return _same_item({**seen, "ed": item.get("edition", "")}, drawn)
    return _same_item(seen, drawn) and seen.get("cost", cost) == cost


def _same_item(seen: dict[str, Any], drawn: tuple[dict, int]) -> bool:
    """The same thing as far as it was noted; its price aside. What it carries, if anything, is always noted."""
    item = drawn[0]
    if seen.get("key", "c_base") != item["key"]:
        return False
    return all(seen.get(name, "") == item.get(field, "") for name, field in _ITEM_FIELDS.items())


# --- hands ---


def _check_first_hand(entry: Entry, sighting: dict[str, Any], deck: str, stake: str) -> None:
    """The cards drawn first after one of the ante's shuffles; how many blinds were skipped is not known."""
    entry.only_known("", sighting, ("ante", "round", "hand"))
    run = StagedRun(entry.seed, deck, stake)
    wanted = sorted(sighting["hand"])
    possible = [sorted(run.shuffle_for_round(sighting["ante"])[-len(wanted) :]) for _ in range(_BLINDS_OF_ANTE)]
    entry.values += 1
    if wanted not in possible:
        entry.differ("hand", wanted, possible[0])


def _check_scored_hand(entry: Entry, recorded: dict[str, Any]) -> None:
    entry.only_known("", recorded, _SCORED_FIELDS)
    table = RecordedTable(recorded)
    table.g.hand_level[content.HANDS.id(recorded["hand"])] = recorded["level"]
    table.do(staging.DEBUFF)
    got = table.score()
    entry.compare("hand", recorded["hand"], got["hand"])
    entry.exact("score", recorded["score"], got["score"])
