"""Teams: a fixed split of legal teams, a repeatable generator, and files of one's own with the validator's word."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from jimbot.errors import UsageError
from jimbot.games import seeds as seedbank
from jimbot.games.contract import make
from jimbot.games.vgc import teams
from jimbot.games.vgc.game import VgcGame
from jimbot.games.vgc.options import DEFAULT_FORMAT
from jimbot.games.vgc.rng import words
from tests.games.vgc.lab import plain_team

LEGAL = """Flamigo @ Choice Scarf
Ability: Scrappy
Level: 50
Tera Type: Fighting
EVs: 4 HP / 252 Atk / 252 Spe
Jolly Nature
- Close Combat
- Brave Bird
- Throat Chop
- U-turn
"""


def test_the_splits_are_large_enough_and_share_no_team() -> None:
    train, validation, held_out = (teams.split_teams(split) for split in teams.SPLITS)
    assert len(train) >= 64
    assert len(held_out) >= 72
    together = [*train, *validation, *held_out]
    assert len(set(together)) == len(together)
    assert all(len(team.split("]")) == 6 for team in together)


@pytest.mark.parametrize("split", [seedbank.TRAIN, seedbank.VALIDATION, seedbank.HELD_OUT])
def test_every_team_of_the_split_is_legal(split: str) -> None:
    game = make("vgc", 1)
    assert isinstance(game, VgcGame)
    packed = teams.split_teams(split)
    try:
        chosen = packed[:: max(1, len(packed) // 48)]
        approved = teams.check_teams(game.pool.ask, list(chosen), split, DEFAULT_FORMAT)
    finally:
        game.close()
    assert len(approved) == len(chosen)


def test_seeds_of_a_bank_deal_teams_of_its_split() -> None:
    table = teams.TeamTable({split: teams.split_teams(split) for split in teams.SPLITS})
    for bank in teams.SPLITS:
        for seed in seedbank.bank_seeds(bank, 50).tolist():
            for number in table.deal(seed, words(seed, 2)):
                assert table.packed[number] in teams.split_teams(bank)


def test_the_generator_repeats_itself_and_makes_legal_teams() -> None:
    made = teams.generate(3, seed=5, format_id=DEFAULT_FORMAT)
    assert made == teams.generate(3, seed=5, format_id=DEFAULT_FORMAT)
    assert made != teams.generate(3, seed=6, format_id=DEFAULT_FORMAT)
    game = make("vgc", 1)
    assert isinstance(game, VgcGame)
    try:
        assert len(teams.check_teams(game.pool.ask, made, "made", DEFAULT_FORMAT)) == 3
    finally:
        game.close()


def test_own_teams_play_from_packed_text(tmp_path: Path) -> None:
    own = tmp_path / "own.txt"
    own.write_text(teams.split_teams("held-out")[0] + "\n")
    game = make("vgc", 2, options={"teams": str(own), "own_team": str(own)})
    assert isinstance(game, VgcGame)
    try:
        game.reset()
        first = teams.split_teams("held-out")[0].split("|")[0]
        assert first in game.describe(0)
        assert (game.teams[:, 0] == len(game.team_table.packed) - 1).all()
    finally:
        game.close()


def test_the_validators_complaint_is_shown(tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_text(plain_team().replace("Body Slam", "Spore", 1))
    with pytest.raises(UsageError, match=r"Team 1 of .*bad\.txt is not legal in gen9vgc2023regc: .*Spore"):
        make("vgc", 1, options={"teams": str(bad)})


@pytest.mark.parametrize("text", ["", "# nothing but a remark\n"])
def test_a_file_without_teams_is_refused(tmp_path: Path, text: str) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text(text)
    with pytest.raises(UsageError, match="holds no team"):
        make("vgc", 1, options={"teams": str(empty)})


def test_exported_teams_are_told_apart_by_their_rulers(tmp_path: Path) -> None:
    path = tmp_path / "two.txt"
    path.write_text(f"=== [gen9] one ===\n\n{LEGAL}\n=== [gen9] two ===\n\n{LEGAL}")
    found = teams.read_texts(path)
    assert len(found) == 2
    assert all(text.startswith("Flamigo") for text in found)


def test_a_missing_file_is_refused_when_it_is_named() -> None:
    with pytest.raises(UsageError, match="expected one of by-seed"):
        make("vgc", 1, options={"teams": "nowhere.txt"})


def test_dealing_spreads_over_the_pool() -> None:
    table = teams.TeamTable({"train": teams.split_teams("train")})
    dealt = np.array([table.deal(seed, words(seed, 2)) for seed in range(2000)])
    assert len(np.unique(dealt)) > 450
