"""What each method does at the table, with its own refusals in the mod's order.

A handler gets the table and the checked parameters, makes moves, and returns the answer's JSON, or None for the
gamestate. Where the mod would wait for ever (an Eternal joker cannot be sold) the call is refused; the traps bring the
waiting back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jimbot.games.balatro.live.calls import AURA, clicked, wants_targets
from jimbot.games.balatro.live.debugging import add, set_values
from jimbot.games.balatro.live.methods import document
from jimbot.games.balatro.live.refusals import bad, failed, not_allowed, wrong_state
from jimbot.games.balatro.live.writer import can_reroll_boss, spendable
from jimbot.games.balatro.rules import content as c
from jimbot.games.balatro.rules import state
from jimbot.games.balatro.rules.scratch import MAX_PLAYED
from jimbot.games.balatro.states import dialects as d
from jimbot.games.balatro.view.derived import read_derived

if TYPE_CHECKING:
    from jimbot.games.balatro.live.table import LiveTable

Params = dict[str, Any]
_ANKH, _INVISIBLE = c.CONSUMABLES.id("c_ankh"), c.JOKERS.id("j_invisible")
_BOSS_REROLL = c.VOUCHERS.row("v_directors_cut")["config"]["extra"]
_DIRECTORS_CUT, _RETCON = c.VOUCHERS.id("v_directors_cut"), c.VOUCHERS.id("v_retcon")


# --- any state ---


def health(table: LiveTable, params: Params) -> str:
    return '{"status":"ok"}'


def gamestate(table: LiveTable, params: Params) -> None:
    return None


def discover(table: LiveTable, params: Params) -> str:
    return document(table.dialect)


def menu(table: LiveTable, params: Params) -> None:
    table.leave()


def start(table: LiveTable, params: Params) -> None:
    challenge = params.get("challenge")
    if challenge is not None:
        if "deck" in params or "stake" in params:
            raise bad("Param 'challenge' cannot be combined with 'deck' or 'stake'")
        if challenge not in c.CHALLENGES:
            raise bad(f"Expected a c_* challenge id from G.CHALLENGES (e.g. c_omelette_1). Got: {challenge}")
        table.begin(0, 1, c.CHALLENGES.id(challenge), params.get("seed"))
        return
    for name in ("deck", "stake"):  # optional in dev's schema, where a challenge may stand for them
        if name not in params:
            raise bad(f"Missing required field '{name}'")
    decks, stakes = table.dialect.ids["deck"], table.dialect.ids["stake"]
    if params["stake"] not in stakes:
        wanted = (
            "Expected a stake_* key from G.P_STAKES (e.g. stake_white, stake_red)"
            if table.dialect.shows_more
            else f"Invalid stake enum. Must be one of: {', '.join(stakes)}"
        )
        raise bad(f"{wanted}. Got: {params['stake']}")
    if params["deck"] not in decks:
        wanted = (
            "Expected a b_* deck key from G.P_CENTERS (e.g. b_red, b_blue)"
            if table.dialect.shows_more
            else f"Invalid deck enum. Must be one of: {', '.join(decks)}"
        )
        raise bad(f"{wanted}. Got: {params['deck']}")
    table.begin(decks[params["deck"]], stakes[params["stake"]], 0, params.get("seed"))


def save(table: LiveTable, params: Params) -> str:
    return _written(table, params, "save file", table.saved)


def load(table: LiveTable, params: Params) -> str:
    try:
        data = table.files.read(params["path"])
    except OSError as problem:
        raise failed(f"Failed to read save file: '{params['path']}': {problem}") from problem
    table.restore(data, params["path"])
    return _path(params)


def screenshot(table: LiveTable, params: Params) -> str:
    return _written(table, params, "screenshot file", lambda: table.files.picture(table.drawn()))


def _written(table: LiveTable, params: Params, what: str, content: Callable[[], bytes]) -> str:
    try:
        table.files.write(params["path"], content())
    except OSError as problem:
        raise failed(f"Failed to write {what} to '{params['path']}': {problem}") from problem
    return _path(params)


def _path(params: Params) -> str:
    return json.dumps({"success": True, "path": params["path"]})


# --- the blind ---


def select(table: LiveTable, params: Params) -> None:
    table.move("select", params)
    table.dealing = True


def skip(table: LiveTable, params: Params) -> None:
    if table.g.on_deck == 2:
        raise not_allowed("Cannot skip Boss blind. Use `select` to play it.")
    table.move("skip", params)
    if table.state == d.PACK:
        table.wait_for_ever("tag_pack")


def reroll_boss(table: LiveTable, params: Params) -> None:
    g = table.g
    if not g.voucher_owned[_RETCON] and not g.voucher_owned[_DIRECTORS_CUT]:
        raise not_allowed("Reroll Boss Blind requires the Director's Cut or Retcon voucher")
    if not g.voucher_owned[_RETCON] and g.boss_rerolled:
        raise not_allowed("Director's Cut allows one Reroll Boss Blind per ante; already used")
    if not can_reroll_boss(g):
        raise not_allowed(f"Not enough dollars to reroll boss. Available: {spendable(g)}, Required: {_BOSS_REROLL}")
    table.move("reroll_boss", params)


# --- the hand ---


def play(table: LiveTable, params: Params) -> None:
    _check_count(params["cards"], "play")
    _check_places(table, params["cards"])
    _check_forced(table, params["cards"], "play")
    _check_clicked(table, params["cards"], "play")
    table.move("play", params)


def discard(table: LiveTable, params: Params) -> None:
    if not params["cards"]:
        raise bad("Must provide at least one card to discard")
    if table.g.discards_left <= 0:
        raise bad("No discards left. Play cards using `play` instead.")
    _check_count(params["cards"], "discard")
    _check_places(table, params["cards"])
    _check_forced(table, params["cards"], "discard")
    _check_clicked(table, params["cards"], "discard")
    table.move("discard", params)


def _check_count(cards: Sequence[int], doing: str) -> None:
    if not cards:
        raise bad(f"Must provide at least one card to {doing}")
    if len(cards) > MAX_PLAYED:
        raise bad(f"You can only {doing} {MAX_PLAYED} cards. Provide fewer card indices.")


def _check_places(table: LiveTable, cards: Sequence[int]) -> None:
    count = table.g["hand_count"]
    for card in cards:
        if not 0 <= card < count:
            raise bad(f"Invalid card index: {card}")


def _check_forced(table: LiveTable, cards: Sequence[int], doing: str) -> None:
    """What a boss holds up must be among the cards; 1.x takes it along without asking."""
    if not table.dialect.shows_more:
        return
    for place, slot in enumerate(table.g.hand[: table.g.hand_count].tolist()):
        if table.g.card_flags[slot] & state.CARD_FORCED and place not in cards:
            raise bad(f"Card at index {place} is forced-selected by the boss blind. Include it in your {doing}.")


def _check_clicked(table: LiveTable, cards: Sequence[int], doing: str) -> None:
    if not clicked(table.g, cards):
        table.wait_for_ever("clicks")
        raise bad(f"Must provide at least one card to {doing}: each index given twice lets go of its card")


def sort(table: LiveTable, params: Params) -> None:
    if params["by"] not in ("rank", "suit"):
        raise bad(f'Sort \'by\' must be "rank" or "suit", got "{params["by"]}"')
    table.move("sort", params)


def rearrange(table: LiveTable, params: Params) -> None:
    if not params:
        raise bad("Must provide exactly one of: hand, jokers, or consumables")
    if len(params) > 1:
        raise bad("Can only rearrange one type at a time")
    ((area, order),) = params.items()
    g = table.g
    count = int({"hand": g.hand_count, "jokers": g.joker_count, "consumables": g.consumable_count}[area])
    if area == "hand" and table.state not in (d.SELECTING_HAND, d.PACK):
        raise wrong_state("Can only rearrange hand during hand selection")
    if area == "hand" and table.state == d.PACK and not count:
        raise not_allowed("No cards to rearrange. You can only rearrange hand in Arcana and Spectral packs.")
    if len(order) != count:
        raise bad(f"Must provide exactly {count} indices for {area}")
    seen: set[int] = set()
    for place in order:
        if not 0 <= place < count:
            raise bad(f"Index out of range for {area}: {place}")
        if place in seen:
            raise bad(f"Duplicate index in {area}: {place}")
        seen.add(place)
    table.move("rearrange", params)


# --- what is held ---


def sell(table: LiveTable, params: Params) -> None:
    if not params:
        raise bad("Must provide exactly one of: joker or consumable")
    if len(params) > 1:
        raise bad("Can only sell one item at a time")
    ((kind, index),) = params.items()
    g = table.g
    count = int(g.joker_count if kind == "joker" else g.consumable_count)
    if count == 0:
        raise not_allowed(f"No {kind}s available to sell")
    if not 0 <= index < count:
        raise bad(f"Index out of range for {kind}: {index}")
    if kind == "joker" and g.joker_flags[index] & state.ETERNAL:
        table.wait_for_ever("sell")
        raise not_allowed(f"Cannot sell joker {index}: it is eternal")
    hangs = kind == "joker" and g.joker_id[index] == _INVISIBLE
    table.move("sell", params)
    if hangs:
        table.wait_for_ever("sell")


def use(table: LiveTable, params: Params) -> None:
    g, index, cards = table.g, params["consumable"], params.get("cards", [])
    if not 0 <= index < g.consumable_count:
        raise bad(f"Consumable index out of range: {index}")
    consumable = int(g.consumable_id[index])
    name = c.CONSUMABLES.names[consumable]
    if wants_targets(consumable) and consumable != AURA:
        if table.state == d.SHOP:
            allowed = f"{d.SELECTING_HAND} or {d.PACK}" if table.dialect.shows_more else d.SELECTING_HAND
            raise wrong_state(f"Consumable '{name}' requires card selection and can only be used in {allowed} state.")
        _check_targets(table, name, consumable, cards)
    elif consumable == AURA or not table.allows("use", params):  # the mod cannot choose a card for a held Aura
        raise not_allowed(f"Consumable '{name}' cannot be used at this time")
    table.move("use", params, f"Consumable '{name}' cannot be used at this time")


def _check_targets(table: LiveTable, name: str, consumable: int, cards: Sequence[int]) -> None:
    if not cards:
        raise bad(f"Consumable '{name}' requires card selection. Provide target cards via the `cards` parameter.")
    for card in cards:
        if not 0 <= card < table.g.hand_count:
            raise bad(f"Card index out of range: {card}")
    least, most = int(c.CONSUMABLE_MIN_TARGETS[consumable]), int(c.CONSUMABLE_MAX_TARGETS[consumable])
    for word, limit, wrong, wanted in (
        ("exactly", least, least == most and len(cards) != least, "the correct number of"),
        ("at least", least, len(cards) < least, "more"),
        ("at most", most, len(cards) > most, "fewer"),
    ):
        if wrong:
            raise bad(
                f"Consumable '{name}' requires {word} {limit} card{'' if limit == 1 else 's'} "
                f"(provided: {len(cards)}). Provide {wanted} cards via the `cards` parameter."
            )


# --- between rounds ---


def cash_out(table: LiveTable, params: Params) -> None:
    table.move("cash_out", params)


def next_round(table: LiveTable, params: Params) -> None:
    table.move("next_round", params)


def reroll(table: LiveTable, params: Params) -> None:
    price, available = int(read_derived(table.g).reroll), spendable(table.g)
    if price > 0 and available < price:
        raise not_allowed(f"Not enough dollars to reroll. Available: {available}, Required: {price}")
    table.move("reroll", params)
    table.restocking = True


def buy(table: LiveTable, params: Params) -> None:
    if not params:
        raise bad("Invalid arguments. You must provide one of: card, voucher, pack")
    if len(params) > 1:
        raise bad("Invalid arguments. Cannot provide more than one of: card, voucher, or pack")
    ((kind, index),) = params.items()
    g, derived = table.g, read_derived(table.g)
    count, prices = {
        "card": (int(g.shop_count), derived.offers),
        "voucher": (int(g.voucher_count), derived.vouchers),
        "pack": (int(g.booster_count), derived.boosters),
    }[kind]
    if count == 0:
        raise bad(_SOLD_OUT_1X if kind == "card" and not table.dialect.shows_more else _SOLD_OUT[kind])
    if not 0 <= index < count:
        cards = " cards" if kind == "card" else ""
        raise bad(f"{kind.capitalize()} index out of range. Index: {index}, Available{cards}: {count}")
    _check_price(table, int(prices[index]))
    if kind == "card":
        _check_room(table, index)
    table.move("buy", params, "No buy button found for card")


_SOLD_OUT_1X = "No jokers/consumables/cards in the shop. Reroll to restock the shop"
_SOLD_OUT = {
    "card": "No jokers/consumables/cards in the shop. Use `reroll` to restock the shop.",
    "voucher": "No vouchers to redeem. Defeat boss blind to restock.",
    "pack": "No packs to open. Use `next_round` to advance to the next blind and restock the shop.",
}


def _check_price(table: LiveTable, price: int) -> None:
    available = spendable(table.g)
    if price > 0 and price > available:
        raise bad(f"Card is not affordable. Cost: {price}, Available money: {available}")


def _check_room(table: LiveTable, place: int) -> None:
    g = table.g
    brings_room = table.dialect.shows_more and g.offer_edition[place] == c.NEGATIVE  # 1.x does not look at editions
    if g.offer_kind[place] == state.OFFER_JOKER and g.joker_count >= g.joker_slots and not brings_room:
        raise bad(
            f"Cannot purchase joker card, joker slots are full. Current: {g.joker_count}, Limit: {g.joker_slots}. "
            "Sell a joker using `sell` to free a slot."
        )
    if g.offer_kind[place] == state.OFFER_CONSUMABLE and g.consumable_count >= g.consumable_slots:
        raise bad(
            f"Cannot purchase consumable card, consumable slots are full. Current: {g.consumable_count}, "
            f"Limit: {g.consumable_slots}. Use `use` to activate a consumable or `sell` to remove one."
        )


def buy_and_use(table: LiveTable, params: Params) -> None:
    g = table.g
    if "card" not in params:
        raise bad("Invalid arguments. You must provide: card")
    if g.shop_count == 0:
        raise bad("No consumables in the shop. Use `reroll` to restock the shop.")
    index = params["card"]
    if not 0 <= index < g.shop_count:
        raise bad(f"Card index out of range. Index: {index}, Available cards: {g.shop_count}")
    _check_price(table, int(read_derived(g).offers[index]))
    name = json.loads(table.gamestate())["shop"]["cards"][index]["label"]
    table.move("buy_and_use", params, f"Consumable '{name}' cannot be buy-and-used at this time.")


# --- packs ---


def pack(table: LiveTable, params: Params) -> None:
    taking, leaving = "card" in params, bool(params.get("skip"))
    if not taking and not leaving:
        raise bad("Invalid arguments. You must provide one of: card, skip")
    if taking and leaving:
        raise bad("Invalid arguments. Cannot provide both card and skip")
    if taking:
        _check_pick(table, params["card"], params.get("targets", []))
    table.move("pack", params, "The card cannot be taken at this time")
    if table.state == d.BLIND_SELECT and not table.dialect.shows_more:  # 1.x waits for a shop, which does not come
        table.wait_for_ever("tag_pack")


def _check_pick(table: LiveTable, index: int, targets: Sequence[int]) -> None:
    g, place = table.g, state.FIRST_PACK_OFFER + index
    if g.hand_count:  # with a dealt hand targets are looked at first
        _check_target_places(table, targets)
    if not 0 <= index < g.pack_count:
        raise bad(f"Card index out of range. Index: {index}, Available cards: {g.pack_count}")
    if g.offer_kind[place] == state.OFFER_JOKER and g.joker_count >= g.joker_slots:
        raise not_allowed(
            f"Cannot select joker, joker slots are full. Current: {g.joker_count}, Limit: {g.joker_slots}. "
            "Sell a joker using `sell` to free a slot."
        )
    if g.offer_kind[place] != state.OFFER_CONSUMABLE:
        return
    consumable = int(g.offer_id[place])
    key = c.CONSUMABLES.keys[consumable]
    if consumable == _ANKH and g.joker_count == 0:
        raise not_allowed(
            f"Card '{key}' requires at least 1 joker. Current: 0. "
            "Ensure you have enough jokers before selecting this card."
        )
    least, most = int(c.CONSUMABLE_MIN_TARGETS[consumable]), int(c.CONSUMABLE_MAX_TARGETS[consumable])
    if most and not least <= len(targets) <= most:
        wanted = f"exactly {least}" if least == most else f"{least}-{most}"
        raise bad(
            f"Card '{key}' requires {wanted} target card(s). Provided: {len(targets)}. "
            "Ensure you have the required targets before selecting."
        )
    if most:
        _check_target_places(table, targets)


def _check_target_places(table: LiveTable, targets: Sequence[int]) -> None:
    for target in targets:
        if not 0 <= target < table.g.hand_count:
            raise bad(f"Target card index out of range. Index: {target}, Hand size: {table.g.hand_count}")


HANDLERS: dict[str, Callable[[LiveTable, Params], str | None]] = {
    "health": health,
    "gamestate": gamestate,
    "menu": menu,
    "start": start,
    "save": save,
    "load": load,
    "screenshot": screenshot,
    "select": select,
    "skip": skip,
    "reroll_boss": reroll_boss,
    "play": play,
    "discard": discard,
    "sort": sort,
    "rearrange": rearrange,
    "sell": sell,
    "use": use,
    "cash_out": cash_out,
    "next_round": next_round,
    "reroll": reroll,
    "buy": buy,
    "buy_and_use": buy_and_use,
    "pack": pack,
    "add": add,
    "set": set_values,
}
