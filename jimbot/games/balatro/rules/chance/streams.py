"""Which random streams exist, and where a game keeps them.

In the game a stream is named by text (`Joker2sho3`: joker, rarity 2, shop, ante 3) and lives for the whole run. Here a
stream is an integer: its text is a template in `TEMPLATES`, the ante filled in when it is hashed. A game stores one
float64 of state per stream:

- streams without ante in `fixed_streams`;
- streams with ante in `ante_streams`, three banks used in turn. Only two vouchers (Hieroglyph, Petroglyph) lower the
  ante, once each, so an ante more than 2 below the highest one reached can never come back and its bank is free;
- redraws of a pool (`…_resample2`, `…_resample3`, …) in a short list, since they are few but have no upper limit. When
  the list is full a redraw of another ante is forgotten, or else the deepest one. That takes some hundred blanks within
  one ante, and from then on such a game may differ from the original.

The hash runs from the end of `key + seed`, so its first part depends on the seed and on the length of the key alone;
`seed_hash[length]` keeps that part and each new stream hashes only its own key bytes.
"""

from __future__ import annotations

import re

import numpy as np

from jimbot.errors import UnknownNameError, UsageError
from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.chance import rng
from jimbot.games.balatro.rules.chance.rng import advance_state, first_double, hash_step, to_index

_FIXED = """
boss shuffle erratic orbital Voucher_fromtag Joker4 illusion omen_globe hook wheel flipped_card cerulean_bell
crimson_heart aajk to_do cert_fr certsl marb_fr lucky_mult lucky_money glass 8ball business bloodstone parking space
misprint gros_michel cavendish madness invisible perkeo wheel_of_fortune aura ectoplasm hex ankh_choice sigil ouija
immolate random_destroy familiar_create grim_create incantation_create spe_card
""".split()
_WITH_ANTE = """
nr{ante} cashout{ante} Tag{ante} Voucher{ante} idol{ante} mail{ante} anc{ante} cas{ante} cdt{ante} shop_pack{ante}
etperpoll{ante} packetper{ante} ssjr{ante} packssjr{ante} halu{ante}
stdset{ante} standard_edition{ante} stdseal{ante} stdsealtype{ante}
soul_Tarot{ante} soul_Planet{ante} soul_Spectral{ante}
rarity{ante}sho rarity{ante}buf rarity{ante}jud rarity{ante}sou
Joker1sho{ante} Joker2sho{ante} Joker3sho{ante} Joker1buf{ante} Joker2buf{ante} Joker3buf{ante}
Joker1jud{ante} Joker2jud{ante} Joker3jud{ante} Joker3wra{ante} Joker1rif{ante} Joker1top{ante} Joker2uta{ante}
Joker3rta{ante}
edisho{ante} edibuf{ante} edijud{ante} ediwra{ante} edisou{ante} edirif{ante} editop{ante} ediuta{ante} edirta{ante}
Tarotsho{ante} Tarotar1{ante} Tarotemp{ante} Tarotcar{ante} Tarot8ba{ante} Tarotvag{ante} Tarotsup{ante} Tarothal{ante}
Planetsho{ante} Planetpl1{ante} Planetpri{ante}
Spectralsho{ante} Spectralspe{ante} Spectralar2{ante} Spectralsea{ante} Spectralsixth{ante}
frontsho{ante} frontsta{ante} Enhancedsho{ante} Enhancedsta{ante}
""".split()
TEMPLATES: tuple[str, ...] = (*_FIXED, *_WITH_ANTE)
FIXED_COUNT = len(_FIXED)
ANTE_COUNT = len(_WITH_ANTE)
BANKS = 3  # antes whose streams are kept
RESAMPLE_CAPACITY = 96
MAX_KEY_LENGTH = 40  # the longest is Spectralsixth + ante + _resample + number
UNUSED = -1.0  # state of a stream not drawn from yet; real states are in [0, 1) or NaN

_IDS: dict[str, int] = {template: index for index, template in enumerate(TEMPLATES)}
_NO_ANTE_BANK = BANKS  # bank number of redraw streams without ante
_MAX_PART = 20
_RESAMPLE_BYTES = np.frombuffer(b"_resample", np.uint8).copy()
_RESAMPLE_LENGTH = len(_RESAMPLE_BYTES)


def stream_id(template: str) -> int:
    """The number of a stream by its text, `{ante}` standing for the ante.

    >>> TEMPLATES[stream_id("Joker2sho{ante}")]
    'Joker2sho{ante}'
    """
    if template not in _IDS:
        raise UnknownNameError("random stream", template, TEMPLATES)
    return _IDS[template]


def split_key(key: str) -> tuple[int, int, int]:
    """(stream, ante, redraw number) of a key as the game writes it; ante and redraw are 0 where there is none.

    >>> split_key("Joker1sho10_resample2") == (stream_id("Joker1sho{ante}"), 10, 2)
    True
    """
    base, _, redraw = key.partition("_resample")
    number = int(redraw) if redraw else 0
    if base in _IDS:
        return _IDS[base], 0, number
    for template in _WITH_ANTE:
        head, tail = template.split("{ante}")
        match = re.fullmatch(re.escape(head) + r"(-?\d+)" + re.escape(tail), base)
        # `Tarotar11` is Arcana 1 + ante 1, never stream `Tarotar` + 11; no template is a prefix of another's text.
        if match:
            return _IDS[template], int(match.group(1)), number
    raise UnknownNameError("random key", key, TEMPLATES)


def _key_tables() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    heads = np.zeros((len(TEMPLATES), _MAX_PART), np.uint8)
    tails = np.zeros((len(TEMPLATES), _MAX_PART), np.uint8)
    lengths = np.zeros((len(TEMPLATES), 2), np.int64)
    has_ante = np.zeros(len(TEMPLATES), np.bool_)
    for index, template in enumerate(TEMPLATES):
        head, mark, tail = template.partition("{ante}")
        heads[index, : len(head)] = np.frombuffer(head.encode(), np.uint8)
        tails[index, : len(tail)] = np.frombuffer(tail.encode(), np.uint8)
        lengths[index] = len(head), len(tail)
        has_ante[index] = bool(mark)
    return heads, tails, lengths, has_ante


_HEAD, _TAIL, _LENGTHS, _HAS_ANTE = _key_tables()

# What a game record needs for its streams (see state.py).
STREAM_FIELDS = [
    ("seed", np.uint8, (8,)),  # the seed text, padded with zeros
    ("seed_length", np.int32),
    ("hashed_seed", np.float64),  # hash of the seed alone; half of every stream value
    ("seed_hash", np.float64, (MAX_KEY_LENGTH + 1,)),  # by key length: hash of the seed bytes behind such a key
    ("fixed_streams", np.float64, (FIXED_COUNT,)),
    ("ante_streams", np.float64, (BANKS, ANTE_COUNT)),
    ("bank_ante", np.int32, (BANKS,)),  # which ante each bank belongs to
    ("resample_count", np.int32),
    ("resample_key", np.uint32, (RESAMPLE_CAPACITY,)),  # bank << 24 | stream << 16 | redraw number
    ("resample_state", np.float64, (RESAMPLE_CAPACITY,)),
]

SEED_ALPHABET = "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SEED_COUNT = len(SEED_ALPHABET) ** 8
_ALPHABET = np.frombuffer(SEED_ALPHABET.encode(), np.uint8).copy()
_NO_BANK = -(2**31)


def seed_bytes(text: str) -> tuple[np.ndarray, int]:
    """A seed as the game would read it: upper case, zero typed for the letter O; at most 8 characters."""
    clean = text.strip().upper().replace("0", "O")
    wrong = sorted(set(clean) - set(SEED_ALPHABET))
    if wrong or not 1 <= len(clean) <= 8:
        what = f"has the character '{wrong[0]}'" if wrong else f"has {len(clean)} characters"
        raise UsageError(f"Seed '{text}' {what}; expected 1 to 8 characters out of 1-9 and A-Z, such as 4WAX5M4D.")
    out = np.zeros(8, np.uint8)
    out[: len(clean)] = np.frombuffer(clean.encode(), np.uint8)
    return out, len(clean)


def seed_text(number: int) -> str:
    """The 8-character seed of a number (modulo the number of such seeds).

    >>> seed_text(0), seed_text(34), seed_text(35)
    ('11111111', '1111111Z', '11111121')
    """
    number %= SEED_COUNT
    letters = []
    for _ in range(8):
        number, digit = divmod(number, len(SEED_ALPHABET))
        letters.append(SEED_ALPHABET[digit])
    return "".join(reversed(letters))


def seed_number(text: str) -> int:
    """The number of an 8-character seed; the inverse of `seed_text`.

    >>> seed_number("11111121"), seed_number("1111111z")
    (35, 34)
    """
    letters, length = seed_bytes(text)
    if length < 8:
        raise UsageError(f"Seed '{text}' has {length} characters; only seeds of 8 are numbered, such as 11111111.")
    number = 0
    for letter in letters.tolist():
        number = number * len(SEED_ALPHABET) + SEED_ALPHABET.index(chr(letter))
    return number


@njit
def set_seed_number(g, number):
    """Writes the 8 characters of a seed number into the record; the compiled form of `seed_text`."""
    rest = np.int64(number)
    for place in range(7, -1, -1):
        g.seed[place] = _ALPHABET[rest % 35]
        rest //= 35
    g.seed_length = 8


@njit
def start_streams(g):
    """Forgets all streams and prepares for the seed in the record."""
    value = 1.0
    for position in range(g.seed_length, 0, -1):
        value = hash_step(value, np.int64(g.seed[position - 1]), position)
    g.hashed_seed = value
    g.seed_hash[0] = value
    for length in range(1, MAX_KEY_LENGTH + 1):
        g.seed_hash[length] = UNUSED
    for index in range(FIXED_COUNT):
        g.fixed_streams[index] = UNUSED
    for bank in range(BANKS):
        g.bank_ante[bank] = _NO_BANK
    g.resample_count = 0


@njit
def _seed_part(g, length):
    """Hash of the seed bytes at the end of a text whose key has `length` bytes."""
    value = g.seed_hash[length]
    if value == UNUSED:
        value = 1.0
        for place in range(g.seed_length, 0, -1):
            value = hash_step(value, np.int64(g.seed[place - 1]), length + place)
        g.seed_hash[length] = value
    return value


@njit
def _digits(number):
    """Characters of a whole number written in decimal."""
    count = 1
    if number < 0:
        count = 2
        number = -number
    while number >= 10:
        number //= 10
        count += 1
    return count


@njit
def _hash_number(value, number, position):
    """Continues the hash over a decimal number that ends at `position`."""
    rest = abs(number)
    while True:
        value = hash_step(value, 48 + rest % 10, position)
        position -= 1
        rest //= 10
        if rest == 0:
            break
    if number < 0:
        value = hash_step(value, 45, position)
    return value


@njit
def key_hash(g, stream, ante, redraw):
    """The hash of a stream's full text with the game's seed behind it (redraw 0: the stream itself)."""
    head = _LENGTHS[stream, 0]
    tail = _LENGTHS[stream, 1]
    ante_length = _digits(ante) if _HAS_ANTE[stream] else 0
    base_length = head + ante_length + tail
    length = base_length
    if redraw > 0:
        length += _RESAMPLE_LENGTH + _digits(redraw)
    value = _seed_part(g, length)
    if redraw > 0:
        value = _hash_number(value, redraw, length)
        for place in range(_RESAMPLE_LENGTH, 0, -1):
            value = hash_step(value, np.int64(_RESAMPLE_BYTES[place - 1]), base_length + place)
    for place in range(tail, 0, -1):
        value = hash_step(value, np.int64(_TAIL[stream, place - 1]), head + ante_length + place)
    if ante_length > 0:
        value = _hash_number(value, ante, head + ante_length)
    for place in range(head, 0, -1):
        value = hash_step(value, np.int64(_HEAD[stream, place - 1]), place)
    return value


@njit
def _bank(g, ante):
    """The bank of an ante; a bank that belonged to another ante is cleared with its redraws."""
    bank = (ante + 3 * (1 << 20)) % BANKS
    if g.bank_ante[bank] != ante:
        g.bank_ante[bank] = ante
        for index in range(ANTE_COUNT):
            g.ante_streams[bank, index] = UNUSED
        kept = 0
        for entry in range(g.resample_count):
            if (g.resample_key[entry] >> 24) != bank:
                g.resample_key[kept] = g.resample_key[entry]
                g.resample_state[kept] = g.resample_state[entry]
                kept += 1
        g.resample_count = kept
    return bank


@njit
def draw(g, stream):
    """Advances a stream of the current ante and returns its value, the seed of one generator."""
    if stream < FIXED_COUNT:
        state = g.fixed_streams[stream]
        if state == UNUSED:
            state = key_hash(g, stream, 0, 0)
        state = advance_state(state)
        g.fixed_streams[stream] = state
    else:
        bank = _bank(g, g.ante)
        state = g.ante_streams[bank, stream - FIXED_COUNT]
        if state == UNUSED:
            state = key_hash(g, stream, g.ante, 0)
        state = advance_state(state)
        g.ante_streams[bank, stream - FIXED_COUNT] = state
    return (state + g.hashed_seed) / 2


@njit
def _free_resample_entry(g, bank):
    """The place of a new redraw stream; makes room when the list is full (see the module text)."""
    if g.resample_count < RESAMPLE_CAPACITY:
        g.resample_count += 1
        return g.resample_count - 1
    deepest = 0
    for entry in range(RESAMPLE_CAPACITY):
        other = g.resample_key[entry] >> 24
        if other != bank and other != _NO_ANTE_BANK:
            return entry
        if (g.resample_key[entry] & 0xFFFF) > (g.resample_key[deepest] & 0xFFFF):
            deepest = entry
    return deepest


@njit
def draw_again(g, stream, redraw):
    """Advances the redraw stream `…_resample{redraw}` of a pool stream and returns its value."""
    bank = _NO_ANTE_BANK if stream < FIXED_COUNT else _bank(g, g.ante)
    key = np.uint32((bank << 24) | (stream << 16) | redraw)
    place = -1
    for entry in range(g.resample_count):
        if g.resample_key[entry] == key:
            place = entry
            break
    if place >= 0:
        state = g.resample_state[place]
    else:
        state = key_hash(g, stream, g.ante, redraw)
        place = _free_resample_entry(g, bank)
        g.resample_key[place] = key
    state = advance_state(state)
    g.resample_state[place] = state
    return (state + g.hashed_seed) / 2


@njit
def roll(g, stream):
    """A double in [0, 1) from a stream."""
    return first_double(draw(g, stream))


@njit
def pick(g, stream, count):
    """An index 0..count-1 from a stream."""
    return to_index(first_double(draw(g, stream)), count)


@njit
def pick_again(g, stream, redraw, count):
    """An index 0..count-1 from a redraw stream."""
    return to_index(first_double(draw_again(g, stream, redraw)), count)


@njit
def shuffle(g, stream, items, count):
    """Shuffles the first `count` items, which the caller has put in creation order."""
    rng.shuffle(items, count, draw(g, stream))
