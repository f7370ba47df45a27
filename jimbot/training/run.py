"""One training run from settings to verdict: open or continue the run, learn, judge on held-out seeds.

`jimbot train`, `jimbot resume` and `python -m jimbot.training.run` are all this function. `continuing` finds the run a
checkpoint belongs to, `learners` the class that trains, `session` is what that class asks while it learns, `outcome` is
what comes back.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from jimbot.errors import CheckpointError, JimbotError, SettingsError
from jimbot.foreign_text import Terminal, visible
from jimbot.logs import setup_logging
from jimbot.runs.catalogue import store_evaluation
from jimbot.runs.checkpoint import load_checkpoint, run_names
from jimbot.runs.directory import RunDirectory
from jimbot.training.continuing import continued
from jimbot.training.framework import RLTrainer, learner_class, open_trainer
from jimbot.training.memory.restart import restart_command
from jimbot.training.outcome import Outcome, judge
from jimbot.training.session.session import run_name
from jimbot.training.settings.explain import explain, mapping_table
from jimbot.training.settings.layers import complete, resolve
from jimbot.training.settings.layers import resolve_settings as resolve_settings  # users find it here
from jimbot.training.settings.record import DEFAULTS, TrainSettings, load_settings, merged, parse_assignments, read_yaml
from jimbot.training.settings.rllib_names import game_of

STANDARD = Path("configs/default_ppo.yaml")
"""What `python -m jimbot.training.run` trains from when nobody says otherwise."""
CLUSTER = {"learner": "ray", "address": "auto"}
"""`--cluster`, in one word."""


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
    return load_settings({**DEFAULTS, **config, "resume": None}, {"run_name": run, "run_suffix": None}, given)


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
    settings = complete(settings)
    if settings.population.size:
        from jimbot.training.population.run import run_population

        return run_population(settings, root, fresh, quiet)
    if settings.auto_tune:
        learner_class(settings)  # what it cannot honour is said before anything is measured
        settings = _tuned(settings, None if fresh else RunDirectory(root, run_name(settings)).read_config())
    with closing(open_trainer(settings, root, fresh, quiet)) as trainer:
        session = trainer.session
        trainer.train()
        if session.memory.restart_wanted:
            session.memory.count_restart(trainer.step)
            if restart is not None:
                trainer.close()
                restart(session.seconds)
        return _outcome(trainer)


def _outcome(trainer: RLTrainer) -> Outcome:
    """What was learned, saved where `train` did not, and judged."""
    session, settings = trainer.session, trainer.settings
    games = settings.judging.eval_games
    if not trainer.can_save:
        if games:
            session.evaluated(trainer.step, *trainer.evaluate(games))
        return Outcome(session.run.name, trainer.step, None, session.log(trainer.step, {}), None)
    checkpoint = session.store.latest()
    if checkpoint is None or load_checkpoint(checkpoint).manifest.step < trainer.step:
        checkpoint = trainer.save_model()
    evaluation = judge(settings, checkpoint, session) if games else None
    step = load_checkpoint(checkpoint).manifest.step
    if evaluation is not None:
        store_evaluation(session.run, evaluation.to_dict(), step)
    return Outcome(session.run.name, step, checkpoint, session.latest_metrics, evaluation)


def _tuned(settings: TrainSettings, stored: Mapping[str, Any] | None) -> TrainSettings:
    """Measured once per run; a run that goes on keeps what was chosen at its start."""
    from jimbot.training.jax_ppo.autotune import TUNED, tune

    if stored is not None:
        return settings.model_copy(update={name: stored[name] for name in TUNED})
    return tune(settings)


def standard_file(values: Mapping[str, Any]) -> dict[str, Any]:
    """`configs/default_ppo.yaml`, one's own before the one that comes with JimBot; nothing where another game is meant:
    that has its preset."""
    own = STANDARD if STANDARD.is_file() else Path(__file__).parent / STANDARD
    file = read_yaml(own)
    return file if merged(values).get("game") in (None, game_of(file.get("env"))) else {}


def main(arguments: list[str] | None = None) -> int:
    """`python -m jimbot.training.run`: a run from a settings file, without flags for every setting."""
    parser = argparse.ArgumentParser("python -m jimbot.training.run", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--config", type=Path, help=f"settings file, RLlib-style names are understood ({STANDARD})")
    parser.add_argument("--checkpoint", help="go on from this checkpoint, or begin from this exported file (.pt, .npz)")
    parser.add_argument("--experiment", help="name of the run")
    parser.add_argument("--track", action="store_true", help="record the run with W&B, under the experiment's name")
    parser.add_argument("--cluster", action="store_true", help="join the Ray cluster that runs on this machine")
    parser.add_argument("--log-level", help="debug, info, warning or error: what is told beside the run's own lines")
    parser.add_argument("--set", dest="assignments", action="append", default=[], help="name=value; any setting")
    parser.add_argument(
        "--explain-config", action="store_true", help="show what each line of the file became, and stop"
    )
    parser.add_argument("--runs-dir", type=Path, default=Path("runs"), help="where runs live")
    given = parser.parse_args(arguments)
    values = parse_assignments(given.assignments)
    chosen: dict[str, Any] = CLUSTER if given.cluster else {}
    if given.experiment is not None:
        chosen |= {"run_name": given.experiment}
    if given.track:
        chosen |= {"project": given.experiment or "jimbot"}
    try:
        if given.log_level is not None:
            setup_logging(given.log_level)
        file, notes, root = read_yaml(given.config) if given.config else {}, [], given.runs_dir
        if given.checkpoint is not None:
            settings, root = continued(given.checkpoint, merged(file, values, chosen), root)
        else:
            file = file or standard_file(values)
            settings, _, notes = resolve(file, values, chosen, root=root)
        if given.explain_config:
            Terminal().print(mapping_table(explain(file, settings)))
        for note in notes:
            Terminal(stderr=True).print(note, style="dim")
        if given.explain_config:
            return 0
        outcome = run_training(settings, root, restart=restart_command)
    except JimbotError as problem:
        print(visible(problem), file=sys.stderr)
        return problem.exit_code
    if outcome.evaluation:
        Terminal().print(outcome.evaluation)
    print(f"Run {outcome.run} is at step {outcome.step:,}: {outcome.checkpoint or 'no policy to save'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
