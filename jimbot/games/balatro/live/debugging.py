"""The debug methods: `add` puts a card into the game, `set` changes values of the run."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jimbot.games.balatro.live.methods import SETTABLE
from jimbot.games.balatro.live.refusals import bad, not_allowed, wrong_state
from jimbot.games.balatro.rules import state as r
from jimbot.games.balatro.rules.content import BLINDS, CONSUMABLES, JOKERS, NEGATIVE, PACKS, VOUCHERS, parse_card
from jimbot.games.balatro.states import dialects as d

if TYPE_CHECKING:
    from jimbot.games.balatro.live.table import LiveTable

Params = dict[str, Any]
_FAMILIES = {"j_": "joker", "c_": "consumable", "v_": "voucher", "p_": "pack"}
_WANTED = {
    "1.x": {
        "seal": "Invalid seal value. Expected: RED, BLUE, GOLD, or PURPLE",
        "edition": "Invalid edition value. Expected: HOLO, FOIL, POLYCHROME, or NEGATIVE",
        "enhancement": "Invalid enhancement value. Expected: BONUS, MULT, WILD, GLASS, STEEL, STONE, GOLD, or LUCKY",
    },
    "dev": {
        "seal": "Invalid seal value. Expected a Seal key from G.P_SEALS (e.g. Red, Blue)",
        "edition": "Invalid edition value. Expected an e_* edition key (e.g. e_foil, e_holo)",
        "enhancement": "Invalid enhancement value. Expected an m_* enhancement key (e.g. m_bonus, m_mult)",
    },
}
_PLAYING_CARD = re.compile(r"[HDCS]_[2-9TJQKA]")


def add(table: LiveTable, params: Params) -> None:
    key = params["key"]
    family = "playing card" if _PLAYING_CARD.fullmatch(key) else _FAMILIES.get(key[:2])
    if family is None:
        raise bad(
            "Invalid card key format. Expected: joker (j_*), consumable (c_*), voucher (v_*), pack (p_*), "
            "or playing card (SUIT_RANK)"
        )
    _check_place_to_add(table, family, key)
    looks = _read_looks(table, family, params)
    _ADDERS[family](table, key, looks)


def _check_place_to_add(table: LiveTable, family: str, key: str) -> None:
    if family == "playing card" and table.state != d.SELECTING_HAND:
        raise wrong_state("Playing cards can only be added in SELECTING_HAND state")
    if family in ("voucher", "pack") and table.state != d.SHOP:
        raise wrong_state(f"{family.capitalize()}s can only be added in SHOP state")
    if family == "pack" and table.g.booster_count >= r.MAX_BOOSTERS:
        raise not_allowed("Cannot add pack, shop booster slots are full")
    if family == "pack" and key not in PACKS:
        raise bad(f"Pack key not found: {key}")
    if family == "voucher" and table.g.voucher_count >= r.MAX_SHOP_VOUCHERS:
        raise not_allowed("Cannot add voucher, shop voucher slots are full")


def _read_looks(table: LiveTable, family: str, params: Params) -> dict[str, int]:
    """Seal, edition, enhancement and stickers as ids, checked in the mod's order."""
    names = table.dialect
    if "seal" in params and family != "playing card":
        raise bad("Seal can only be applied to playing cards")
    looks = {"seal": _enum(names, "seal", params)}
    if "edition" in params and family in ("voucher", "pack"):
        raise bad(f"Edition cannot be applied to {family}s")
    negative = names.editions[NEGATIVE]
    if "edition" in params and family == "consumable" and params["edition"] != negative:
        raise bad(f"Consumables can only have {negative} edition")
    looks["edition"] = _enum(names, "edition", params)
    if "enhancement" in params and family != "playing card":
        raise bad("Enhancement can only be applied to playing cards")
    looks["enhancement"] = _enum(names, "enhancement", params)
    for sticker in ("eternal", "perishable", "rental"):
        if params.get(sticker) and family != "joker":
            raise bad(f"{sticker.capitalize()} can only be applied to jokers")
        if sticker == "perishable" and sticker in params and params[sticker] < 1:
            raise bad("Perishable must be a positive integer (>= 1)")
        looks[sticker] = int(params.get(sticker, 0))
    return looks


def _enum(names: d.Dialect, kind: str, params: Params) -> int:
    known = names.ids[kind]
    if kind not in params:
        return 0
    if params[kind] not in known:
        raise bad(f"{_WANTED[names.name][kind]}. Got: {params[kind]}")
    return known[params[kind]]


def _add_joker(table: LiveTable, key: str, looks: dict[str, int]) -> None:
    if key not in JOKERS:
        raise bad(f"Failed to add card: {key}")
    flags = (
        r.ETERNAL * bool(looks["eternal"]) | r.PERISHABLE * bool(looks["perishable"]) | r.RENTAL * bool(looks["rental"])
    )
    table.add_joker(JOKERS.id(key), looks["edition"], flags, looks["perishable"])


def _add_consumable(table: LiveTable, key: str, looks: dict[str, int]) -> None:
    if key not in CONSUMABLES:
        raise bad(f"Failed to add card: {key}")
    table.add_consumable(CONSUMABLES.id(key), looks["edition"])


def _add_card(table: LiveTable, key: str, looks: dict[str, int]) -> None:
    rank, suit = parse_card(key)
    table.add_card(rank, suit, looks["enhancement"], looks["edition"], looks["seal"])


def _add_voucher(table: LiveTable, key: str, looks: dict[str, int]) -> None:
    if key not in VOUCHERS:
        raise bad(f"Failed to add card: {key}")
    table.g.shop_voucher[table.g.voucher_count] = VOUCHERS.id(key)
    table.g.voucher_count += 1


def _add_pack(table: LiveTable, key: str, looks: dict[str, int]) -> None:
    table.g.booster_id[table.g.booster_count] = PACKS.id(key)
    table.g.booster_free[table.g.booster_count] = 0
    table.g.booster_count += 1


_ADDERS: dict[str, Callable[[LiveTable, str, dict[str, int]], None]] = {
    "joker": _add_joker,
    "consumable": _add_consumable,
    "playing card": _add_card,
    "voucher": _add_voucher,
    "pack": _add_pack,
}
_FIELDS = {"money": "money", "chips": "score", "ante": "ante", "round": "rounds", "hands": "hands_left",
           "discards": "discards_left"}  # fmt: skip


def set_values(table: LiveTable, params: Params) -> None:
    if not table.in_run:
        raise wrong_state("Can only set during an active run")
    if not params:
        raise bad("Must provide at least one field to set")
    if "boss" in params:
        _check_boss(table, params)
    for name in SETTABLE:
        if name in params:
            if params[name] < 0:
                raise bad(f"{name.capitalize()} must be a positive integer")
            try:
                table.g[_FIELDS[name]] = params[name]
            except OverflowError as problem:
                raise bad(f"{name.capitalize()} is too large: {params[name]}") from problem
    if params.get("shop"):
        if table.state != d.SHOP:
            raise not_allowed("Can re-stock shop only in SHOP state")
        table.restock()
    if "boss" in params:
        table.g.boss = BLINDS.id(params["boss"])


def _check_boss(table: LiveTable, params: Params) -> None:
    if params.get("shop"):
        raise bad("Cannot set boss and shop at the same time")
    if table.state != d.BLIND_SELECT:
        raise wrong_state("Can only set boss blind during blind selection (BLIND_SELECT state)")
    if table.g.blind_state[2] != r.UPCOMING:
        state = d.STATUS[table.g.blind_state[2]].capitalize()
        raise wrong_state(f"Boss blind is not selectable (current state: {state})")
    if params["boss"] not in BLINDS:
        raise bad(f"Unknown boss blind key: {params['boss']}")
    if BLINDS.row(params["boss"])["type"] != "boss":
        raise bad(f"Not a boss blind: {params['boss']}")
