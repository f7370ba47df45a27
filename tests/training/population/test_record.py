"""A population's record: first members, generations that end whole or not at all, states that are taken over."""

from __future__ import annotations

from pathlib import Path

import pytest

from jimbot.errors import CheckpointError, SettingsError
from jimbot.runs.checkpoint import load_checkpoint
from jimbot.training.population.record import LINEAGE, POPULATION, Line, Population, check_population
from jimbot.training.trials import chosen_ranges
from tests.runs.checkpoint_making import arrays, manifest
from tests.training.small import small_settings

RANGES = chosen_ranges("PPO")


def opened(folder: Path, **changes: object) -> Population:
    folder.mkdir(exist_ok=True)
    settings = small_settings(**{"population": 3, "population_interval": 512, **changes})
    return Population.open(folder, settings, RANGES)


def save(population: Population, member: int) -> None:
    content = arrays(member)  # tells whose it is
    population.store(member).save(manifest(512), b"onnx", content, content)


def lines_of(population: Population, parents: list[int]) -> list[Line]:
    values = population.state.values
    return [
        Line(
            generation=population.generation,
            member=member,
            step=population.until,
            score=float(-member),
            values=values[member],
            parent=parent,
            next_values=values[parent] | ({"lr": 1e-4} if parent != member else {}),
        )
        for member, parent in enumerate(parents)
    ]


def test_the_first_member_has_the_given_settings_and_the_others_their_own(tmp_path: Path) -> None:
    population = opened(tmp_path)
    settings = [population.member_settings(member) for member in range(3)]
    assert settings[0]["lr"] == population.settings.ppo.lr
    assert len({member["lr"] for member in settings}) == 3
    assert len({member["seed"] for member in settings}) == 3
    assert all(member["population"] == 0 for member in settings)


def test_the_same_settings_make_the_same_first_members(tmp_path: Path) -> None:
    assert opened(tmp_path / "a").state == opened(tmp_path / "b").state


def test_turns_end_at_whole_updates_and_at_the_end_of_the_run(tmp_path: Path) -> None:
    population = opened(tmp_path, population_interval=700, total_timesteps=1500)
    assert population.until == 1024, "two updates of 512"
    population.close_generation(lines_of(population, [0, 1, 2]))
    assert (population.start, population.until) == (1024, 1500)
    population.close_generation(lines_of(population, [0, 1, 2]))
    assert population.complete


def test_who_is_replaced_goes_on_from_its_parents_checkpoint(tmp_path: Path) -> None:
    population = opened(tmp_path)
    for member in range(3):
        save(population, member)
    population.close_generation(lines_of(population, [0, 1, 0]))
    taken = load_checkpoint(population.store(2).latest() or "")
    own = load_checkpoint(population.store(0).latest() or "")
    assert taken.params().keys() == own.params().keys()
    assert all((taken.params()[name] == own.params()[name]).all() for name in own.params())
    assert population.state.values[2]["lr"] == 1e-4
    assert [line.parent for line in population.lineage()] == [0, 1, 0]


def test_a_generation_that_was_killed_before_it_ended_leaves_no_lineage(tmp_path: Path) -> None:
    population = opened(tmp_path)
    population.close_generation(lines_of(population, [0, 1, 2]))
    before = (tmp_path / POPULATION).read_bytes()
    population.close_generation(lines_of(population, [0, 1, 2]))
    (tmp_path / POPULATION).write_bytes(before)  # as if killed after the lineage was written
    again = opened(tmp_path)
    assert again.generation == 1
    assert {line.generation for line in again.lineage()} == {0}


def test_a_takeover_that_was_killed_is_repeated(tmp_path: Path) -> None:
    population = opened(tmp_path)
    for member in range(3):
        save(population, member)
    population.close_generation(lines_of(population, [0, 1, 0]))
    population.state.taken_over = False
    population._write_state()
    save(population, 2)  # its own again
    again = opened(tmp_path)
    assert again.state.taken_over
    taken, own = (load_checkpoint(again.store(member).latest() or "").params() for member in (2, 0))
    assert all((taken[name] == own[name]).all() for name in own)


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        (POPULATION, "{]", "is damaged"),
        (POPULATION, '{"format": 9, "interval": 1, "values": [], "parents": []}', "is of format 9"),
        (LINEAGE, "{}\n", "is damaged"),
    ],
)
def test_a_damaged_record_is_one_sentence(tmp_path: Path, file: str, content: str, sentence: str) -> None:
    opened(tmp_path)
    (tmp_path / file).write_text(content)
    with pytest.raises(CheckpointError, match=sentence):
        opened(tmp_path)


def test_a_population_of_one_is_refused() -> None:
    with pytest.raises(SettingsError, match="population is 1; expected 2 members or more"):
        check_population(small_settings(population=1))
    with pytest.raises(SettingsError, match="batch is measured: it measures one trainer"):
        check_population(small_settings(population=2, batch="measured"))
