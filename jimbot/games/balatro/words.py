"""A game and its actions in words, as far as the player knows them."""

from __future__ import annotations

from typing import Any

from jimbot.games.balatro import actions, run
from jimbot.games.balatro.content import (
    BLINDS,
    CONSUMABLES,
    EDITIONS,
    ENHANCEMENTS,
    JOKERS,
    LETTER_OF_RANK,
    PACKS,
    SEALS,
    STONE,
    TAGS,
    VOUCHERS,
)
from jimbot.games.balatro.state import (
    BLIND_SELECT,
    CARD_DEBUFFED,
    CARD_FACE_DOWN,
    CARD_FORCED,
    DEBUFFED,
    FACE_DOWN,
    FIRST_PACK_OFFER,
    GRABBED_CONSUMABLE,
    GRABBED_JOKER,
    NOTHING,
    OFFER_CARD,
    OFFER_JOKER,
    PACK,
    PHASE_NAMES,
    ROUND_EVAL,
    SELECTING_HAND,
    SHOP,
)

_SUIT_SIGNS = "♠♥♣♦"
_HIDDEN = "face down"


def _with_extras(name: str, *extras: str) -> str:
    known = [extra for extra in extras if extra]
    return f"{name} ({', '.join(known)})" if known else name


def _playing_card(rank: int, suit: int, enhancement: int, edition: int, seal: int, *extras: str) -> str:
    face = "Stone" if enhancement == STONE else LETTER_OF_RANK[rank].replace("T", "10") + _SUIT_SIGNS[suit]
    return _with_extras(
        face,
        ENHANCEMENTS.name(enhancement) if enhancement not in (0, STONE) else "",
        EDITIONS.name(edition) if edition else "",
        f"{SEALS.key(seal)} Seal" if seal else "",
        *extras,
    )


def hand_card(g: Any, place: int) -> str:
    """A hand card by position."""
    slot = g.hand[place]
    flags = int(g.card_flags[slot])
    forced = "forced" if flags & CARD_FORCED else ""
    if flags & CARD_FACE_DOWN:
        return _with_extras(_HIDDEN, forced)
    rank, suit, enhancement, edition, seal = (
        int(g[f"card_{name}"][slot]) for name in ("rank", "suit", "enhancement", "edition", "seal")
    )
    debuffed = "debuffed" if flags & CARD_DEBUFFED else ""
    return _playing_card(rank, suit, enhancement, edition, seal, debuffed, forced)


def joker(g: Any, index: int) -> str:
    """A held joker by place."""
    flags, edition = int(g.joker_flags[index]), int(g.joker_edition[index])
    if flags & FACE_DOWN:
        return _HIDDEN
    debuffed = "debuffed" if flags & DEBUFFED else ""
    return _with_extras(JOKERS.name(int(g.joker_id[index])), EDITIONS.name(edition) if edition else "", debuffed)


def consumable(g: Any, index: int) -> str:
    """A held consumable by place."""
    edition = int(g.consumable_edition[index])
    return _with_extras(CONSUMABLES.name(int(g.consumable_id[index])), EDITIONS.name(edition) if edition else "")


def offer(g: Any, place: int) -> str:
    """A card in the shop or in a pack by place among the offers."""
    kind, identifier, edition = int(g.offer_kind[place]), int(g.offer_id[place]), int(g.offer_edition[place])
    if kind == OFFER_CARD:
        enhancement, seal = int(g.offer_enhancement[place]), int(g.offer_seal[place])
        return _playing_card(identifier, int(g.offer_suit[place]), enhancement, edition, seal)
    name = (JOKERS if kind == OFFER_JOKER else CONSUMABLES).name(identifier)
    return _with_extras(name, EDITIONS.name(edition) if edition else "")


def _listed(title: str, items: list[str]) -> list[str]:
    return [f"{title}: {', '.join(items)}"] if items else []


def _situation(g: Any) -> list[str]:
    """Lines about what is to be decided."""
    if g.phase == BLIND_SELECT:
        blind = ("Small Blind", "Big Blind", BLINDS.name(int(g.boss)))[g.on_deck]
        tag = f"; skipping it brings the {TAGS.name(int(g.skip_tag[g.on_deck]))}" if g.on_deck < 2 else ""
        return [f"Next is {blind}{tag}. Boss of the ante: {BLINDS.name(int(g.boss))}."]
    if g.phase == SELECTING_HAND:
        return [
            f"{BLINDS.name(int(g.blind))}: {g.score:g} of {g.requirement:g} points, {int(g.hands_left)} hands and "
            f"{int(g.discards_left)} discards left, {int(g.pile_count)} cards undrawn."
        ]
    if g.phase == ROUND_EVAL:
        return [f"The round is won and pays ${int(g.payout)}."]
    lines = []
    if g.phase == PACK:
        lines.append(f"{PACKS.name(int(g.pack_id))}, {int(g.pack_picks)} to pick.")
        lines += _listed("Pack", [offer(g, FIRST_PACK_OFFER + i) for i in range(g.pack_count)])
    elif g.phase == SHOP:
        lines += _listed("Shop", [offer(g, place) for place in range(g.shop_count)])
        lines += _listed("Vouchers", [VOUCHERS.name(int(g.shop_voucher[i])) for i in range(g.voucher_count)])
        lines += _listed("Boosters", [PACKS.name(int(g.booster_id[i])) for i in range(g.booster_count)])
    return lines


def _choice(g: Any) -> list[str]:
    if g.grabbed != NOTHING:
        return [f"Moving {_grabbed(g)}."]
    return _listed("Chosen", [hand_card(g, place) for place in range(g.hand_count) if int(g.selected) >> place & 1])


def _grabbed(g: Any) -> str:
    index = int(g.grabbed_index)
    if g.grabbed == GRABBED_JOKER:
        return joker(g, index)
    return consumable(g, index) if g.grabbed == GRABBED_CONSUMABLE else hand_card(g, index)


def describe(g: Any) -> str:
    """The situation of a game."""
    lines = [f"Ante {int(g.ante)}, round {int(g.rounds)}, ${int(g.money)}: {PHASE_NAMES[g.phase].replace('_', ' ')}."]
    lines += _situation(g)
    lines += _listed("Hand", [hand_card(g, place) for place in range(g.hand_count)])
    lines += _listed("Jokers", [joker(g, index) for index in range(g.joker_count)])
    lines += _listed("Consumables", [consumable(g, index) for index in range(g.consumable_count)])
    lines += _listed("Tags", [TAGS.name(int(tag)) for tag in g.tag_id[: g.tag_count]])
    return "\n".join(lines + _choice(g))


# What an action of each kind is about: (count in the record, words of one by its index).
_SUBJECTS = {
    actions.CHOOSE: ("hand_count", hand_card),
    actions.GRAB_HAND: ("hand_count", hand_card),
    run.USE: ("consumable_count", consumable),
    run.SELL_CONSUMABLE: ("consumable_count", consumable),
    actions.GRAB_CONSUMABLE: ("consumable_count", consumable),
    run.SELL_JOKER: ("joker_count", joker),
    actions.GRAB_JOKER: ("joker_count", joker),
    run.BUY: ("shop_count", offer),
    run.BUY_AND_USE: ("shop_count", offer),
    run.PICK: ("pack_count", lambda g, index: offer(g, FIRST_PACK_OFFER + index)),
    run.REDEEM: ("voucher_count", lambda g, index: VOUCHERS.name(int(g.shop_voucher[index]))),
    run.OPEN: ("booster_count", lambda g, index: PACKS.name(int(g.booster_id[index]))),
}


def describe_action(g: Any, action: int) -> str:
    """An action in words; where it is about cards that are there, with their names."""
    label = actions.ACTIONS.label(action)
    kind, index = int(actions.KIND[action]), int(actions.INDEX[action])
    if kind in (run.PLAY, run.DISCARD):
        places = [place for place in range(g.hand_count) if int(actions.TARGETS[action]) >> place & 1]
        return f"{label}: {' '.join(hand_card(g, place) for place in places)}" if places else label
    if kind in _SUBJECTS:
        count, words = _SUBJECTS[kind]
        return f"{label}: {words(g, index)}" if index < g[count] else label
    return label
