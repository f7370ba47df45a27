"""Ray Tune's population-based training over our own record, checkpoints and mutations.

Tune's scheduler compares the members when all of them have taken their turn, chooses who is replaced by whom, and gives
every member the next turn. What is replaced here is how: mutations come from our table and stay in their ranges, and a
generation ends in our record before any member goes on, so that nothing depends on Ray's own files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jimbot.training.population.record import Line, Population
from jimbot.training.ray.tune_trials import FAILED, SCRATCH, STOP, Finish, Here, Watch, fit, tune
from jimbot.training.session.session import Session
from jimbot.training.trials import Range, generator, mutated, run_config

from ray.tune.schedulers import PopulationBasedTraining, TrialScheduler  # isort: skip - after ray_tune's settings
from ray.tune.search.basic_variant import BasicVariantGenerator  # isort: skip


class HousePBT(Here, PopulationBasedTraining):
    """`closed` is called with the lines of every generation that ended."""

    def __init__(
        self,
        population: Population,
        ranges: Mapping[str, Range],
        closed: Callable[[list[Line]], None],
        finish: Finish,
    ) -> None:
        super().__init__(
            time_attr="training_iteration",
            metric="score",
            mode="max",
            perturbation_interval=1,
            quantile_fraction=population.settings.population.quantile,
            custom_explore_fn=lambda config: config,  # required; the mutation itself is in _get_new_config
            log_config=False,
            synch=True,
        )
        self._population, self._ranges, self._closed = population, ranges, closed
        self._results: dict[int, dict[str, Any]] = {}
        self._replaced: dict[int, tuple[int, dict[str, float]]] = {}  # member: (parent, its values from now on)
        self._finish = finish

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        if result["interrupted"]:
            self._finish.finish()
            return TrialScheduler.PAUSE
        self._results[member_of(trial)] = result
        complete = len(self._results) == self._population.size
        if complete and self._population.until >= self._population.settings.total_timesteps:
            self._close()  # the last generation: nobody goes on, so nobody is replaced
            self._finish.finish()
            return TrialScheduler.PAUSE
        decision = super().on_trial_result(tune_controller, trial, result)
        if complete:
            self._close()
        return decision

    def _get_new_config(self, trial: Any, trial_to_clone: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        member, parent = member_of(trial), member_of(trial_to_clone)
        rng = generator(self._population.settings.seed, self._population.generation + 1, member)
        values = mutated(trial_to_clone.config["run"]["values"], self._ranges, rng)
        self._replaced[member] = (parent, values)
        return {"run": {**trial.config["run"], "values": values}}, {}

    def _close(self) -> None:
        population = self._population
        lines = []
        for member, values in enumerate(population.state.values):
            result = self._results[member]
            parent, next_values = self._replaced.get(member, (member, values))
            score = result["score"] if result["score"] > FAILED else None
            lines.append(
                Line(
                    generation=population.generation,
                    member=member,
                    step=result["step"],
                    score=score,
                    values=values,
                    parent=parent,
                    next_values=next_values,
                    failure=result["failure"],
                )
            )
        self._results, self._replaced = {}, {}
        population.close_generation(lines)
        self._closed(lines)


class Members(BasicVariantGenerator):
    """The members, once each. Never finished before the run is: between two generations nobody is waiting to run, and
    Tune would take a finished list for the end and give up the process that has everything compiled."""

    def __init__(self, finish: Finish) -> None:
        super().__init__()
        self._finish = finish

    def is_finished(self) -> bool:
        return self._finish.stop_all() and super().is_finished()


def run_members(
    population: Population, ranges: Mapping[str, Range], session: Session, closed: Callable[[list[Line]], None]
) -> None:
    """All members' turns until the run is complete or asked to stop."""
    settings, state = population.settings, population.state
    stop_file = population.folder / STOP
    stop_file.unlink(missing_ok=True)
    runs = [
        run_config(
            str(member),
            values,
            root=population.members_folder,
            settings=population.member_settings(member),
            interval=state.interval,
            total=settings.total_timesteps,
            turns_before=population.generation,
            games=settings.population.games,
            stop_file=stop_file,
        )
        for member, values in enumerate(state.values)
    ]
    finish = Finish()
    fit(
        settings,
        tune.grid_search(runs),
        tune.TuneConfig(
            search_alg=Members(finish),
            scheduler=HousePBT(population, ranges, closed, finish),
            reuse_actors=True,
            trial_name_creator=lambda trial: f"member-{member_of(trial)}",
            trial_dirname_creator=lambda trial: f"member-{member_of(trial)}",
        ),
        population.folder / SCRATCH,
        finish,
        Watch(session, population.members_folder, stop_file, finish, settings.total_timesteps, population.size),
    )
    stop_file.unlink(missing_ok=True)


def member_of(trial: Any) -> int:
    return int(trial.config["run"]["name"])
