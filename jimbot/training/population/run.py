"""One call of population-based training: open or continue it, let everybody take turns, judge the best.

The run directory is an ordinary one. Its checkpoints are those of the best member of each generation, so watching,
judging, exporting and comparing need not know that it was a population.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from jimbot.errors import TrainingError
from jimbot.runs.checkpoint import load_checkpoint
from jimbot.training.init_policy import find_start
from jimbot.training.outcome import Outcome, judge
from jimbot.training.population.picture import PICTURE, draw_lineage
from jimbot.training.population.record import Line, Population, check_population
from jimbot.training.session.session import Session
from jimbot.training.settings.layers import complete
from jimbot.training.settings.record import TrainSettings
from jimbot.training.trials.hyperparameters import chosen_ranges
from jimbot.training.trials.turn import check_settings


def run_population(
    settings: TrainSettings, root: Path = Path("runs"), fresh: bool = False, quiet: bool = False
) -> Outcome:
    """Trains (or goes on training) a population and evaluates its best member."""
    settings = complete(settings)
    check_population(settings)
    check_settings(settings)
    ranges = chosen_ranges(settings.algorithm, settings.population.mutations)
    from jimbot.training.population.ray_pbt import run_members  # a missing Ray is said before anything is written
    from jimbot.training.ray.tune_trials import local_ray

    if settings.start.init_from:
        start = find_start(settings.start.init_from, root).resolve()
        settings = settings.model_copy(update={"init_from": str(start)})
    with Session.open(settings, root, fresh=fresh, quiet=quiet) as session:
        population = Population.open(session.run.path, settings, ranges)
        generations = Generations(population, session)
        if population.generation:
            session.resumed(population.start)
            session.view.note(f"Continuing generation {population.generation + 1}.", style="cyan")
        session.view.note("Starting Ray…", style="dim")
        with local_ray(settings), session.running(population.start, settings.total_timesteps):
            if not population.complete:
                run_members(population, ranges, session, generations.closed)
            reason = session.stop_reason(population.start, settings.total_timesteps) or "the population is complete"
        checkpoint = session.store.latest()
        if checkpoint is None:
            raise TrainingError(
                f"Stopped before the first generation was over ({reason}); there is no best member yet. "
                "The same command goes on where it was."
            )
        session.view.note(f"Training stopped: {reason}. Checkpoint: {checkpoint}", style="green")
        evaluation = judge(settings, checkpoint, session) if settings.judging.eval_games else None
        step = load_checkpoint(checkpoint).manifest.step
        return Outcome(session.run.name, step, checkpoint, session.latest_metrics, evaluation)


class Generations:
    """What happens when a generation ends: the best is kept, everything is told and drawn."""

    def __init__(self, population: Population, session: Session) -> None:
        self.population, self.session = population, session

    def closed(self, lines: list[Line]) -> None:
        session, population = self.session, self.population
        scored = {line.member: line.score for line in lines if line.score is not None}
        for line in lines:
            self._tell(line, scored)
        if not scored:
            raise TrainingError(
                f"Learning failed in every member of the population: {lines[0].failure} "
                "Give a lower lr, or narrower mutations."
            )
        best = max(lines, key=lambda line: float("-inf") if line.score is None else line.score)
        newest = population.store(best.member).latest()
        assert newest is not None, "a turn ends with a checkpoint"
        before = [line.score for line in population.lineage() if line.score is not None and line not in lines]
        is_best = all(best.score >= score for score in before) if best.score is not None else False
        checkpoint = load_checkpoint(newest)
        path = session.store.adopt(checkpoint, is_best=is_best)
        learned = {name: value for name, value in checkpoint.manifest.metrics.items() if name.startswith("train/")}
        session.log(best.step, learned | summary(lines, best))
        session.recorder.checkpoint(best.step, path, is_best)
        draw_lineage(population.lineage(), population.folder / PICTURE)

    def _tell(self, line: Line, scores: Mapping[int, float]) -> None:
        shown = ", ".join(f"{name} {value:.4g}" for name, value in line.values.items())
        score = f"score {line.score:.2f}" if line.score is not None else f"failed ({line.failure})"
        text = f"generation {line.generation + 1}, member {line.member}: {score} with {shown}"
        if line.parent != line.member:
            changed = ", ".join(f"{name} {value:.4g}" for name, value in line.next_values.items())
            text += f"; goes on from member {line.parent} (score {scores[line.parent]:.2f}) with {changed}"
        self.session.recorder.event(line.step, text)
        self.session.view.note(text, style="yellow" if line.parent != line.member else "dim")


def summary(lines: list[Line], best: Line) -> dict[str, float]:
    """The `population/` metrics of a generation."""
    scores = [line.score for line in lines if line.score is not None]
    return {
        "population/generation": float(best.generation + 1),
        "population/best_score": max(scores),
        "population/mean_score": sum(scores) / len(scores),
        "population/worst_score": min(scores),
        "population/replaced": float(sum(line.parent != line.member for line in lines)),
        "population/failed": float(len(lines) - len(scores)),
        **{f"population/best_{name}": value for name, value in best.values.items()},
    }
