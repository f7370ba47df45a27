"""The arena: seeds are drawn after players are fixed, results are proofs, a lie is found, and a kill loses nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from jimbot.errors import StorageError, UsageError
from jimbot.evaluation.arena import Arena, check_result, missing_units, play_unit, standings
from jimbot.evaluation.arena.league import pack, unpack
from jimbot.evaluation.arena.site import recording_of, write_site
from jimbot.games.recording import read_recording
from jimbot.games.seeds import HELD_OUT, bank_of

GAMES = 6


@pytest.fixture
def arena(tmp_path: Path) -> Arena:
    found = Arena.new(tmp_path / "arena", "probe", {"usual": {}, "long": {"horizon": 12}}, GAMES)
    found.add("clever", "random")
    found.add("random", "random")
    found.draw()
    return found


def play_all(arena: Arena) -> None:
    for unit in missing_units(arena):
        arena.add_results(play_unit(arena, unit))


def test_everybody_plays_the_same_seeds_which_nobody_trains_on(arena: Arena):
    play_all(arena)
    seeds = arena.rounds[0].seeds(GAMES).tolist()
    assert {bank_of(seed) for seed in seeds} == {HELD_OUT}
    assert len(set(seeds)) == GAMES
    for player in arena.players:
        for cell in arena.cells:
            assert list(arena.of(player, 0, cell)) == seeds
    assert not list(missing_units(arena))
    assert {(row.player, row.cell, row.games) for row in standings(arena)} == {
        (player, cell, GAMES) for player in arena.players for cell in arena.cells
    }


def test_two_draws_have_nothing_in_common(arena: Arena):
    assert not set(arena.draw().seeds(GAMES).tolist()) & set(arena.rounds[0].seeds(GAMES).tolist())


def test_who_comes_after_the_draw_plays_what_is_missing_and_is_marked(arena: Arena):
    play_all(arena)
    arena.add("late", "random")
    units = list(missing_units(arena))
    assert {unit.player for unit in units} == {"late"}
    play_all(arena)
    assert {row.player: row.known for row in standings(arena) if row.cell == "usual"} == {
        "clever": 0, "random": 0, "late": GAMES,
    }  # fmt: skip
    arena.draw()
    assert {unit.player for unit in missing_units(arena)} == {"clever", "random", "late"}


def test_a_game_is_replayed_by_its_moves(arena: Arena):
    play_all(arena)
    results = list(arena.results())
    assert all(check_result(arena, one).good for one in results)


@pytest.mark.parametrize("what", ["moves", "stats", "return", "short", "more"])
def test_a_false_result_is_found_out(arena: Arena, what: str):
    play_all(arena)
    true = next(iter(arena.results("random")))
    moves = unpack(true.moves)
    name = next(iter(true.stats))
    false = {
        "moves": replace(true, moves=pack([999, *moves[1:]])),
        "stats": replace(true, stats={**true.stats, name: true.stats[name] + 1}),
        "return": replace(true, total_return=true.total_return + 0.5),
        "short": replace(true, moves=pack(moves[:-1])),
        "more": replace(true, moves=pack([*moves, moves[-1]])),
    }[what]
    assert check_result(arena, true).good
    assert not check_result(arena, false).good


def test_a_player_that_does_not_make_its_moves_is_found_out(tmp_path: Path):
    """A worker that plays another player under a name: every game replays, and asking the player tells."""
    arena = Arena.new(tmp_path / "arena", "balatro", {"white": {}}, 2)
    arena.add("heuristic", "heuristic")
    arena.add("random", "random")
    arena.draw()
    play_all(arena)
    theirs = next(iter(arena.results("random")))
    claimed = replace(theirs, player="heuristic", player_hash=arena.players["heuristic"].hash)
    assert check_result(arena, claimed).good
    assert "makes another move" in check_result(arena, claimed, with_player=True).complaint
    honest = next(iter(arena.results("heuristic")))
    assert check_result(arena, honest, with_player=True).good


def test_a_line_that_was_changed_is_refused_and_one_that_was_cut_off_is_played_again(arena: Arena):
    play_all(arena)
    file = arena.folder / "results" / "random" / "0-usual.jsonl"
    lines = file.read_text().splitlines()
    file.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:40])
    (unit,) = missing_units(arena)
    assert len(unit.seeds) == 1
    arena.add_results(play_unit(arena, unit))
    assert not list(missing_units(arena))
    document = json.loads(lines[0])
    document["total_return"] += 1
    file.write_text(json.dumps(document) + "\n")
    with pytest.raises(StorageError, match="was changed"):
        list(arena.results("random"))


def test_another_player_under_the_same_name_is_refused(arena: Arena):
    arena.players["random"] = replace(arena.players["random"], hash="0" * 16)
    arena.save()
    again = Arena(arena.folder)
    unit = next(unit for unit in missing_units(again) if unit.player == "random")
    with pytest.raises(UsageError, match="was entered as 0000"):
        play_unit(again, unit)
    with pytest.raises(UsageError, match="is in the arena already"):
        again.add("random", "random")
    for name in ("../up", "a b", "", "x" * 41):
        with pytest.raises(UsageError, match="is no name"):
            again.add(name, "random")


def test_the_pages_link_games_that_play_again(arena: Arena, tmp_path: Path):
    play_all(arena)
    count = write_site(arena, tmp_path / "site")
    files = list((tmp_path / "site" / "games").iterdir())
    assert len(files) == count == 2 * 2 * GAMES
    result = next(iter(arena.results("random")))
    again = read_recording(recording_of(arena, result).to_json())
    *_, last = again.moments()
    assert last.ended or last.over
    index = (tmp_path / "site" / "index.html").read_text()
    assert 'href="clever.html"' in index
    assert all(one.name in (tmp_path / "site" / f"{one.name.split('-')[0]}.html").read_text() for one in files)


def test_packed_moves_are_the_moves():
    moves = np.random.default_rng(0).integers(0, 2115, 500)
    assert (unpack(pack(moves.tolist())) == moves).all()
