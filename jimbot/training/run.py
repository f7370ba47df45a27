"""One training run from settings to verdict: open or continue the run, learn, judge on held-out seeds.

`jimbot train`, `jimbot resume` and `python -m jimbot.training.run` are all this function.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console

from jimbot.errors import CheckpointError, JimbotError, SettingsError
from jimbot.games.contract import game_entry
from jimbot.runs.checkpoint import run_names
from jimbot.runs.directory import RunDirectory
from jimbot.training.environments.given import training_options
from jimbot.training.framework import learner_class, learner_name
from jimbot.training.memory.restart import restart_command
from jimbot.training.presets import preset
from jimbot.training.session.session import Session, run_name
from jimbot.training.settings.record import TrainSettings, load_settings, parse_assignments, read_yaml
from jimbot.training.settings.rllib_names import explain, mapping_table
from jimbot.training.settings.trainer_config import algorithm_defaults

if TYPE_CHECKING:
    from jimbot.evaluation import Evaluation


class Outcome(NamedTuple):
    """What a call of `run_training` leaves behind."""

    run: str
    step: int
    checkpoint: Path
    metrics: dict[str, float]
    evaluation: Evaluation | None


def resolve_settings(config: Path | None, given: Mapping[str, Any]) -> TrainSettings:
    """Field defaults < the algorithm's < preset of the game and learner < YAML < what was given on the command line."""
    from_file = read_yaml(config) if config else {}
    draft = load_settings(from_file, given, {"num_minibatches": 1})  # only to learn which game and learner it will be
    learner = learner_name(draft)
    layers = [algorithm_defaults(draft.algorithm, learner), preset(draft.game, learner), from_file, given]
    if draft.algorithm == "PPO" and (places := wanted_places(from_file, given)) is not None:
        layers.append({"num_steps": steps_for(places, load_settings(*layers, {"num_minibatches": 1}))})
    return load_settings(*layers)


def wanted_places(*layers: Mapping[str, Any]) -> Any:
    """`buffer_size`, where it is how PPO's batch was chosen: who names num_steps as well (a file of all settings does)
    means DQN's.

    >>> wanted_places({"buffer_size": 4096, "num_steps": 32}, {"buffer_size": 2048})
    2048
    """
    places = None
    for layer in layers:
        places = None if "num_steps" in layer else layer.get("buffer_size", places)
    return places


def steps_for(places: Any, settings: TrainSettings) -> int:
    """Steps of each game between two updates, for so many places for decisions in all rows together."""
    spec = game_entry(settings.game).spec
    options = spec.parse_options(training_options(settings))
    rows = settings.num_envs * getattr(options, "players", spec.players)
    if settings.replay.buffer_size < rows:
        raise SettingsError(
            f"buffer_size is {places}, but {settings.num_envs} games have {rows} rows that decide. Give at least "
            f"{rows}, or fewer games (--num-envs)."
        )
    return settings.replay.buffer_size // rows


def stored_settings(run: str, given: Mapping[str, Any], root: Path = Path("runs")) -> TrainSettings:
    """The settings a run was started with, for `jimbot resume`; `given` may change what may change."""
    directory = RunDirectory(root, run)
    config = directory.read_config() if directory.path.is_dir() else None
    if config is None:
        known = ", ".join(run_names(root)) or "none"
        raise CheckpointError(
            f"There is no run '{run}' under {root} (runs there: {known}). Check the name or --runs-dir."
        )
    if "dataset" in config:
        raise SettingsError(f"Run '{run}' is a clone; the same `jimbot clone` command continues it.")
    return load_settings({**config, "resume": None}, {"run_name": run, "run_suffix": None}, given)


def run_training(
    settings: TrainSettings,
    root: Path = Path("runs"),
    fresh: bool = False,
    quiet: bool = False,
    restart: Callable[[float], None] | None = None,
) -> Outcome:
    """Trains (or goes on training) a run and evaluates what came out.

    `restart(seconds trained)` replaces this process by a clean one that continues the run, when memory asks for it;
    without one the call ends there, and the next one continues.
    """
    if settings.population.size:
        from jimbot.training.population.run import run_population

        return run_population(settings, root, fresh, quiet)
    trainer_class = learner_class(settings)
    if settings.auto_tune:
        settings = _tuned(settings, None if fresh else RunDirectory(root, run_name(settings)).read_config())
    session = Session.open(settings, root, fresh=fresh, quiet=quiet)
    with session, ExitStack() as stack:
        settings = settings.model_copy(update=session.memory.changes)
        trainer = stack.enter_context(closing(trainer_class(settings, session)))
        trainer.create_model()
        if start := session.resume_point():
            trainer.load_model(start)
            session.resumed(load_step(start))
            session.view.note(f"Continuing from {start}.", style="cyan")
        elif told := trainer.begin(root):
            session.view.note(told, style="cyan")
            session.recorder.event(0, told)
        trainer.train()
        if session.memory.restart_wanted:
            session.memory.count_restart(trainer.step)
            if restart is not None:
                trainer.close()
                restart(session.seconds)
        checkpoint = session.store.latest()
        assert checkpoint is not None, "train() always saves"
        evaluation = judge(settings, checkpoint) if settings.judging.eval_games else None
        return Outcome(session.run.name, load_step(checkpoint), checkpoint, session.latest_metrics, evaluation)


def judge(settings: TrainSettings, checkpoint: Path) -> Evaluation:
    """The finished policy on held-out seeds, from its checkpoint, as any user would judge it."""
    from jimbot.evaluation import evaluate

    return evaluate(str(checkpoint), games=settings.judging.eval_games, options=settings.game_options)


def load_step(checkpoint: Path) -> int:
    from jimbot.runs.checkpoint import load_checkpoint

    return load_checkpoint(checkpoint).manifest.step


def _tuned(settings: TrainSettings, stored: Mapping[str, Any] | None) -> TrainSettings:
    """Measured once per run; a run that goes on keeps what was chosen at its start."""
    from jimbot.training.jax_ppo.autotune import TUNED, tune

    if stored is not None:
        return settings.model_copy(update={name: stored[name] for name in TUNED})
    return tune(settings)


def main(arguments: list[str] | None = None) -> int:
    """`python -m jimbot.training.run`: a run from a settings file, without flags for every setting."""
    parser = argparse.ArgumentParser("python -m jimbot.training.run", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--config", type=Path, help="settings file; RLlib-style names are understood")
    parser.add_argument("--checkpoint", help="start from this checkpoint")
    parser.add_argument("--experiment", help="name of the run")
    parser.add_argument("--track", action="store_true", help="record the run with W&B, under the experiment's name")
    parser.add_argument("--set", dest="assignments", action="append", default=[], help="name=value; any setting")
    parser.add_argument(
        "--explain-config", action="store_true", help="show what each line of the file became, and stop"
    )
    parser.add_argument("--runs-dir", type=Path, default=Path("runs"), help="where runs live")
    given = parser.parse_args(arguments)
    values = parse_assignments(given.assignments)
    chosen = {"resume": given.checkpoint, "run_name": given.experiment}
    values |= {name: value for name, value in chosen.items() if value is not None}
    if given.track:
        values["project"] = given.experiment or "jimbot"
    try:
        settings = resolve_settings(given.config, values)
        if given.explain_config:
            Console().print(mapping_table(explain(read_yaml(given.config) if given.config else {}, settings)))
            return 0
        outcome = run_training(settings, given.runs_dir, restart=restart_command)
    except JimbotError as problem:
        print(problem, file=sys.stderr)
        return problem.exit_code
    if outcome.evaluation:
        Console().print(outcome.evaluation)
    print(f"Run {outcome.run} is at step {outcome.step:,}: {outcome.checkpoint}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
