"""One call of population-based training: open or continue it, let all members take turns, evaluate the best.

The run directory is an ordinary one. Its checkpoints are those of the best member of each generation, so watching,
evaluating, exporting and comparing need not know that it was a population.

The picture of its history: each member keeps its colour; where one was replaced, an arrow leads from its parent; the
line that leads to the best member of the end is drawn thick, because it is the history of the policy that one gets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jimbot.errors import TrainingError
from jimbot.plugins import provided
from jimbot.runs.checkpoint import load_checkpoint
from jimbot.runs.files import file_in_progress
from jimbot.training.init_policy import find_start
from jimbot.training.population.record import Line, Population, check_population
from jimbot.training.session.session import Outcome, Session
from jimbot.training.settings.layers import complete
from jimbot.training.settings.record import TrainSettings
from jimbot.training.trials import KNOWN, check_settings, chosen_ranges

PICTURE = "lineage.png"


def draw_lineage(lines: Sequence[Line], path: Path) -> Path:
    """Draws every generation in `lines` into a PNG file."""
    from matplotlib.figure import Figure

    names = list(lines[0].values)
    figure = Figure(figsize=(9, 3.2 + 1.5 * len(names)), layout="constrained")
    panels = figure.subplots(1 + len(names), 1, sharex=True, height_ratios=[2.2, *[1] * len(names)], squeeze=False)[
        :, 0
    ]
    _draw_scores(panels[0], lines)
    for panel, name in zip(panels[1:], names, strict=True):
        _draw_values(panel, lines, name)
    panels[-1].set_xlabel("generation")
    panels[-1].xaxis.get_major_locator().set_params(integer=True)
    with file_in_progress(path) as temporary:
        figure.savefig(temporary, dpi=110, format="png")
    return path


def ancestry(lines: Sequence[Line]) -> list[tuple[int, int]]:
    """(generation, member) of the best member at the end and of those it came from, oldest first."""
    by_place = {(line.generation, line.member): line for line in lines}
    last = max(line.generation for line in lines)
    member = best_of([line for line in lines if line.generation == last]).member
    path = [(last, member)]
    for generation in range(last - 1, min(line.generation for line in lines) - 1, -1):
        member = by_place[generation, member].parent
        path.append((generation, member))
    return path[::-1]


def best_of(lines: Sequence[Line]) -> Line:
    return max(lines, key=lambda line: float("-inf") if line.score is None else line.score)


def _draw_scores(panel: Any, lines: Sequence[Line]) -> None:
    by_place = {(line.generation, line.member): line for line in lines}
    for member in sorted({line.member for line in lines}):
        own = [line for line in lines if line.member == member and line.score is not None]
        x, y = [line.generation + 1 for line in own], [line.score for line in own]
        panel.plot(x, y, "o", color=f"C{member % 10}", markersize=5, label=f"member {member}")
    for line in lines:
        following = by_place.get((line.generation + 1, line.member))
        parent = by_place[line.generation, line.parent]
        if following is None or following.score is None or parent.score is None:
            continue
        replaced = line.parent != line.member
        panel.annotate(
            "",
            (line.generation + 2, following.score),
            (line.generation + 1, parent.score),
            arrowprops={
                "arrowstyle": "->" if replaced else "-",
                "linestyle": "--" if replaced else "-",
                "color": f"C{line.member % 10}",
                "alpha": 0.9 if replaced else 0.6,
                "shrinkA": 3,
                "shrinkB": 3,
            },
        )
    line_of_best = [by_place[place] for place in ancestry(lines) if by_place[place].score is not None]
    panel.plot(
        [line.generation + 1 for line in line_of_best],
        [line.score for line in line_of_best],
        color="black",
        linewidth=5,
        alpha=0.15,
        zorder=0,
        label="line of the best",
    )
    panel.set_ylabel("return on\nvalidation games")
    panel.set_title("dashed arrows: a member goes on from another one's state", fontsize=9)
    panel.grid(alpha=0.3)
    panel.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, frameon=False)


def _draw_values(panel: Any, lines: Sequence[Line], name: str) -> None:
    distance = KNOWN[name].scale == "complement"
    for member in sorted({line.member for line in lines}):
        own = [line for line in lines if line.member == member]
        values = [1.0 - line.values[name] if distance else line.values[name] for line in own]
        panel.plot([line.generation + 1 for line in own], values, ".-", color=f"C{member % 10}", linewidth=1)
    if KNOWN[name].scale != "linear":
        panel.set_yscale("log")
    panel.set_ylabel(f"1 − {name}" if distance else name)
    panel.grid(alpha=0.3)


def run_population(
    settings: TrainSettings, root: Path = Path("runs"), fresh: bool = False, quiet: bool = False
) -> Outcome:
    """Trains (or goes on training) a population and evaluates its best member."""
    settings = complete(settings)
    check_population(settings)
    check_settings(settings)
    ranges = chosen_ranges(settings.algorithm, settings.population.mutations)
    run_members, local_ray = (provided("jimbot.trials", part) for part in ("population", "machine"))  # Ray, or why not

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
        evaluation = session.evaluated_checkpoint(checkpoint) if settings.judging.eval_games else None
        step = load_checkpoint(checkpoint).manifest.step
        return Outcome(session.run.name, step, checkpoint, session.latest_metrics, evaluation)


class Generations:
    """What happens when a generation ends: the best is kept, everything is logged and drawn."""

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
