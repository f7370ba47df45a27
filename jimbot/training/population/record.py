"""What is known of a population: who is in it, with which hyper-parameters, from whom each came.

    <run>/population.json     the members now and the generation they are in; replaced in one step
    <run>/lineage.jsonl       one line per member and generation that ended: score, parent, hyper-parameters
    <run>/members/<k>/        each member's own run directory

A generation ends when every member's turn is over. Then, in this order: lineage is written, `population.json` names the
next generation, and members that continue from another take over its checkpoint. A kill between two of these is mended
at the next start: lines of a generation that did not end are dropped, and taking over is repeated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from jimbot.errors import CheckpointError, SettingsError, UnreadableError
from jimbot.reading.plain import json_value
from jimbot.runs.checkpoint import CheckpointStore, load_checkpoint
from jimbot.runs.directory import RunDirectory
from jimbot.runs.files import make_directory, read_text, write_atomically
from jimbot.training.settings.batch import MEASURED
from jimbot.training.settings.record import TrainSettings
from jimbot.training.trials import Range, Values, generator, spread, values_of

FORMAT = 1
POPULATION, LINEAGE, MEMBERS = "population.json", "lineage.jsonl", "members"
GENERATIONS = 20  # in a run, unless population_interval says otherwise


class Line(BaseModel):
    """One member at the end of one generation."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    generation: int
    member: int
    step: int
    score: float | None  # None: learning failed
    values: Values  # it learned with
    parent: int  # whose state it goes on from; itself, unless it was replaced
    next_values: Values  # it goes on with
    failure: str = ""


class State(BaseModel):
    """The content of population.json."""

    model_config = ConfigDict(extra="forbid")

    format: int = FORMAT
    interval: int  # steps of a turn
    generation: int = 0  # that is running, or would be if the run went on
    values: list[Values]  # of each member
    parents: list[int]  # from whose state each member begins this generation
    taken_over: bool = True  # False until those that begin from another's state have its checkpoint


class Population:
    """The members of one run. `open` reads what is there, or makes the first generation."""

    def __init__(self, folder: Path, settings: TrainSettings, state: State) -> None:
        self.folder, self.settings, self.state = folder, settings, state

    @classmethod
    def open(cls, folder: Path, settings: TrainSettings, ranges: Mapping[str, Range]) -> Population:
        text = read_text(folder / POPULATION)
        state = cls._first(settings, ranges) if text is None else cls._parsed(folder / POPULATION, text)
        population = cls(folder, settings, state)
        if text is None:
            population._write_state()
        population._mend()
        return population

    @property
    def size(self) -> int:
        return len(self.state.values)

    @property
    def generation(self) -> int:
        return self.state.generation

    @property
    def members_folder(self) -> Path:
        return self.folder / MEMBERS

    @property
    def start(self) -> int:
        """The step at which this generation began."""
        return self.generation * self.state.interval

    @property
    def until(self) -> int:
        """The step at which it ends."""
        return min(self.start + self.state.interval, self.settings.total_timesteps)

    @property
    def complete(self) -> bool:
        return self.start >= self.settings.total_timesteps

    def member_settings(self, member: int) -> dict[str, Any]:
        """The settings of a member's own run."""
        own: dict[str, Any] = {
            "run_name": str(member),
            "run_suffix": None,
            "seed": self.settings.seed + member,
            "eval_games": 0,
        }
        own |= {"population": 0, "mutations": {}, "minutes": None, "checkpoint_dir": None, "resume": None}
        own |= {"no_wandb": True, "project": None, "metrics_port": None}  # what others see is the population
        return self.settings.flat() | own | self.state.values[member]

    def store(self, member: int) -> CheckpointStore:
        return RunDirectory(self.members_folder, str(member)).checkpoints(self.settings.saving.keep_last)

    def close_generation(self, lines: Sequence[Line]) -> None:
        """Ends the running generation: who goes on from whom, and with what."""
        self._write_lineage([*self.lineage(), *lines])
        state = self.state
        self.state = state.model_copy(
            update={
                "generation": state.generation + 1,
                "values": [line.next_values for line in lines],
                "parents": [line.parent for line in lines],
                "taken_over": False,
            }
        )
        self._write_state()
        self._take_over()

    def lineage(self) -> list[Line]:
        return read_lineage(self.folder)

    @classmethod
    def _first(cls, settings: TrainSettings, ranges: Mapping[str, Range]) -> State:
        """The given settings themselves, and others near them."""
        own = values_of(settings, ranges)
        members = list(range(settings.population.size))
        others = [spread(own, ranges, generator(settings.seed, member)) for member in members[1:]]
        interval = settings.population.interval or -(-settings.total_timesteps // GENERATIONS)
        whole_updates = -(-interval // settings.batch_size) * settings.batch_size
        return State(interval=whole_updates, values=[own, *others], parents=members)

    @classmethod
    def _parsed(cls, path: Path, text: str) -> State:
        try:
            state = State.model_validate_json(text)
        except ValidationError as problem:
            raise CheckpointError(
                f"{path} is damaged ({problem.errors()[0]['msg']}); give another --run, or --fresh to start over."
            ) from problem
        if state.format != FORMAT:
            raise CheckpointError(f"{path} is of format {state.format}; this version reads format {FORMAT}.")
        return state

    def _mend(self) -> None:
        """Finishes what a kill interrupted."""
        make_directory(self.members_folder)
        kept = [line for line in self.lineage() if line.generation < self.generation]
        if kept != self.lineage():
            self._write_lineage(kept)
        self._take_over()

    def _take_over(self) -> None:
        """Members that go on from another get its checkpoint. Nobody has begun the next turn yet, so nothing moves."""
        if self.state.taken_over:
            return
        for member, parent in enumerate(self.state.parents):
            if parent == member:
                continue
            newest = self.store(parent).latest()
            if newest is None:
                raise CheckpointError(
                    f"Member {parent} of {self.folder} has no checkpoint, from which member {member} is to go on. "
                    "Use --fresh to start over."
                )
            self.store(member).adopt(load_checkpoint(newest))
        self.state = self.state.model_copy(update={"taken_over": True})
        self._write_state()

    def _write_state(self) -> None:
        write_atomically(self.folder / POPULATION, self.state.model_dump_json(indent=1).encode())

    def _write_lineage(self, lines: Sequence[Line]) -> None:
        text = "".join(line.model_dump_json() + "\n" for line in lines)
        write_atomically(self.folder / LINEAGE, text.encode())


def read_lineage(folder: Path) -> list[Line]:
    """Every line of a population's history, by generation and member."""
    path = folder / LINEAGE
    try:
        return [Line(**json_value(line)) for line in (read_text(path) or "").splitlines()]
    except (UnreadableError, TypeError, ValidationError) as problem:
        raise CheckpointError(f"{path} is damaged: {problem}. Use --fresh to start over.") from problem


def check_population(settings: TrainSettings) -> None:
    """Raises where a population cannot be what the settings say."""
    if settings.population.size < 2:
        raise SettingsError(
            f"population is {settings.population.size}; expected 2 members or more, or 0 to train a single agent."
        )
    measured, resumed = settings.batch == MEASURED, settings.saving.resume
    for name, wrong, reason in (("batch", measured, "measures one trainer"), ("resume", resumed, "continues one run")):
        if wrong:
            raise SettingsError(
                f"{name} is {settings[name]}: it {reason} and does not go with a population; leave out one of the two."
            )
