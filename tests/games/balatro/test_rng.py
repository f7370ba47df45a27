"""Random streams: which are kept, which start afresh. `test_verify.py` compares recorded numbers bit by bit."""

import pytest

from jimbot.errors import UsageError
from jimbot.games.balatro.rules.chance import rng, streams
from jimbot.games.balatro.rules.state import new_games


def start(seed: str, ante: int = 1):
    g = new_games(1)[0]
    g.seed, g.seed_length = streams.seed_bytes(seed)
    g.ante = ante
    streams.start_streams(g)
    return g


def test_streams_of_the_last_three_antes_continue_and_older_ones_start_afresh():
    stream = streams.stream_id("cdt{ante}")
    g = start("TESTSEED")
    by_ante = {}
    for ante in (1, 2, 3):
        g.ante = ante
        by_ante[ante] = [streams.roll(g, stream), streams.roll(g, stream)]
    g.ante = 1  # two vouchers can lower the ante by two
    third = streams.roll(g, stream)
    fresh = start("TESTSEED", 1)
    assert [streams.roll(fresh, stream) for _ in range(3)] == [*by_ante[1], third]
    for ante in (4, 5, 6, 1):
        g.ante = ante
        streams.roll(g, stream)
    assert streams.roll(g, stream) == by_ante[1][1]


def test_redraw_streams_are_kept_apart_by_pool_depth_and_ante():
    g = start("UNITTEST", 1)
    keys = [(1, "Joker1sho{ante}", 2), (1, "Joker1sho{ante}", 3), (1, "Tarotsho{ante}", 2), (2, "Joker1sho{ante}", 2)]
    first = {}
    for ante, template, redraw in keys:
        g.ante = ante
        first[ante, template, redraw] = streams.draw_again(g, streams.stream_id(template), redraw)
    assert len(set(first.values())) == len(keys)
    for ante, template, redraw in keys:
        fresh = start("UNITTEST", ante)
        stream = streams.stream_id(template)
        assert streams.draw_again(fresh, stream, redraw) == first[ante, template, redraw]
        g.ante = ante
        assert streams.draw_again(g, stream, redraw) == streams.draw_again(fresh, stream, redraw)


def test_a_full_redraw_list_keeps_working_and_forgets_other_antes_first():
    g = start("UNITTEST", 1)
    stream = streams.stream_id("Tarotsho{ante}")
    streams.draw_again(g, stream, 2)
    g.ante = 2
    for redraw in range(2, 2 + streams.RESAMPLE_CAPACITY):
        streams.draw_again(g, stream, redraw)
    assert g.resample_count == streams.RESAMPLE_CAPACITY
    fresh = start("UNITTEST", 2)
    streams.draw_again(fresh, stream, 2)
    assert streams.draw_again(g, stream, 2) == streams.draw_again(fresh, stream, 2)


def test_negative_antes_are_hashed_with_their_sign():
    g = start("TESTSEED", -1)
    assert streams.key_hash(g, streams.stream_id("Tag{ante}"), -1, 0) == rng.hash_text("Tag-1TESTSEED")
    g.ante = 12
    assert streams.key_hash(g, streams.stream_id("rarity{ante}sho"), 12, 0) == rng.hash_text("rarity12shoTESTSEED")


def test_every_stream_fits_the_hash_table_of_key_lengths():
    longest = max(len(template.replace("{ante}", "-100")) for template in streams.TEMPLATES)
    assert longest + len("_resample65535") <= streams.MAX_KEY_LENGTH
    assert len(set(streams.TEMPLATES)) == len(streams.TEMPLATES) < 256


@pytest.mark.parametrize("seed", ["", "ABCDEFGHI", "AB-D", "ÄBCD"])
def test_a_seed_the_game_cannot_have_is_refused_in_one_sentence(seed):
    with pytest.raises(UsageError, match=r"Seed '.*' has .*; expected 1 to 8 characters"):
        streams.seed_bytes(seed)


def test_seed_numbers_and_texts_agree():
    g = new_games(1)[0]
    for number in (0, 1, 35**8 - 1, 123456789012):
        streams.set_seed_number(g, number)
        assert bytes(g.seed).decode() == streams.seed_text(number)
    assert bytes(streams.seed_bytes("aleeb000")[0]).decode() == "ALEEBOOO"
