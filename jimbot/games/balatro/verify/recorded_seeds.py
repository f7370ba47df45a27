"""Recorded seeds: deck orders, round targets, bosses, vouchers, tags, shop queues, packs and shop visits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from jimbot.games.balatro.rules import content
from jimbot.games.balatro.rules.chance import streams
from jimbot.games.balatro.rules.scratch import new_scratch
from jimbot.games.balatro.rules.state import MAX_BOOSTERS, MAX_PACK_CARDS, MAX_SHOP_CARDS, new_games
from jimbot.games.balatro.seeds import finding
from jimbot.games.balatro.states import staging
from jimbot.games.balatro.view.names import find_deck, find_stake
from jimbot.games.verification import Entry, FileReport

FIRST_BOOSTER = ("p_buffoon_normal_1", "p_buffoon_normal_2")  # which of its two pictures it shows is not seeded
_NEW_ROUND = streams.stream_id("nr{ante}")
_SHOWN_BEFORE_DRAW = 8


class StagedRun:
    """A run set up by hand, at its start."""

    def __init__(self, seed: str, deck: str, stake: str) -> None:
        self.g: Any = new_games(1)[0]
        self.s: Any = new_scratch()[0]
        self.g.seed, self.g.seed_length = streams.seed_bytes(seed)
        self.g.deck, self.g.stake = content.DECKS.id(deck), content.STAKES.id(stake)
        self.do(staging.START)

    def do(self, what: int, *values: int) -> int:
        return staging.stage(self.g, self.s, what, *values)

    def pile(self) -> list[str]:
        """The undrawn cards, bottom first."""
        slots = self.g.pile[: self.g.pile_count].tolist()
        return [content.card_code(int(self.g.card_rank[slot]), int(self.g.card_suit[slot])) for slot in slots]

    def shuffle_for_round(self, ante: int) -> list[str]:
        self.g.ante = ante
        self.do(staging.SHUFFLE, _NEW_ROUND)
        return self.pile()

    def visit(
        self, ante: int, rerolls: int, voucher: int = -1, after: int = 0, sold: int = 0
    ) -> tuple[list[list[dict]], list[dict], np.ndarray]:
        """A shop without buying: cards of the first display and of each reroll, opened packs, prices of the cards.

        A voucher that changes the shop may be bought between two displays, see `staging.visit_shop`.
        """
        self.g.ante = ante
        slots, costs = np.zeros((2, rerolls + 1, MAX_SHOP_CARDS), np.int64)
        boosters, contents = np.zeros(MAX_BOOSTERS, np.int64), np.zeros((MAX_BOOSTERS, MAX_PACK_CARDS), np.int64)
        staging.visit_shop(self.g, slots, costs, boosters, contents, voucher, after, sold)
        packs = [
            {"pack": content.PACKS.key(int(booster)), "cards": decoded(cards)}
            for booster, cards in zip(boosters, contents, strict=True)
        ]
        return [decoded(row) for row in slots], packs, costs

    def offers(self, first: int, count: int) -> list[tuple[dict[str, Any], int]]:
        """What lies in some places of shop or pack, and what it costs."""
        places = range(first, first + count)
        return [(decoded([self.do(staging.OFFER, i)])[0], self.do(staging.OFFER_PRICE, i)) for i in places]


def decoded(codes: Iterable[int]) -> list[dict[str, Any]]:
    """Items as recordings write them; 0 is an empty place."""
    return [finding.decode_item(int(code)).as_dict() for code in codes if code]


def same_first_booster(recorded: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The packs of a run's first shop with the unseeded picture of the first one fixed."""
    if recorded and recorded[0].get("pack") in FIRST_BOOSTER:
        return [{**recorded[0], "pack": FIRST_BOOSTER[0]}, *recorded[1:]]
    return recorded


def _check_antes(entry: Entry, recorded: list[dict[str, Any]], deck: str, stake: str) -> None:
    view = finding.preview(
        entry.seed,
        antes=max(row["ante"] for row in recorded),
        deck=deck,
        stake=stake,
        shop_cards=max(len(row.get("queue", ())) for row in recorded),
        first_packs=max((len(row.get("packs", ())) for row in recorded if row["ante"] == 1), default=0),
        later_packs=max((len(row.get("packs", ())) for row in recorded if row["ante"] > 1), default=0),
    )
    for expected in recorded:
        where, ante = f"antes[{expected['ante']}]", view.antes[expected["ante"] - 1]
        entry.only_known(where, expected, ("ante", "boss", "voucher", "tags", "queue", "packs"))
        got: dict[str, Any] = {"boss": ante.boss, "voucher": ante.voucher, "tags": list(ante.tags)}
        got["queue"] = [item.as_dict() for item in ante.shop[: len(expected.get("queue", ()))]]
        packs = ante.packs[: len(expected.get("packs", ()))]
        got["packs"] = [{"pack": pack.key, "cards": [card.as_dict() for card in pack.cards]} for pack in packs]
        for name, value in got.items():
            if name in expected:
                first_shop = name == "packs" and ante.ante == 1
                entry.compare(
                    f"{where}.{name}", same_first_booster(expected[name]) if first_shop else expected[name], value
                )


def _check_decks(entry: Entry, recorded: dict[str, Any], deck: str, stake: str) -> None:
    run = StagedRun(entry.seed, deck, stake)
    if "initial_shuffle" in recorded:
        entry.compare("initial_shuffle", recorded["initial_shuffle"], run.pile())
    for number, row in enumerate(recorded.get("rounds", ())):
        where = f"rounds[{number}]"
        entry.only_known(where, row, ("ante", "blind", "deck", "first8_draw_order"))
        pile = run.shuffle_for_round(row["ante"])
        for name, got in (("deck", pile), ("first8_draw_order", pile[::-1][:_SHOWN_BEFORE_DRAW])):
            if name in row:
                entry.compare(f"{where}.{name}", row[name], got)


def _check_targets(entry: Entry, recorded: list[dict[str, Any]], deck: str, stake: str) -> None:
    run = StagedRun(entry.seed, deck, stake)
    g = run.g
    for number, row in enumerate(recorded):
        if number > 0:
            g.ante = row["ante_key"]
            run.do(staging.DRAW_TARGETS)
        got = {
            "idol": content.card_code(int(g.idol_rank), int(g.idol_suit)),
            "mail_rank": content.LETTER_OF_RANK[int(g.mail_rank)],
            "ancient_suit": content.SUITS[g.ancient_suit],
            "castle_suit": content.SUITS[g.castle_suit],
        }
        entry.only_known(f"targets[{number}]", row, ("when", "ante_key", *got))
        for name, value in got.items():
            if name in row:
                entry.compare(f"targets[{number}].{name}", row[name], value)


def _check_visits(entry: Entry, recorded: list[dict[str, Any]], deck: str, stake: str) -> None:
    run = StagedRun(entry.seed, deck, stake)
    for number, row in enumerate(recorded):
        where = f"visits[{number}]"
        entry.only_known(where, row, ("ante", "shop", "slots", "packs"))
        slots, packs, _ = run.visit(row["ante"], len(row["slots"]) - 1)
        entry.compare(f"{where}.slots", row["slots"], slots)
        entry.compare(f"{where}.packs", same_first_booster(row["packs"]) if number == 0 else row["packs"], packs)


_PARTS = ("seed", "initial_shuffle", "rounds", "targets", "antes", "visits")


def check_seeds(recorded: dict[str, Any], report: FileReport) -> None:
    """Each seed is an entry."""
    report.unit = "seeds"
    report.only_known(recorded, ("deck", "stake", "note", "seeds"))
    for number, row in enumerate(recorded["seeds"]):
        with report.entry(f"seed {number}", row.get("seed", "")) as entry:
            deck, stake = find_deck(recorded.get("deck", "Red")), find_stake(recorded.get("stake", 1))
            entry.only_known("", row, _PARTS)
            if "antes" in row:
                _check_antes(entry, row["antes"], deck, stake)
            _check_decks(entry, row, deck, stake)
            if "targets" in row:
                _check_targets(entry, row["targets"], deck, stake)
            if "visits" in row:
                _check_visits(entry, row["visits"], deck, stake)
