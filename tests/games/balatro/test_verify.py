"""The simulator against every recording, and the checker itself: each kind of difference is found and named."""

import copy
import gzip
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jimbot.errors import UsageError
from jimbot.games.balatro.verify import find_recordings, verify_directory, verify_file
from jimbot.games.balatro.verify.recorded_games import replay
from jimbot.games.balatro.verify.recordings import kind_of, read_recording
from jimbot.games.verification import UNKNOWN_FIELD, FileReport

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "balatro"
FILES = {
    "pools.json": 18,
    "rng_units.json": 1512,
    "seeds_white.json": 40,
    "seeds_gold.json": 10,
    "scoring.json": 400,
    "traces.jsonl.gz": 10,
    "real_game.json": 18,
}
DOCUMENTS = {name: read_recording(GOLDEN / name) for name in FILES}
GAMES = [
    list(records) for _, records in itertools.groupby(DOCUMENTS["traces.jsonl.gz"], key=lambda record: record["game"])
]


def check(name: str, document) -> FileReport:
    """Checks a document as if it stood in a file of this name."""
    kind = kind_of(name)
    assert kind is not None
    report = FileReport(name, kind.prefix)
    kind.check(document, report)
    return report


@pytest.mark.parametrize("name", FILES)
def test_the_simulator_agrees_with_every_entry_of_a_recording(name):
    report = verify_file(GOLDEN / name)
    assert report.differences == []
    assert (report.entries, report.agreeing, report.undecided) == (FILES[name], FILES[name], 0)
    assert report.values > report.entries


def test_every_recording_of_the_directory_is_found_in_a_fixed_order():
    names = [path.name for path in find_recordings(GOLDEN)]
    assert sorted(names) == sorted(FILES)
    assert names[0] == "pools.json"


# --- each kind of difference is found: (file, path to a value, wrong value, field named) ---


def small(name: str):
    """A copy of a recording cut down to what the mutations touch."""
    document = DOCUMENTS[name]
    if name.startswith("seeds"):
        document = {**document, "seeds": document["seeds"][:1]}
    elif name == "scoring.json":
        document = document[:8]
    elif name == "rng_units.json":
        document = {part: items[:2] for part, items in document.items()}
    return copy.deepcopy(document)


def mutated(name: str, path: tuple, value):
    document = small(name)
    place = document
    for step in path[:-1]:
        place = place[step]
    assert path[-1] not in place or place[path[-1]] != value if isinstance(place, dict) else place[path[-1]] != value
    place[path[-1]] = value
    return document


MUTATIONS = [
    ("pools.json", ("joker_pools", "1", 0), "j_jolly", "joker_pools.1[0]"),
    ("pools.json", ("Tag", 2, 1), 1, "Tag[2][1]"),
    ("pools.json", ("voucher_requires", "v_glow_up"), ["v_blank"], "voucher_requires.v_glow_up[0]"),
    ("pools.json", ("never_eternal",), ["j_joker"], "never_eternal[0]"),
    ("rng_units.json", ("pseudohash", 1, "hex"), "0x1.4db26ae2c1a01p-1", "hex"),
    ("rng_units.json", ("pseudohash", 1, "dec"), "0.5", "dec"),
    ("rng_units.json", ("pseudoseed", 0, "state", 3), "0x1.0p-2", "state[3]"),
    ("rng_units.json", ("pseudoseed", 0, "pseudoseed", 3), "0x1.0p-2", "pseudoseed[3]"),
    ("rng_units.json", ("pseudoseed", 1, "first_random", 5), "0x1.0p-2", "first_random[5]"),
    ("rng_units.json", ("prng", 0, "state_after_warmup", 1), "0", "state_after_warmup[1]"),
    ("rng_units.json", ("prng", 0, "u64", 2), "ff", "u64[2]"),
    ("rng_units.json", ("prng", 0, "double", 2), "0x1.0p-1", "double[2]"),
    ("rng_units.json", ("prng", 0, "ints_1_to_n", 4), [22, 3], "ints_1_to_n[4]"),
    ("rng_units.json", ("round13", 0, 1), "0x1.0p-1", "0x1.7386e800ca650p-1"),
    ("rng_units.json", ("shuffle", 1, "perm"), [0, 1], "perm[0]"),
    ("rng_units.json", ("element", 1, "index0", 1), 0, "index0[1]"),
    ("rng_units.json", ("nan_streams", 0, "seed"), "TESTSEED", "hash"),
    ("seeds_white.json", ("seeds", 0, "initial_shuffle", 51), "C_A", "initial_shuffle[51]"),
    ("seeds_white.json", ("seeds", 0, "rounds", 4, "deck", 7), "X", "rounds[4].deck[7]"),
    ("seeds_white.json", ("seeds", 0, "rounds", 0, "first8_draw_order", 0), "X", "rounds[0].first8_draw_order[0]"),
    ("seeds_white.json", ("seeds", 0, "targets", 3, "idol"), "C_3", "targets[3].idol"),
    ("seeds_white.json", ("seeds", 0, "targets", 0, "mail_rank"), "2", "targets[0].mail_rank"),
    ("seeds_white.json", ("seeds", 0, "targets", 1, "ancient_suit"), "Hearts", "targets[1].ancient_suit"),
    ("seeds_white.json", ("seeds", 0, "targets", 1, "castle_suit"), "Hearts", "targets[1].castle_suit"),
    ("seeds_white.json", ("seeds", 0, "antes", 7, "boss"), "bl_hook", "antes[8].boss"),
    ("seeds_white.json", ("seeds", 0, "antes", 1, "voucher"), "v_blank", "antes[2].voucher"),
    ("seeds_white.json", ("seeds", 0, "antes", 1, "tags", 1), "tag_x", "antes[2].tags[1]"),
    ("seeds_white.json", ("seeds", 0, "antes", 0, "queue", 3, "edition"), "foil", "antes[1].queue[3].edition"),
    ("seeds_white.json", ("seeds", 0, "antes", 0, "queue", 4, "edition"), "foil", "antes[1].queue[4].edition"),
    ("seeds_white.json", ("seeds", 0, "antes", 0, "packs", 2, "cards", 1, "seal"), "Red",
     "antes[1].packs[2].cards[1].seal"),
    ("seeds_white.json", ("seeds", 0, "visits", 0, "slots", 4, 1, "key"), "j_x", "visits[0].slots[4][1].key"),
    ("seeds_white.json", ("seeds", 0, "visits", 3, "packs", 1, "pack"), "p_x", "visits[3].packs[1].pack"),
    ("seeds_gold.json", ("seeds", 0, "antes", 0, "queue", 1, "eternal"), False, "antes[1].queue[1].eternal"),
    ("seeds_gold.json", ("stake",), 1, "antes[1].queue[1].eternal"),
    ("scoring.json", (0, "expected", "hand"), "Full House", "hand"),
    ("scoring.json", (0, "expected", "scoring"), [0, 1, 3], "scoring[3]"),
    ("scoring.json", (0, "expected", "blocked"), True, "blocked"),
    ("scoring.json", (0, "expected", "chips"), 68.1, "chips"),
    ("scoring.json", (0, "expected", "mult"), 8.0, "mult"),
    ("scoring.json", (0, "expected", "score"), 478, "score"),
    ("scoring.json", (0, "expected", "dollars"), 1, "dollars"),
    ("scoring.json", (0, "expected", "destroyed"), [1], "destroyed[0]"),
    ("scoring.json", (7, "expected", "jokers_removed"), [0], "jokers_removed[0]"),
    ("scoring.json", (0, "expected", "hand_level_after"), 2, "hand_level_after"),
    ("scoring.json", (0, "expected", "enh_after", 3), "c_base", "enh_after[3]"),
    ("scoring.json", (7, "expected", "joker_state_after", 0, "chips"), 41, "joker_state_after[0].chips"),
    ("scoring.json", (0, "debuffed", "played", 0), 1, "debuffed.played[0]"),
    ("real_game.json", ("runs", 0, "antes", "2", "boss"), "The Hook", "boss"),
    ("real_game.json", ("runs", 0, "antes", "2", "tags", 1), "Economy Tag", "tags[1]"),
    ("real_game.json", ("runs", 0, "shops", 0, "cards", 0, "key"), "j_joker", "cards"),
    ("real_game.json", ("runs", 0, "shops", 0, "cards", 1, "cost"), 5, "cards"),
    ("real_game.json", ("runs", 0, "shops", 0, "cards", 1, "ed"), "holo", "cards"),
    ("real_game.json", ("runs", 0, "shops", 0, "packs", 0), "p_arcana_normal_3", "packs"),
    ("real_game.json", ("runs", 0, "shops", 0, "voucher", 0), "v_blank", "voucher[0]"),
    ("real_game.json", ("runs", 0, "opening_hands", 0, "hand", 0), "S_2", "hand"),
    ("real_game.json", ("scored_hands", 0, "score"), 172, "score"),
    ("real_game.json", ("scored_hands", 0, "hand"), "Pair", "hand"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "path", "value", "field"), MUTATIONS, ids=lambda part: str(part)[:60])
def test_a_changed_value_is_found_and_named(name, path, value, field):
    report = check(name, mutated(name, path, value))
    assert field in [difference.field for difference in report.differences]
    assert report.differing >= 1
    assert report.agreeing == report.entries - report.differing


UNKNOWN = [
    ("pools.json", ("Stickers",), "Stickers"),
    ("rng_units.json", ("quaternions",), "quaternions"),
    ("rng_units.json", ("prng", 0, "floats"), "floats"),
    ("seeds_white.json", ("profile",), "profile"),
    ("seeds_white.json", ("seeds", 0, "charms"), "charms"),
    ("seeds_white.json", ("seeds", 0, "antes", 0, "weather"), "antes[1].weather"),
    ("scoring.json", (0, "moon"), "moon"),
    ("scoring.json", (0, "played", 0, "glow"), "played[0].glow"),
    ("scoring.json", (7, "jokers", 0, "mood"), "jokers[0].mood"),
    ("real_game.json", ("runs", 0, "luck"), "luck"),
    ("real_game.json", ("runs", 0, "shops", 0, "keeper"), "keeper"),
]


@pytest.mark.parametrize(("name", "path", "field"), UNKNOWN, ids=lambda part: str(part)[:60])
def test_a_field_nobody_knows_is_reported_rather_than_passed_over(name, path, field):
    report = check(name, mutated(name, path, "something"))
    (found,) = [difference for difference in report.differences if difference.field == field]
    assert found.simulated == UNKNOWN_FIELD


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("seeds_white.json", ("seeds", 0, "seed"), "NOT-A-SEED"),
        ("seeds_white.json", ("deck",), "Crimson"),
        ("seeds_white.json", ("stake",), 9),
        ("scoring.json", (0, "jokers"), [{"key": "j_nobody", "sell": 1}]),
        ("scoring.json", (0, "blind"), "bl_nobody"),
        ("scoring.json", (0, "played", 0, "c"), "Z_9"),
        ("scoring.json", (0, "idol"), None),
        ("rng_units.json", ("prng", 0, "u64"), None),
        ("real_game.json", ("runs", 0, "deck"), "CRIMSON"),
        ("real_game.json", ("scored_hands", 0, "jokers"), 5),
    ],
    ids=lambda part: str(part)[:60],
)
def test_an_entry_that_cannot_be_read_is_a_difference_and_the_others_are_still_compared(name, path, value):
    report = check(name, mutated(name, path, value))
    assert "entry" in [difference.field for difference in report.differences]
    assert report.entries > 1 or name.startswith("seeds")


def test_the_unseeded_picture_of_the_first_booster_may_be_either():
    path = ("seeds", 0, "antes", 0, "packs", 0, "pack")
    assert not check("seeds_white.json", mutated("seeds_white.json", path, "p_buffoon_normal_2")).differences


def test_later_hands_of_a_real_run_are_undecided_because_the_deck_may_have_changed():
    report = check("real_game.json", mutated("real_game.json", ("runs", 0, "opening_hands", 1, "hand", 0), "S_2"))
    assert (report.undecided, report.differing, report.differences) == (1, 0, [])


# --- games ---


def change(step: int, **parts):
    """The first recorded game up to a step, with parts of that step's record replaced."""
    records = copy.deepcopy(GAMES[0][: step + 1])
    for name, value in parts.items():
        if isinstance(value, dict) and isinstance(records[step].get(name), dict) and name != "action":
            records[step][name] |= value
        else:
            records[step][name] = value
    return records


@pytest.mark.parametrize(
    ("step", "state", "field"),
    [
        (9, {"money": 99}, "money"),
        (0, {"tags": ["tag_skip", "tag_double"]}, "tags[1]"),
        (2, {"score": 117}, "score"),
        (2, {"levels": {"Pair": 2}}, "levels.Pair"),
        (2, {"hand_size": 9}, "hand_size"),
        (2, {"deck_left": 40}, "deck_left"),
        (2, {"blind": ["bl_small", 301]}, "blind[1]"),
        (54, {"pack": {"key": "p_celestial_normal_1", "left": 1, "cards": []}}, "pack.cards[0]"),
        (54, {"jokers": []}, "jokers[0]"),
        (54, {"consumables": [{"key": "c_fool"}]}, "consumables[0]"),
        (54, {"targets": {"idol": {"rank": "9", "suit": "Clubs"}, "mail": "3", "ancient": "Clubs", "castle": "Hearts"}},
         "targets.mail"),
        (54, {"weather": "rain"}, "weather"),
        (54, {"earnings": {}}, "earnings"),
    ],
    ids=lambda part: str(part)[:40],
)  # fmt: skip
def test_a_replay_names_the_first_step_that_differs(step, state, field):
    differences = replay(change(step, state=state))
    assert field in [difference.field for difference in differences]
    assert {difference.step for difference in differences} == {step}
    assert {difference.seed for difference in differences} == {"XVF2EZQV"}


def test_both_values_of_a_difference_are_told():
    (difference,) = replay(change(9, state={"money": 99}))
    assert (difference.recorded, difference.simulated) == (99, 7)


def test_a_level_or_an_enhancement_the_recording_does_not_have_is_a_difference():
    records = next(records for records in GAMES if any(record["state"]["levels"] for record in records))
    records = copy.deepcopy(records)
    step = next(number for number, record in enumerate(records) if record["state"]["levels"])
    records[step]["state"]["levels"] = {}
    (difference,) = replay(records)
    assert (difference.step, difference.recorded) == (step, "(nothing)")
    assert difference.field.startswith("levels.")


def test_what_was_scored_is_compared():
    assert [d.field for d in replay(change(2, scored={"mult": 3.0, "hand": "Pair"}))] == ["scored.hand", "scored.mult"]


@pytest.mark.parametrize(
    ("action", "field"),
    [
        ({"a": "cash_out"}, "legal"),
        ({"a": "play", "cards": [0, 63]}, "legal"),
        ({"a": "play", "cards": [0, 1, 2, 3, 4, 5]}, "legal"),
        ({"a": "sell", "area": "jokers", "i": 3}, "legal"),
        ({"a": "use", "i": -1}, "legal"),
        ({"a": "play", "cards": [400]}, "action"),
        ({"a": "dance"}, "action"),
        ({"a": "play", "cards": [0], "mood": "bold"}, "action"),
        ({"cards": [0]}, "entry"),
        (None, "entry"),
    ],
    ids=str,
)
def test_an_action_the_rules_refuse_or_do_not_know_is_a_difference(action, field):
    (difference,) = replay(change(2, action=action))
    assert (difference.step, difference.field) == (2, field)


def test_a_game_without_its_first_step_is_a_difference():
    (difference,) = replay(GAMES[0][1:])
    assert difference.field == "entry"
    assert "'seed'" in difference.simulated


def test_games_of_other_decks_stakes_and_challenges_start_as_recorded():
    from jimbot.games.balatro.states.document import read_state
    from jimbot.games.balatro.verify.recorded_games import start_recorded

    for start, money, size in (
        ({"deck": "Yellow", "stake": "Gold Stake"}, 14, 52),
        ({"deck": "b_abandoned", "stake": 5}, 4, 40),
        ({"challenge": "c_omelette_1"}, 4, 52),
    ):
        g, _ = start_recorded({"seed": "TESTSEED", **start})
        state = read_state(g)
        assert (state["money"], state["deck_total"]) == (money, size)


def test_the_same_code_replays_a_recorded_game_as_plain_python(tmp_path):
    recording = tmp_path / "traces.jsonl"
    recording.write_text("\n".join(json.dumps(record) for record in GAMES[0]), encoding="utf-8")
    program = (
        "import sys; from pathlib import Path; from jimbot.games.balatro import verify;"
        "from jimbot.games.balatro.compiling import kernels;"
        "assert kernels.JIT_DISABLED; print(verify.verify_file(Path(sys.argv[1])).differences)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(recording)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path(__file__).resolve().parents[3])},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() == "[]", done.stderr


# --- files ---


def test_files_are_known_by_how_their_names_begin_and_end():
    known = ("seeds_white_2.json", "scoring-more.json", "traces.jsonl", "traces_mine.jsonl.gz", "real_game.json.gz")
    assert all(kind_of(name) for name in known)
    assert not any(kind_of(name) for name in ("README.md", "notes.json", "traces.json", "scoring.jsonl"))


def test_a_gzipped_copy_and_a_plain_one_give_the_same_result(tmp_path):
    (tmp_path / "pools_2.json.gz").write_bytes(gzip.compress((GOLDEN / "pools.json").read_bytes()))
    (report,) = verify_directory(tmp_path)
    assert (report.file, report.entries, report.agreeing) == ("pools_2.json.gz", 18, 18)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("scoring.json", b"[{]", r"scoring.json' is not JSON: line 1, column 3"),
        ("traces.jsonl", b'{"game": 0}\n{oops}\n', r"traces.jsonl' is not JSON: line 2"),
        ("traces.jsonl", b"[1]\n", r"traces.jsonl' has something else than a JSON object in line 1"),
        ("traces.jsonl", b"\n", r"traces.jsonl' is empty"),
        ("traces.jsonl.gz", b"not gzip", r"traces.jsonl.gz' cannot be read"),
        ("traces.jsonl.gz", gzip.compress(b"x" * 1000, mtime=0)[:-20], r"traces.jsonl.gz' cannot be read"),
        ("pools.json", b"\xff\xfe", r"pools.json' cannot be read"),
        ("pools.json", b"[]", r"pools.json' does not look like a pools recording; expected an object"),
        ("seeds_x.json", b"{}", r"seeds_x.json' does not look like a seeds recording; .* 'seeds'"),
        ("notes.json", b"{}", r"holds no recording; expected files named pools\*.json"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_sentence_with_its_name(tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=sentence):
        list(verify_directory(tmp_path))


def test_a_missing_directory_is_one_sentence(tmp_path):
    with pytest.raises(UsageError, match="does not exist; expected a directory of recordings"):
        list(verify_directory(tmp_path / "nowhere"))
