"""Words to write worked examples with: small changes of a run that tables of examples put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jimbot.games.balatro.rules.content import CONSUMABLES, JOKERS, PACKS, VOUCHERS, card_code
from jimbot.games.balatro.rules.state import FIRST_PACK_OFFER, OFFER_CARD, OFFER_CONSUMABLE, OFFER_JOKER
from tests.games.balatro.playing import Run

Change = Callable[[Run], Any]


def nothing(run: Run) -> None:
    """No preparation."""


def jokers(*keys: str, edition: str = "base", flags: int = 0) -> Change:
    """Gives jokers."""

    def give(run: Run) -> None:
        for key in keys:
            run.joker(key, edition, flags)

    return give


def fields(**values: float) -> Change:
    """Sets fields of the record."""

    def change(run: Run) -> None:
        for name, value in values.items():
            setattr(run.g, name, value)

    return change


def both(*changes: Change) -> Change:
    """One change after the other."""

    def change(run: Run) -> None:
        for one in changes:
            one(run)

    return change


def shop(money: int = 50, **options: Any) -> Run:
    """A run in its first shop with this money."""
    run = Run(**options).to_shop()
    run.g.money = money
    return run


def offer(run: Run, place: int, key: str, edition: int = 0) -> None:
    """Puts a joker or consumable on display."""
    table = JOKERS if key.startswith("j_") else CONSUMABLES
    run.g.offer_kind[place] = OFFER_JOKER if table is JOKERS else OFFER_CONSUMABLE
    run.g.offer_id[place] = table.id(key)
    run.g.offer_edition[place] = edition
    run.g.offer_flags[place] = 0


def offer_card(run: Run, place: int, rank: int, suit: int) -> None:
    """Puts a playing card on display."""
    run.g.offer_kind[place], run.g.offer_id[place], run.g.offer_suit[place] = OFFER_CARD, rank, suit
    run.g.offer_edition[place] = run.g.offer_flags[place] = run.g.offer_enhancement[place] = 0
    run.g.offer_serial[place] = run.g.next_serial
    run.g.next_serial += 1


def sell_a_voucher(run: Run, key: str) -> None:
    """Makes a voucher the only one on sale."""
    run.g.shop_voucher[0], run.g.voucher_count = VOUCHERS.id(key), 1
    run.g.ante_voucher = VOUCHERS.id(key)


def open_pack(run: Run, key: str) -> list[str]:
    """Opens a pack out of the shop for nothing and tells what is in it; the pack stays open."""
    run.g.booster_id[0], run.g.booster_free[0], run.g.booster_count = PACKS.id(key), 1, 1
    run.act("open", 0)
    return offered(run, FIRST_PACK_OFFER, int(run.g.pack_count))


def offered(run: Run, start: int, count: int) -> list[str]:
    """Keys of offers; playing cards in the notation of `Run.card`."""
    out = []
    for place in range(start, start + count):
        kind, identifier = run.g.offer_kind[place], int(run.g.offer_id[place])
        if kind == OFFER_CARD:
            out.append(card_code(identifier, int(run.g.offer_suit[place])))
        else:
            out.append((JOKERS if kind == OFFER_JOKER else CONSUMABLES).key(identifier))
    return out


def rerolled(run: Run, times: int) -> list[tuple[str, int, int]]:
    """Key, edition and enhancement of every card that so many free rerolls show."""
    out = []
    for _ in range(times):
        run.g.money = 10_000
        run.act("reroll")
        for place, key in enumerate(offered(run, 0, int(run.g.shop_count))):
            out.append((key, int(run.g.offer_edition[place]), int(run.g.offer_enhancement[place])))
    return out
