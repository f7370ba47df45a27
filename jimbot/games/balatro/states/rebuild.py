"""A game record put together from one live state, without any memory of the game.

What the state does not tell has its start value and is named (`live/memory.py`). Face-down cards get any unseen card
they could be; who uses the record deals them anew (`rules/hidden.py`). Nothing random in it comes from the game's seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jimbot.games.balatro.rules import content, state
from jimbot.games.balatro.rules.chance.streams import seed_bytes
from jimbot.games.balatro.rules.integrity import FAULTS
from jimbot.games.balatro.rules.scratch import new_scratch
from jimbot.games.balatro.states import dialects as d
from jimbot.games.balatro.states import staging
from jimbot.games.balatro.states.shown import CARD, CONSUMABLE, JOKER, UNSEEN, Card, LiveStateError, Shown
from jimbot.games.balatro.view.derived import read_derived

ANY_SEED = "11111111"  # of the streams: what comes is not known
_MARK, _MANACLE, _EYE, _MOUTH = (content.BLINDS.id(key) for key in ("bl_mark", "bl_manacle", "bl_eye", "bl_mouth"))
_CHAOS, _LOYALTY = content.JOKERS.id("j_chaos"), content.JOKERS.id("j_loyalty_card")
_ORBITAL = content.TAGS.id("tag_orbital")
_DIRECTORS_CUT = content.VOUCHERS.id("v_directors_cut")
_GROWS = frozenset(content.JOKERS.id(row["key"]) for row in content.JOKERS if "start" in row)
_DECK_SIZES = {content.DECKS.id("b_abandoned"): 40}
_PHASE = {d.BLIND_SELECT: state.BLIND_SELECT, d.SELECTING_HAND: state.SELECTING_HAND, d.SHOP: state.SHOP,
          d.ROUND_EVAL: state.ROUND_EVAL, d.PACK: state.PACK, d.GAME_OVER: 5}  # fmt: skip
_OFFER = {JOKER: state.OFFER_JOKER, CONSUMABLE: state.OFFER_CONSUMABLE, CARD: state.OFFER_CARD}
_CAPS = {"jokers": state.MAX_JOKERS, "consumables": state.MAX_CONSUMABLES, "hand": state.MAX_HAND,
         "shop": state.MAX_SHOP_CARDS, "vouchers": state.MAX_SHOP_VOUCHERS, "packs": state.MAX_BOOSTERS,
         "pack": state.MAX_PACK_CARDS}  # fmt: skip


def rebuild(shown: Shown, endless: bool = False) -> tuple[Any, set[str]]:
    """(the record, what it had to assume)."""
    for name, cap in _CAPS.items():
        if len(shown.areas[name].cards) > cap:
            raise LiveStateError(f"'{name}' has {len(shown.areas[name].cards)} cards; the simulator holds {cap}.")
    g, s = state.new_games(1)[0], new_scratch()[0]
    g.seed, g.seed_length = seed_bytes(ANY_SEED)
    g.deck, g.stake, g.challenge, g.endless = shown.deck, shown.stake, shown.challenge, endless
    staging.stage(g, s, staging.CLEAR)
    for voucher in sorted(shown.vouchers):
        if not g.voucher_owned[voucher]:
            staging.stage(g, s, staging.OWN_VOUCHER, voucher)
    _place_cards(g, shown)
    _hold(g, s, shown)
    _write_run(g, shown)
    _write_blinds(g, shown)
    _write_goods(g, shown)
    for name, value in shown.known.items():
        g[name] = value
    require_sound(g)
    _settle(g, s, shown)
    return g, _assumed(g, shown)


def require_sound(g: Any) -> None:
    """Refuses a record that the compiled rules must not see."""
    fault = staging.stage(g, new_scratch()[0], staging.FIND_FAULT)
    if fault:
        raise LiveStateError(f"The state cannot be one of a game: it {FAULTS[fault]}.")


# --- cards ---


def _place_cards(g: Any, shown: Shown) -> None:
    """All cards that can be counted: the unseen ones in the deck, those in the hand, and those laid away."""
    unseen = list(shown.unseen)
    hand: list[tuple[Card, Card]] = []  # (as it lies there, what it is)
    for card in shown.areas["hand"].cards:
        hand.append((card, _any_unseen(unseen, shown) if card.kind == UNSEEN else card))
    lie = [(state.IN_DECK, unseen), (state.IN_HAND, [card for _, card in hand]), (state.IN_DISCARD, shown.laid_away)]
    cards = sorted(((card, at, place) for at, area in lie for place, card in enumerate(area)), key=_age)
    if len(cards) > state.MAX_CARDS:
        raise LiveStateError(f"The deck has {len(cards)} cards; the simulator holds {state.MAX_CARDS}.")
    g.hand_count, g.card_count = len(hand), len(cards)
    pile = []
    for slot, (card, at, place) in enumerate(cards):
        g.card_place[slot], g.card_extra_chips[slot] = at, card.chips
        g.card_rank[slot], g.card_suit[slot], g.card_first_suit[slot] = card.rank, card.suit, card.suit
        g.card_enhancement[slot], g.card_edition[slot], g.card_seal[slot] = card.enhancement, card.edition, card.seal
        g.card_serial[slot], g.cards[slot] = slot, slot
        g.enhancement_count[card.enhancement] += 1
        flags = state.CARD_DEBUFFED * card.debuffed | card.marks
        if at == state.IN_DECK:
            pile.append(slot)
        elif at == state.IN_HAND:
            g.hand[place] = slot
            lying = hand[place][0]
            flags |= state.CARD_FORCED * lying.forced | state.CARD_FACE_DOWN * (lying.kind == UNSEEN)
        g.card_flags[slot] = flags
    g.pile_count = len(pile)
    g.pile[: len(pile)] = pile


def _age(entry: tuple[Card, int, int]) -> tuple[int, ...]:
    card = entry[0]
    return (card.serial, card.rank, card.suit, card.enhancement, card.edition, card.seal)


def _any_unseen(unseen: list[Card], shown: Shown) -> Card:
    """Takes a card that may lie face down out of the unseen ones."""
    if not unseen:
        raise LiveStateError("A card of the hand lies face down, and no card is unseen; this state contradicts itself.")
    faces = [card for card in unseen if 11 <= card.rank <= 13 and card.enhancement != content.STONE]
    chosen = faces[0] if faces and _boss_now(shown) == _MARK else unseen[0]
    unseen.remove(chosen)
    return chosen


def _boss_now(shown: Shown) -> int:
    """The boss being played, -1 for none."""
    return shown.blinds[2].id if d.STATUS[shown.blinds[2].status] == "CURRENT" else -1


def _hold(g: Any, s: Any, shown: Shown) -> None:
    for index, card in enumerate(_jokers(shown)):
        if card.id < 0:
            raise LiveStateError("A joker lies face down and was never seen; follow the game from before that.")
        flags = (
            state.ETERNAL * card.eternal
            | state.PERISHABLE * (card.perishable > 0)
            | state.RENTAL * card.rental
            | card.marks
        )
        counter = int(g.hands_played) if card.id == _LOYALTY else 0
        staging.stage(g, s, staging.ADD_JOKER, card.id, card.edition, flags | state.DEBUFFED * card.debuffed, counter)
        g.joker_perish[index], g.joker_serial[index] = min(card.perishable, 127), index
        g.joker_flags[index] |= state.FACE_DOWN * (card.kind == UNSEEN)
    for index, card in enumerate(shown.areas["consumables"].cards):
        staging.stage(g, s, staging.ADD_CONSUMABLE, card.id, card.edition)
        g.consumable_serial[index] = index


def _jokers(shown: Shown) -> list[Card]:
    """The jokers; which of the face-down ones lies where is not known, so they lie there in an order of our own."""
    cards = shown.areas["jokers"].cards
    hidden = iter(sorted(card for card in cards if card.kind == UNSEEN))
    return [next(hidden) if card.kind == UNSEEN else card for card in cards]


# --- the run ---


def _write_run(g: Any, shown: Shown) -> None:
    counters = shown.counters
    g.ante, g.rounds, g.money, g.won = shown.ante, shown.round, shown.money, shown.won
    g.phase = _PHASE[shown.state]
    g.pack_phase = state.BLIND_SELECT if shown.choosing else state.SHOP
    g.hand_level[:], g.hand_played[:], g.hand_played_round[:] = shown.levels, shown.played, shown.played_this_round
    g.hands_played = sum(shown.played)
    for name, slots in (("jokers", "joker_slots"), ("consumables", "consumable_slots")):
        if shown.areas[name].limit >= 0:
            g[slots] = shown.areas[name].limit
    g.round_hand_size = -1 if _boss_now(shown) == _MANACLE else 0
    g.hand_size = shown.areas["hand"].limit - g.round_hand_size
    g.hands_left, g.discards_left = int(counters.get("hands_left", 0)), int(counters.get("discards_left", 0))
    g.hands_played_round, g.discards_used = int(counters.get("hands_played", 0)), int(counters.get("discards_used", 0))
    g.score = float(counters.get("chips", 0.0))
    g.starting_deck_size = shown.starting_deck_size or _DECK_SIZES.get(shown.deck, 52)
    g.first_booster_given = shown.round > 0
    g.next_serial = int(g.card_count) + int(g.joker_count) + int(g.consumable_count)
    if shown.fool is not None:
        g.last_tarot_planet = shown.fool
    if shown.most_played is not None:
        g.most_played_hand = shown.most_played
    for tag in (shown.tags or ())[: state.MAX_TAGS]:
        g.tag_id[g.tag_count], g.tag_hand[g.tag_count] = tag, -1
        g.tag_count += 1


def _write_blinds(g: Any, shown: Shown) -> None:
    g.boss = shown.blinds[2].id
    for place, blind in enumerate(shown.blinds):
        g.blind_state[place] = blind.status
        if place < 2:
            g.skip_tag[place] = max(0, blind.tag)
    g.on_deck = _on_deck([d.STATUS[blind.status] for blind in shown.blinds], shown)
    if shown.in_shop:
        g.blind_state[g.on_deck] = state.SELECTABLE
    if g.phase == state.SELECTING_HAND:
        g.blind = (0, 1, g.boss)[g.on_deck]
        played = [hand for hand, count in enumerate(shown.played_this_round) if count]
        if g.blind == _EYE:
            g.eye_used = sum(1 << hand for hand in played)
        g.mouth_hand = played[0] if g.blind == _MOUTH and played else -1


def _on_deck(statuses: Sequence[str], shown: Shown) -> int:
    for wanted in ("CURRENT", "SELECT"):
        if wanted in statuses:
            return statuses.index(wanted)
    if shown.state == d.ROUND_EVAL:  # the one just beaten
        return max((place for place, status in enumerate(statuses) if status == "DEFEATED"), default=0)
    return statuses.index("UPCOMING") if "UPCOMING" in statuses else 2


# --- goods ---


def _write_goods(g: Any, shown: Shown) -> None:
    if shown.in_shop:
        shop = shown.areas["shop"].cards
        g.shop_count = len(shop)
        for place, card in enumerate(shop):
            _write_offer(g, place, card)
        for index, card in enumerate(shown.areas["vouchers"].cards):
            g.shop_voucher[index] = card.id
            g.ante_voucher = g.shop_voucher[0]
            g.voucher_count = index + 1
        for index, card in enumerate(shown.areas["packs"].cards):
            g.booster_id[index], g.booster_count = card.id, index + 1
            g.booster_free[index] = 0
    if shown.state == d.PACK:
        cards = shown.areas["pack"].cards
        g.pack_count, g.pack_picks = len(cards), 1
        for number, card in enumerate(cards):
            _write_offer(g, state.FIRST_PACK_OFFER + number, card)
        g.pack_id = _pack_like(cards, shown.areas["pack"].limit)


def _write_offer(g: Any, place: int, card: Card) -> None:
    if card.kind not in _OFFER:
        raise LiveStateError(f"A {card.kind} lies where cards are sold; this state cannot be read.")
    g.offer_kind[place] = _OFFER[card.kind]
    g.offer_id[place] = card.rank if card.kind == CARD else card.id
    g.offer_suit[place], g.offer_enhancement[place] = card.suit, card.enhancement
    g.offer_seal[place], g.offer_edition[place] = card.seal, card.edition
    g.offer_flags[place] = (
        state.ETERNAL * card.eternal | state.PERISHABLE * (card.perishable > 0) | state.RENTAL * card.rental
    )
    g.offer_counter[place], g.offer_serial[place] = 0, int(g.next_serial)
    g.next_serial += 1
    if card.kind != CARD:
        g.used[card.id if card.kind == JOKER else state.FIRST_CONSUMABLE_KEY + card.id] = 1


_KIND_OF_CARD = {"Tarot": "Arcana", "Planet": "Celestial", "Spectral": "Spectral"}


def _pack_like(cards: Sequence[Card], limit: int) -> int:
    """A pack that holds such cards, the smallest of that size; -1 in an empty one."""
    if not cards:
        return 0
    kinds = [_kind_of(card) for card in cards]
    kind = "Arcana" if "Arcana" in kinds else kinds[0]  # with Omen Globe Spectrals lie among Tarots
    fits = [
        p
        for p in range(len(content.PACKS))
        if content.PACK_KINDS[content.PACK_KIND[p]] == kind and content.PACK_CARDS[p] == limit
    ]
    return min(fits, key=lambda pack: content.PACK_PICKS[pack], default=0)


def _kind_of(card: Card) -> str:
    if card.kind == CONSUMABLE:
        return _KIND_OF_CARD[content.CONSUMABLES.rows[card.id]["set"]]
    return "Buffoon" if card.kind == JOKER else "Standard"


# --- what follows from all of it ---


def _settle(g: Any, s: Any, shown: Shown) -> None:
    """Values that the state shows as prices: what sells for more, what is free, what a reroll costs."""
    derived = read_derived(g)
    for index, card in enumerate(_jokers(shown)):
        g.joker_extra_value[index] = card.sell - int(derived.jokers[index])
    for index, card in enumerate(shown.areas["consumables"].cards):
        g.consumable_extra_value[index] = card.sell - int(derived.consumables[index])
    if g.phase == state.SELECTING_HAND and "requirement" not in shown.known:
        g.requirement = float(derived.requirements[g.on_deck])
    if not shown.in_shop:
        return
    for place, card in enumerate(shown.areas["shop"].cards):
        if card.buy == 0 and derived.offers[place] > 0:
            g.offer_flags[place] |= state.FREE
    for index, card in enumerate(shown.areas["packs"].cards):
        g.booster_free[index] = card.buy == 0 and derived.boosters[index] > 0
    if "reroll_increase" not in shown.known:
        _price_reroll(g, int(shown.counters.get("reroll_cost", 0)))


def _price_reroll(g: Any, cost: int) -> None:
    base = max(0, int(g.reroll_base))
    g.reroll_increase = 0
    if cost < base:
        g.free_rerolls = cost == 0 and _CHAOS in g.joker_id[: g.joker_count]
        g.d6_shop, g.reroll_increase = not g.free_rerolls, 0 if g.free_rerolls else cost
    else:
        g.free_rerolls, g.reroll_increase = 0, cost - base


def _assumed(g: Any, shown: Shown) -> set[str]:
    """What a record of this state had to assume."""
    jokers = shown.areas["jokers"].cards
    statuses = [d.STATUS[blind.status] for blind in shown.blinds]
    reasons = {
        "counts": True,
        "helpers": True,
        "targets": True,
        "last_hand": True,
        "joker_values": any(card.id in _GROWS for card in jokers),
        "joker_stickers": any(card.debuffed and not card.perishable for card in jokers),
        "deck": g.card_count < shown.deck_size,
        "card_chips": g.hand_count > 0,
        "played_this_ante": g.hand_count > 0,
        "tags": shown.tags is None,
        "tag_hands": any(
            blind.tag == _ORBITAL and status in ("UPCOMING", "SELECT")
            for blind, status in zip(shown.blinds[:2], statuses, strict=False)
        ),
        "free_rerolls": any(card.id == _CHAOS for card in jokers),
        "open_pack": g.phase == state.PACK,
        "payout": g.phase == state.ROUND_EVAL,
        "disabled": "CURRENT" in statuses[2:],
        "boss_reroll": bool(g.voucher_owned[_DIRECTORS_CUT]),
        "most_played": shown.most_played is None,
        "fool": shown.fool is None,
    }
    return {name for name, yes in reasons.items() if yes}
