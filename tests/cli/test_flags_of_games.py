"""Options of games as flags, seeds as games write them, and old spellings of flags."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from jimbot.cli.main import command_line
from jimbot.cli.shared.terminal import game_flags
from jimbot.errors import UsageError
from jimbot.evaluation.evaluator import choose_seeds
from jimbot.games import available_games, game_entry
from jimbot.games.seeds import seed_name, seed_number
from tests.cli.conftest import Jimbot

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    "flags", [["--horizon", "4"], ["--horizon=4"], ["--option", "horizon=4"]], ids=["flag", "equals", "option"]
)
def test_an_option_of_a_game_is_a_flag(jimbot: Jimbot, flags: list[str]) -> None:
    code, out, err = jimbot("evaluate", "random", "--game", "probe", "--games", "4", "--json", *flags)
    assert code == 0, err
    assert json.loads(out)["options"]["horizon"] == 4


def test_a_run_says_which_game_its_flags_belong_to(jimbot: Jimbot) -> None:
    code, out, err = jimbot("evaluate", "perfect", "--horizon", "4", "--games", "4", "--json")
    assert code == 0, err
    assert json.loads(out)["mean_length"]["mean"] == 4


def test_old_spellings_are_understood_and_not_shown(jimbot: Jimbot) -> None:
    code, out, err = jimbot("watch", "random", "--game", "probe", "--episodes", "2", "--seed", "5")
    assert code == 0, err
    assert "Game 2" in out
    hidden = {"watch": "--episodes", "play": "--battles", "export": "--force", "train": "--run-name"}
    for command, old in hidden.items():
        assert old not in jimbot(command, "--help")[1]


ONE_WORD = {
    "--games": ("--episodes", "--battles", "--matches", "--num-games", "--n-games", "--eval-episodes"),
    "--run": ("--run-name", "--run-id", "--experiment-name"),
    "--overwrite": ("--force", "--replace", "--clobber", "-f"),
    "--seed": ("--game-seed", "--random-seed", "--rng-seed", "--seed-text"),
    "--deck": ("--deck-name", "--back"),
    "--num-envs": ("--envs", "--n-envs", "--num-games", "--rows", "--at-once"),
    "--total-timesteps": ("--timesteps", "--total-steps", "--max-steps"),
    "--minutes": ("--time", "--duration", "--max-minutes"),
    "--save-interval": ("--save-freq", "--checkpoint-freq"),
    "--keep-last": ("--keep", "--keep-checkpoints", "--max-checkpoints"),
    "--output": ("--out", "--file", "--save-path", "--save"),
    "--picture": ("--plot", "--figure", "--image", "--png"),
    "--opponent": ("--rival", "--versus", "--vs"),
    "--policy": ("--agent", "--bot", "--player"),
    "--option": ("--game-option", "--env-option", "--opt"),
    "--runs-dir": ("--run-dir", "--runs", "--root", "--directory"),
    "--json": ("--as-json", "--format"),
    "--yes": ("--no-confirm", "--assume-yes"),
}
"""The word for a thing, and those it could also be called by."""
OTHER_THINGS = {
    ("graph export", "--format"): "which of two kinds of file is written, neither of them what is printed",
    ("ui", "--runs"): "several directories, each shown by itself",
    ("graph discover", "--runs"): "how many runs (whole games of Balatro) are played, beside how many at a time",
}


def commands(group: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    for word, command in getattr(group, "commands", {}).items():
        yield from commands(command, f"{name} {word}".strip())
    yield name, group


def test_one_word_means_one_thing_in_all_commands() -> None:
    word_of = {other: word for word, others in ONE_WORD.items() for other in others}
    shown = {
        (name, flag)
        for name, command in commands(typer.main.get_command(command_line()))
        for param in command.params
        if not getattr(param, "hidden", False)
        for flag in param.opts
        if flag.startswith("-")
    }
    assert {word for word in ONE_WORD if not any(flag == word for _, flag in shown)} <= {"--deck"}, "nobody uses it"
    wrong = [
        f"jimbot {name} {flag} (say {word_of[flag]})"
        for name, flag in sorted(shown - OTHER_THINGS.keys())
        if flag in word_of
    ]
    assert OTHER_THINGS.keys() <= shown
    assert not wrong


@pytest.mark.parametrize(("flag", "setting"), [("--timesteps", "total_timesteps"), ("--save-freq", "save_interval")])
def test_flags_of_other_scripts_are_understood_and_not_shown(jimbot: Jimbot, flag: str, setting: str) -> None:
    code, _, err = jimbot("train", "probe", flag, "many")
    assert code == 2
    assert f"{setting} is many" in err.replace("'", "")
    assert flag not in re.findall(r"--[a-z-]+", jimbot("train", "--help")[1])


def test_the_help_of_a_command_shows_the_options_of_the_game_it_names(jimbot: Jimbot) -> None:
    shown = jimbot("play", "balatro", "--help")[1]
    assert "Options of balatro" in shown
    for flag in ("--deck", "--stake", "--endless", "--challenge"):
        assert flag in shown
    assert "--discount" not in shown  # training sets it
    assert "PydanticUndefined" not in jimbot("train", "balatro", "--help")[1]


@pytest.mark.parametrize("game", available_games())
def test_every_option_says_what_it_means_and_is_in_the_table(game: str) -> None:
    table = (DOCS / "games" / "options.md").read_text()
    for option in game_entry(game).spec.option_list:
        assert option.meaning, option.name
        assert option.internal or re.search(rf"^\| {game} \| `--{option.flag}` \|", table, re.M), option.name


def test_flags_are_printed_as_they_are_typed() -> None:
    assert game_flags({"deck": "blue", "endless": False}) == " --deck blue --no-endless"


def test_balatros_seed_is_the_seed(jimbot: Jimbot, tmp_path: Path) -> None:
    entry = game_entry("balatro")
    number = seed_number(entry, "7LB2WVPK")
    assert seed_name(entry, number) == "7LB2WVPK"
    assert seed_number(entry, "7lb2wvpk") == number
    assert seed_number(entry, str(number)) == number
    assert seed_name(entry, 2**63) == str(2**63)  # beyond the texts there are
    assert seed_name(entry, 0) == "0"  # 11111111 would be read as a number
    file = tmp_path / "seeds.txt"
    file.write_text(f"7LB2WVPK  # mine\n{number + 1}\n")
    assert choose_seeds(seeds_file=file, game_id="balatro")[0].tolist() == [number, number + 1]
    assert choose_seeds(["7LB2WVPK"], game_id="balatro")[0].tolist() == [number]


def test_what_is_no_seed_is_told() -> None:
    entry = game_entry("balatro")
    for text, words in (("ABC", "--seed-text ABC"), ("7LB2WVP!", "expected 1 to 8"), ("-1", "such as 7LB2WVPK")):
        with pytest.raises(UsageError, match=re.escape(words)):
            seed_number(entry, text)
    with pytest.raises(UsageError, match="is not a seed; expected a whole number"):
        seed_number(game_entry("probe"), "7LB2WVPK")
    with pytest.raises(UsageError, match="was already given in Seed 1"):
        choose_seeds(["5", 5], game_id="probe")


def test_evaluate_plays_the_seeds_it_is_given(jimbot: Jimbot) -> None:
    code, out, err = jimbot("evaluate", "perfect", "--seed", "5", "--seed", "6", "--json")
    assert code == 0, err
    assert json.loads(out)["games"] == 2


def test_help_version_and_groups(jimbot: Jimbot) -> None:
    assert jimbot("-V")[1].startswith("jimbot ")
    shown = jimbot("--help")[1]
    places = [shown.index(f"─ {group} ─") for group in ("Learn", "Evaluate", "Look", "Serve", "Operate")]
    assert places == sorted(places)
    assert jimbot("help")[1] == shown
    assert "Usage: jimbot runs show" in jimbot("help", "runs", "show")[1]
