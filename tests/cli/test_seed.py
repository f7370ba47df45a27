"""`jimbot seed`: what a seed holds, and searches."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jimbot.games.balatro.rules.chance.streams import seed_number

FIRST = ("--start", "11111111")
GOLDEN = json.loads((Path(__file__).resolve().parents[1] / "golden/balatro/seeds_white.json").read_text())["seeds"]


def test_json_holds_the_recorded_antes_of_a_seed(jimbot) -> None:
    code, out, err = jimbot("seed", GOLDEN[0]["seed"], "--cards", 20, "--json")
    assert (code, err) == (0, "")
    view = json.loads(out)
    assert view["antes"] == GOLDEN[0]["antes"]
    assert (view["seed"], view["deck"], view["stake"]) == (GOLDEN[0]["seed"], "b_red", "stake_white")


def test_the_page_names_everything_of_an_ante(jimbot) -> None:
    code, out, _ = jimbot("seed", "4wax5m4d", "--antes", 2)
    assert code == 0
    page = out.split("Ante 2", 1)[1]
    for name in (
        "The Water", "Planet Merchant", "Negative Tag", "Voucher Tag", "Swashbuckler", "Foil Faceless Joker",
        "Arcana Pack", "Jumbo Celestial Pack", "1 of 5",
    ):  # fmt: skip
        assert name in page
    assert "4WAX5M4D" in out
    assert "Ante 3" not in out
    assert max(map(len, out.splitlines())) <= 120


def test_deck_and_stake_go_by_name_key_or_level(jimbot) -> None:
    pages = [
        jimbot("seed", "TESTSEED", "--deck", deck, "--stake", stake, "--json")[1]
        for deck, stake in (("Ghost Deck", "Gold Stake"), ("ghost", "8"), ("b_ghost", "stake_gold"))
    ]
    assert pages[0] == pages[1] == pages[2]
    assert '"eternal": true' in pages[0]


def test_a_search_prints_seeds_that_hold_what_was_asked_for(jimbot) -> None:
    code, out, _ = jimbot("seed", "--find", "voucher:Telescope@1 and tag:'Negative Tag'@2", "--limit", 3, *FIRST)
    assert code == 0
    found = dict(line.split("  # ") for line in out.splitlines())
    assert len(found) == 3
    for seed, where in found.items():
        assert where.startswith("Telescope: ante 1, voucher; Negative Tag: ante 2, for skipping the ")
        antes = json.loads(jimbot("seed", seed, "--antes", 2, "--json")[1])["antes"]
        assert antes[0]["voucher"] == "v_telescope"
        assert "tag_negative" in antes[1]["tags"]


def test_a_found_seed_says_where_the_wanted_things_are(jimbot) -> None:
    """Looked up in the page of the seed: shop cards and packs are counted as it lists them."""
    question = "(joker:any+foil@1-3 or planet:Mars) and not boss:bl_hook@1 and pack:'Mega Arcana Pack'"
    found = json.loads(jimbot("seed", "--find", question, "--limit", 8, "--json", *FIRST)[1])["places"]
    assert len(found) == 8
    spots = set()
    for seed, where in found.items():
        antes = json.loads(jimbot("seed", seed, "--cards", 4, "--packs", 4, "--json")[1])["antes"]
        assert any("Mega Arcana Pack: ante" in words for words in where)
        assert not any("The Hook" in words for words in where)
        for words in where:
            thing, _, place = words.partition(": ante ")
            ante, spot = antes[int(place[0]) - 1], re.findall(r"(shop card|pack|card) (\d)", place)
            spots.add(" ".join(name for name, _ in spot))
            if spot[0][0] == "shop card":
                there = ante["queue"][int(spot[0][1]) - 1]
            elif len(spot) == 2:
                there = ante["packs"][int(spot[0][1]) - 1]["cards"][int(spot[1][1]) - 1]
            else:
                there = {"key": ante["packs"][int(spot[0][1]) - 1]["pack"]}
            assert there.get("edition") == "foil" if thing.startswith("Foil") else "key" in there
            assert "Mars" not in thing or there["key"] == "c_mars"
            assert "Mega" not in thing or there["key"].startswith("p_arcana_mega")
    assert {"shop card", "pack card", "pack"} <= spots


def test_found_seeds_are_a_seeds_file(jimbot, home: Path) -> None:
    from jimbot.evaluation.evaluator import read_seeds_file

    (home / "found.txt").write_text(jimbot("seed", "--find", "boss:bl_hook@1", "--limit", 3)[1])
    assert len(read_seeds_file("found.txt", "balatro")) == 3


def test_names_and_keys_ask_the_same_question(jimbot) -> None:
    by_key = jimbot("seed", "--find", "joker:j_ring_master@1 and not boss:bl_hook@1", "--limit", 4, *FIRST)
    by_name = jimbot("seed", "--find", 'joker:"Showman"@1 and not boss:"The Hook"@1', "--limit", 4, *FIRST)
    assert by_key == by_name


def test_a_pack_by_name_means_each_of_its_pictures(jimbot) -> None:
    common = ("--limit", 100, "--max-seeds", 300, "--json", *FIRST)
    by_name = json.loads(jimbot("seed", "--find", "pack:'Mega Arcana Pack'@1", *common)[1])["found"]
    by_key = json.loads(jimbot("seed", "--find", "pack:p_arcana_mega_1@1 or pack:p_arcana_mega_2@1", *common)[1])[
        "found"
    ]
    assert by_name == by_key
    assert by_name


def test_a_search_goes_on_from_a_seed(jimbot) -> None:
    first = jimbot("seed", "--find", "boss:bl_hook@1", "--limit", 3, *FIRST)[1].splitlines()
    later = jimbot("seed", "--find", "boss:bl_hook@1", "--limit", 2, "--start", first[1][:8])[1].splitlines()
    assert later == first[1:]


def test_a_search_without_success_ends_with_1(jimbot) -> None:
    code, out, err = jimbot("seed", "--find", "boss:bl_hook@1 and boss:bl_club@1", "--max-seeds", 1000)
    assert (code, out) == (1, "")
    assert "0 found, 1,000 seeds looked at" in err


def test_a_search_begins_anywhere_and_goes_around(jimbot) -> None:
    found = [json.loads(jimbot("seed", "--find", "joker:any", "--limit", 1, "--json")[1]) for _ in range(2)]
    assert found[0]["start"] != found[1]["start"]
    asked = ("--find", "boss:bl_hook@1", "--limit", 9999, "--json")
    last = json.loads(jimbot("seed", *asked, "--max-seeds", 40_000, "--start", "ZZZZZZZZ")[1])
    here = json.loads(jimbot("seed", *asked, "--max-seeds", 39_999, *FIRST)[1])
    assert last["looked_at"] == 40_000
    assert [seed for seed in last["found"] if seed != "ZZZZZZZZ"] == here["found"]


def test_seeds_looked_at_end_with_the_last_one_found(jimbot) -> None:
    found = json.loads(jimbot("seed", "--find", "boss:bl_hook@1", "--limit", 3, "--json", *FIRST)[1])
    assert found["looked_at"] == seed_number(found["found"][-1]) + 1


def test_ctrl_c_ends_a_search_with_what_was_found(tmp_path: Path) -> None:
    question = "voucher:v_telescope@1 and boss:bl_hook@1 and tag:tag_rare@1 and joker:j_egg@1"
    process = subprocess.Popen(
        [sys.executable, "-m", "jimbot", "seed", "--find", question, "--limit", "100000"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": os.getcwd()},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    first = process.stdout.readline().split()
    assert len(first[0]) == 8
    process.send_signal(signal.SIGINT)
    hung = threading.Timer(120, process.kill)
    hung.start()
    out, err = process.stdout.read(), process.stderr.read()
    process.wait()
    hung.cancel()
    assert process.returncode == 0, err
    assert f"Interrupted: {1 + len(out.splitlines())} found, " in err
    assert "Traceback" not in err


@pytest.mark.parametrize("columns", [30, 40, 80])
def test_nothing_of_a_seed_vanishes_on_a_narrow_terminal(jimbot, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    code, out, _ = jimbot("seed", "7LB2WVPK", "--antes", 1)
    assert code == 0
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= columns
    printed = " ".join(re.sub(r"[│╭╮╰╯─]", " ", out).split())
    for name in ("Juggler", "Midas Mask", "Gold 10♥", "Jupiter", "The Magician", "Blue Joker", "Mail-In Rebate"):
        assert name in printed
