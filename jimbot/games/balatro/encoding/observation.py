"""The observation: everything a player may know, written as one flat row of float32.

Fields and columns are declared in `fields.py`; here each part of the game writes its own. What the game hides stays
hidden: a face-down card or joker shows that it is there and nothing else, a face-down hand card still counts as a card
of the deck, the order of the pile and coming shops appear nowhere.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.encoding import fields, observed_offers
from jimbot.games.balatro.encoding.appraise import write_worths
from jimbot.games.balatro.encoding.candidates import write_helpers
from jimbot.games.balatro.encoding.fields import FIELDS, WIDTH
from jimbot.games.balatro.encoding.scaling import count_log, share, symlog, value_log
from jimbot.games.balatro.rules import state
from jimbot.games.balatro.rules.antes import NO_SUIT, requirement_of
from jimbot.games.balatro.rules.bosses.blind import blind_on_deck
from jimbot.games.balatro.rules.bosses.dispatch import vetoes
from jimbot.games.balatro.rules.chance.streams import BANKS
from jimbot.games.balatro.rules.content import HANDS, JOKERS, NEGATIVE, STONE, TAGS, VOUCHERS
from jimbot.games.balatro.rules.inventory import debt_floor, odds_numerator
from jimbot.games.balatro.rules.jokers.evaluate import acts_as
from jimbot.games.balatro.rules.jokers.registry import MAIN_ARGUMENT
from jimbot.games.balatro.rules.payout import interest
from jimbot.games.balatro.rules.playing_cards.piles import hand_limit, is_chosen
from jimbot.games.balatro.rules.scoring import level_chips, level_mult
from jimbot.games.balatro.rules.scratch import MAX_PLAYED
from jimbot.games.balatro.rules.shop.prices import consumable_sell_value, joker_sell_value
from jimbot.games.balatro.rules.tags import ORBITAL

__all__ = ["FIELDS", "WIDTH", "write"]

_PHASE = fields.start("phase")
_HAND_CARD, _HAND_ENHANCEMENT = fields.start("hand_card"), fields.start("hand_enhancement")
_HAND_EDITION, _HAND_SEAL = fields.start("hand_edition"), fields.start("hand_seal")
_CARD_PRESENT, _CARD_DOWN, _CARD_WEAK, _CARD_SELECTED, _CARD_HELD, _CARD_USED, _CARD_CHIPS, _CARD_GRABBED = (
    fields.places("hand")
)
_JOKER_ID, _JOKER_EDITION, _JOKER_COPIES = (
    fields.start("joker_id"),
    fields.start("joker_edition"),
    fields.start("joker_copies"),
)
(
    _JOKER_PRESENT, _JOKER_DOWN, _JOKER_WEAK, _JOKER_ETERNAL, _JOKER_PERISHABLE, _JOKER_RENTAL, _JOKER_PINNED,
    _JOKER_ROUNDS, _JOKER_VALUE, _JOKER_COUNTER, _JOKER_SELLS, _JOKER_GRABBED,
) = fields.places("jokers")  # fmt: skip
_CONSUMABLE_ID = fields.start("consumable_id")
_CONSUMABLE_PRESENT, _CONSUMABLE_NEGATIVE, _CONSUMABLE_SELLS, _CONSUMABLE_GRABBED = fields.places("consumables")
_LEFT, _TOTAL, _LEFT_KINDS, _TOTAL_KINDS = (
    fields.start(name) for name in ("deck_left", "deck_total", "deck_left_kinds", "deck_total_kinds")
)
_KINDS = fields.stride("deck_total_kinds")
_EDITION_KIND, _SEAL_KIND = 8 - 1, 8 + 3 - 1  # columns before the first edition and the first seal, less their id 1
_LEVEL, _PLAYED, _PLAYED_ROUND, _CHIPS, _MULT, _MOST_PLAYED, _BLOCKED, _TO_DO = fields.places("hands")
_HANDS, _HAND_STRIDE = len(HANDS), fields.stride("hands")
_LAST_HAND = fields.start("last_hand")
_BLIND_ID, _BOSS_ID, _SKIP_TAG, _SKIP_TAG_HAND, _TAGS = (
    fields.start(name) for name in ("blind_id", "boss_id", "skip_tag", "skip_tag_hand", "tags")
)
(
    _REQUIREMENT, _BOSS_REQUIREMENT, _SCORE, _SCORE_SHARE, _MISSING, _HANDS_LEFT, _DISCARDS_LEFT, _HANDS_PLAYED_ROUND,
    _DISCARDS_USED, _DISABLED, _SMALL_UP, _BIG_UP, _BOSS_UP,
) = fields.places("blind")  # fmt: skip
_TAG_COUNT = len(TAGS)
_VOUCHERS, _VOUCHER_COUNT = fields.start("vouchers"), len(VOUCHERS)
_MONEY, _SPENDABLE, _INTEREST, _INTEREST_CAP, _INTEREST_PER_FIVE, _PAYOUT, _DISCOUNT = fields.places("money")
(
    _ANTE, _ANTES_TO_WIN, _WON, _ENDLESS, _ROUNDS, _STEPS, _HANDS_PER_ROUND, _DISCARDS_PER_ROUND, _HAND_LIMIT,
    _HAND_COUNT, _PILE_COUNT, _CARD_COUNT, _CARDS_LOST, _JOKER_SLOTS, _JOKER_COUNT, _CONSUMABLE_SLOTS,
    _CONSUMABLE_COUNT, _SHOP_SLOTS, _EDITION_RATE, _ODDS, _SKIPS, _HANDS_PLAYED, _UNUSED_DISCARDS, _TAROTS_USED,
    _PLANETS_USED, _ECTOPLASM, _MICHEL, _SORT, _REORDERINGS,
) = fields.places("run")  # fmt: skip
_DECK, _STAKE, _CHALLENGE, _IDOL, _MAIL, _SUITS, _FOOL = (
    fields.start(name)
    for name in ("deck", "stake", "challenge", "idol_card", "mail_rank", "target_suits", "fool_copies")
)
_CARD_STRIDE, _JOKER_STRIDE, _CONSUMABLE_STRIDE = (
    fields.stride("hand"),
    fields.stride("jokers"),
    fields.stride("consumables"),
)
_PER_CELL = 1 / 4
_MOST_STEPS = 3000.0
_PERISH_ROUNDS = 5.0
_BLUEPRINT, _BRAINSTORM = JOKERS.id("j_blueprint"), JOKERS.id("j_brainstorm")
_LOYALTY, _TODO = JOKERS.id("j_loyalty_card"), JOKERS.id("j_todo_list")
_LOYALTY_EVERY = int(MAIN_ARGUMENT[_LOYALTY])


@njit
def _bit(flags, mask):
    return 1.0 if flags & mask else 0.0


# --- what is held ---


@njit
def _write_hand(g, out):
    for row in range(min(g.hand_count, fields.HAND_ROWS)):
        slot = g.hand[row]
        flags = g.card_flags[slot]
        at = row * _CARD_STRIDE
        out[at + _CARD_PRESENT] = 1.0
        out[at + _CARD_SELECTED] = 1.0 if is_chosen(g.selected, row) else 0.0
        out[at + _CARD_HELD] = _bit(flags, state.CARD_FORCED)
        if flags & state.CARD_FACE_DOWN:
            out[at + _CARD_DOWN] = 1.0
            continue
        out[at + _CARD_WEAK] = _bit(flags, state.CARD_DEBUFFED)
        out[at + _CARD_USED] = _bit(flags, state.CARD_PLAYED_THIS_ANTE)
        out[at + _CARD_CHIPS] = count_log(g.card_extra_chips[slot])
        enhancement = g.card_enhancement[slot]
        if enhancement == STONE:
            out[_HAND_CARD + row] = fields.STONE_ITEM
        else:
            out[_HAND_CARD + row] = 1 + 4 * (np.int64(g.card_rank[slot]) - 2) + g.card_suit[slot]
        out[_HAND_ENHANCEMENT + row] = enhancement
        out[_HAND_EDITION + row] = g.card_edition[slot]
        out[_HAND_SEAL + row] = g.card_seal[slot]


@njit
def _joker_counter(g, row, joker):
    """Loyalty Card: hands until it acts. Yorick, Invisible Joker: what is left. To Do List's hand is with the hands."""
    if joker == _LOYALTY:
        waited = g.hands_played - g.joker_counter[row]
        return (_LOYALTY_EVERY - waited) % (_LOYALTY_EVERY + 1)
    return 0 if joker == _TODO else g.joker_counter[row]


@njit
def _write_joker(g, row, out):
    joker = np.int64(g.joker_id[row])
    flags = g.joker_flags[row]
    at = row * _JOKER_STRIDE
    out[_JOKER_ID + row] = fields.FIRST_JOKER_ITEM + joker
    out[_JOKER_EDITION + row] = g.joker_edition[row]
    if joker == _BLUEPRINT or joker == _BRAINSTORM:
        copied = acts_as(g, row)
        if copied >= 0:
            out[_JOKER_COPIES + row] = fields.FIRST_JOKER_ITEM + np.int64(g.joker_id[copied])
    elif joker == _TODO:
        out[_TO_DO + g.joker_counter[row] * _HAND_STRIDE] = 1.0
    out[at + _JOKER_WEAK] = _bit(flags, state.DEBUFFED)
    out[at + _JOKER_ETERNAL] = _bit(flags, state.ETERNAL)
    out[at + _JOKER_PERISHABLE] = _bit(flags, state.PERISHABLE)
    out[at + _JOKER_RENTAL] = _bit(flags, state.RENTAL)
    out[at + _JOKER_PINNED] = _bit(flags, state.PINNED)
    out[at + _JOKER_ROUNDS] = g.joker_perish[row] / _PERISH_ROUNDS
    out[at + _JOKER_VALUE] = value_log(g.joker_value[row])
    out[at + _JOKER_COUNTER] = count_log(_joker_counter(g, row, joker))
    out[at + _JOKER_SELLS] = count_log(joker_sell_value(g, row))


@njit
def _write_jokers(g, out):
    for row in range(min(g.joker_count, fields.JOKER_ROWS)):
        out[row * _JOKER_STRIDE + _JOKER_PRESENT] = 1.0
        if g.joker_flags[row] & state.FACE_DOWN:
            out[row * _JOKER_STRIDE + _JOKER_DOWN] = 1.0
        else:
            _write_joker(g, row, out)


@njit
def _write_consumables(g, out):
    for row in range(min(g.consumable_count, fields.CONSUMABLE_ROWS)):
        at = row * _CONSUMABLE_STRIDE
        out[_CONSUMABLE_ID + row] = fields.FIRST_CONSUMABLE_ITEM + np.int64(g.consumable_id[row])
        out[at + _CONSUMABLE_PRESENT] = 1.0
        out[at + _CONSUMABLE_NEGATIVE] = 1.0 if g.consumable_edition[row] == NEGATIVE else 0.0
        out[at + _CONSUMABLE_SELLS] = count_log(consumable_sell_value(g, row))


@njit
def _write_grabbed(g, out):
    """Marks the card that is being moved."""
    row = np.int64(g.grabbed_index)
    if g.grabbed == state.GRABBED_JOKER and row < fields.JOKER_ROWS:
        out[row * _JOKER_STRIDE + _JOKER_GRABBED] = 1.0
    elif g.grabbed == state.GRABBED_CONSUMABLE and row < fields.CONSUMABLE_ROWS:
        out[row * _CONSUMABLE_STRIDE + _CONSUMABLE_GRABBED] = 1.0
    elif g.grabbed == state.GRABBED_HAND_CARD and row < fields.HAND_ROWS:
        out[row * _CARD_STRIDE + _CARD_GRABBED] = 1.0


# --- the deck and the poker hands ---


@njit
def _count_kinds(g, slot, kinds, out):
    if g.card_enhancement[slot] != 0:
        out[kinds + np.int64(g.card_enhancement[slot]) - 1] += 1
    if g.card_edition[slot] != 0:
        out[kinds + _EDITION_KIND + np.int64(g.card_edition[slot])] += 1
    if g.card_seal[slot] != 0:
        out[kinds + _SEAL_KIND + np.int64(g.card_seal[slot])] += 1


@njit
def _write_deck(g, out):
    """A face-down hand card counts as a card of the deck, so that no difference of counts gives it away."""
    special = False
    for index in range(g.card_count):
        slot = g.cards[index]
        unseen = g.card_place[slot] == state.IN_DECK or (g.card_flags[slot] & state.CARD_FACE_DOWN) != 0
        if g.card_enhancement[slot] != STONE:
            cell = 4 * (np.int64(g.card_rank[slot]) - 2) + np.int64(g.card_suit[slot])
            out[_TOTAL + cell] += _PER_CELL
            if unseen:
                out[_LEFT + cell] += _PER_CELL
        if g.card_enhancement[slot] | g.card_edition[slot] | g.card_seal[slot]:
            special = True
            _count_kinds(g, slot, _TOTAL_KINDS, out)
            if unseen:
                _count_kinds(g, slot, _LEFT_KINDS, out)
    if special:
        for kind in range(_KINDS):
            out[_LEFT_KINDS + kind] = count_log(np.int64(out[_LEFT_KINDS + kind]))
            out[_TOTAL_KINDS + kind] = count_log(np.int64(out[_TOTAL_KINDS + kind]))


@njit
def _write_poker_hands(g, out):
    in_round = g.phase == state.SELECTING_HAND
    for hand in range(_HANDS):
        at = hand * _HAND_STRIDE
        out[at + _LEVEL] = count_log(g.hand_level[hand] - 1)
        out[at + _PLAYED] = count_log(g.hand_played[hand])
        out[at + _PLAYED_ROUND] = count_log(g.hand_played_round[hand])
        out[at + _CHIPS] = count_log(np.int64(level_chips(g, hand)))
        out[at + _MULT] = count_log(np.int64(level_mult(g, hand)))
        if in_round and vetoes(g, hand, MAX_PLAYED):
            out[at + _BLOCKED] = 1.0
    if g.most_played_hand >= 0:
        out[_MOST_PLAYED + np.int64(g.most_played_hand) * _HAND_STRIDE] = 1.0
    out[_LAST_HAND] = g.last_hand + 1


# --- the blind ---


@njit
def _write_blind(g, out):
    out[_BOSS_ID] = np.int64(g.boss) + 1
    out[_BOSS_REQUIREMENT] = symlog(requirement_of(g, g.boss))
    if g.phase == state.SELECTING_HAND or g.phase == state.GAME_OVER:
        out[_BLIND_ID] = np.int64(g.blind) + 1
        out[_REQUIREMENT] = symlog(g.requirement)
        out[_SCORE] = symlog(g.score)
        out[_SCORE_SHARE] = share(g.score, g.requirement)
        out[_MISSING] = symlog(max(0.0, g.requirement - g.score))
        out[_HANDS_LEFT] = count_log(g.hands_left)
        out[_DISCARDS_LEFT] = count_log(g.discards_left)
        out[_HANDS_PLAYED_ROUND] = count_log(g.hands_played_round)
        out[_DISCARDS_USED] = count_log(g.discards_used)
        out[_DISABLED] = 1.0 if g.blind_disabled else 0.0
    elif g.phase != state.ROUND_EVAL:  # there the next blind is not shown yet
        blind = np.int64(blind_on_deck(g))
        out[_BLIND_ID] = blind + 1
        out[_REQUIREMENT] = symlog(requirement_of(g, blind))
    out[_SMALL_UP + np.int64(g.on_deck)] = 1.0


@njit
def _write_tags(g, out):
    bank = (g.ante + BANKS * (1 << 20)) % BANKS
    for place in range(2):
        if g.blind_state[place] == state.UPCOMING or g.blind_state[place] == state.SELECTABLE:
            out[_SKIP_TAG + place] = np.int64(g.skip_tag[place]) + 1
            if g.skip_tag[place] == ORBITAL and g.orbital_ante[bank] == g.ante:
                out[_SKIP_TAG_HAND + place] = g.orbital_hand[bank, place] + 1
    for index in range(g.tag_count):
        out[_TAGS + np.int64(g.tag_id[index])] += 1.0
    if g.tag_count > 0:
        for tag in range(_TAG_COUNT):
            out[_TAGS + tag] = count_log(np.int64(out[_TAGS + tag]))


# --- the run ---


@njit
def _write_money(g, out):
    out[_MONEY] = count_log(g.money)
    out[_SPENDABLE] = count_log(g.money - debt_floor(g))
    out[_INTEREST] = count_log(interest(g))
    out[_INTEREST_CAP] = g.interest_cap / 100.0
    out[_INTEREST_PER_FIVE] = count_log(g.interest_per_five)
    if g.phase == state.ROUND_EVAL:
        out[_PAYOUT] = count_log(g.payout)
    out[_DISCOUNT] = g.discount_percent / 100.0


@njit
def _write_limits(g, out):
    out[_HANDS_PER_ROUND] = count_log(g.hands_per_round)
    out[_DISCARDS_PER_ROUND] = count_log(g.discards_per_round)
    out[_HAND_LIMIT] = count_log(hand_limit(g))
    out[_HAND_COUNT] = count_log(g.hand_count)
    out[_PILE_COUNT] = count_log(g.pile_count)
    out[_CARD_COUNT] = count_log(g.card_count)
    out[_CARDS_LOST] = count_log(g.starting_deck_size - g.card_count)
    out[_JOKER_SLOTS] = count_log(g.joker_slots)
    out[_JOKER_COUNT] = count_log(g.joker_count)
    out[_CONSUMABLE_SLOTS] = count_log(g.consumable_slots)
    out[_CONSUMABLE_COUNT] = count_log(g.consumable_count)
    out[_SHOP_SLOTS] = count_log(g.shop_slots)
    out[_EDITION_RATE] = g.edition_rate / 4.0
    out[_ODDS] = count_log(np.int64(odds_numerator(g)))


@njit
def _write_run(g, out):
    out[_ANTE] = g.ante / 8.0
    out[_ANTES_TO_WIN] = max(0, g.win_ante - g.ante) / 8.0
    out[_WON] = 1.0 if g.won else 0.0
    out[_ENDLESS] = 1.0 if g.endless else 0.0
    out[_ROUNDS] = count_log(g.rounds)
    out[_STEPS] = g.steps / _MOST_STEPS
    out[_SKIPS] = count_log(g.skips)
    out[_HANDS_PLAYED] = count_log(g.hands_played)
    out[_UNUSED_DISCARDS] = count_log(g.unused_discards)
    out[_TAROTS_USED] = count_log(g.tarots_used)
    planets = 0
    for planet in range(12):
        planets += g.planets_used >> planet & 1
    out[_PLANETS_USED] = count_log(planets)
    out[_ECTOPLASM] = count_log(g.ectoplasm_uses)
    out[_MICHEL] = 1.0 if g.michel_extinct else 0.0
    out[_SORT] = 1.0 if g.sort_by_suit else 0.0
    out[_REORDERINGS] = count_log(g.reorderings)
    for voucher in range(_VOUCHER_COUNT):
        out[_VOUCHERS + voucher] = g.voucher_owned[voucher]


@njit
def _write_targets(g, out):
    out[_DECK] = np.int64(g.deck) + 1
    out[_STAKE] = g.stake
    out[_CHALLENGE] = g.challenge
    out[_IDOL] = 1 + 4 * (np.int64(g.idol_rank) - 2) + g.idol_suit
    out[_MAIL] = g.mail_rank
    if g.ancient_suit != NO_SUIT:
        out[_SUITS] = g.ancient_suit + 1
    out[_SUITS + 1] = g.castle_suit + 1
    if g.last_tarot_planet >= 0:
        out[_FOOL] = fields.FIRST_CONSUMABLE_ITEM + np.int64(g.last_tarot_planet)


@njit
def write(g, s, helpers, out):
    """Writes the observation of a game into `out`, (WIDTH,) float32; `s` is working space.

    `helpers` adds what an engine can work out and a player could: the best certain scores of this hand, and in a shop
    what a joker would do for typical hands.
    """
    for place in range(WIDTH):
        out[place] = 0.0
    out[_PHASE + g.phase] = 1.0
    _write_hand(g, out)
    _write_jokers(g, out)
    _write_consumables(g, out)
    _write_grabbed(g, out)
    _write_deck(g, out)
    _write_poker_hands(g, out)
    _write_blind(g, out)
    _write_tags(g, out)
    _write_money(g, out)
    _write_limits(g, out)
    _write_run(g, out)
    _write_targets(g, out)
    if g.phase == state.SHOP or g.phase == state.PACK:
        observed_offers.write(g, out)
    observed_offers.write_boss_reroll(g, out)
    if helpers and g.phase == state.SELECTING_HAND:
        write_helpers(g, s, out)
    elif helpers and (g.phase == state.SHOP or g.phase == state.PACK):
        write_worths(g, s, out)
