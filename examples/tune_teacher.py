"""Search for better numbers of Balatro's heuristic player (`Taste`) on training seeds; running it again continues.

Every trial plays the same training seeds, so trials differ by their numbers only. Games are lucky: what a trial found
counts when it also wins on seeds the search never saw (`--check`), paired with the numbers shipped.

    python examples/tune_teacher.py --study teacher.sqlite --trials 100
    python examples/tune_teacher.py --study teacher.sqlite --trials 0 --check 1000
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
import optuna

from jimbot.evaluation.play import play_games
from jimbot.games.balatro.heuristic import Heuristic
from jimbot.games.balatro.heuristic.preferences import Taste
from jimbot.games.seeds import TRAIN, bank_seeds
from jimbot.policies.heuristics import HeuristicPolicy

FIRST_CHECK_SEED = 1_000_000  # the search plays seeds from 0 on
SPREAD = 2.5  # a number is tried from its default divided by this to its default times this
BLINDS_OF_A_WIN = 24


def play(taste: Taste, seeds: np.ndarray) -> np.ndarray:
    """(n,) what every game was worth: a win 1, and half as much again for the way there, which is less of a lottery."""
    games = play_games(
        HeuristicPolicy(Heuristic(taste), Heuristic.name), "balatro", seeds, num_envs=min(len(seeds), 256)
    )
    return games.stat("won") + 0.5 * np.minimum(1.0, games.stat("blinds_cleared") / BLINDS_OF_A_WIN)


def suggest(trial: optuna.Trial, names: list[str]) -> Taste:
    """Another taste: some numbers, up to `SPREAD` times smaller or larger than they are."""
    defaults = Taste()._asdict()
    return Taste(**{n: defaults[n] * trial.suggest_float(n, 1 / SPREAD, SPREAD, log=True) for n in names})


def best_taste(study: optuna.Study) -> Taste:
    """The taste of the best trial."""
    defaults = Taste()._asdict()
    return Taste(**{name: defaults[name] * factor for name, factor in study.best_params.items()})


def search(study: optuna.Study, names: list[str], trials: int, games: int) -> None:
    """Plays `trials` more tastes; the first of a new study is the one shipped."""
    seeds = bank_seeds(TRAIN, games)
    if not study.trials:
        study.enqueue_trial(dict.fromkeys(names, 1.0))
    if trials:
        study.optimize(lambda trial: float(play(suggest(trial, names), seeds).mean()), n_trials=trials)


def check(study: optuna.Study, games: int) -> float:
    """The best taste against the one shipped, on seeds the search did not play; the mean difference."""
    seeds = bank_seeds(TRAIN, games, start=FIRST_CHECK_SEED)
    gained = play(best_taste(study), seeds) - play(Taste(), seeds)
    print(
        f"the best trial gains {gained.mean():+.4f} ± {1.96 * gained.std() / len(gained) ** 0.5:.4f} in {games} games"
    )
    return float(gained.mean())


def main(
    study: str = "teacher.sqlite",
    trials: int = 100,
    games: int = 250,
    check_games: int = 0,
    numbers: Sequence[str] = (),
) -> int:
    """Searches on, tells the best taste so far, and returns how many trials the study holds."""
    kept = optuna.create_study(
        storage=f"sqlite:///{study}", study_name="teacher", direction="maximize", load_if_exists=True
    )
    search(kept, list(numbers or Taste._fields), trials, games)
    print(f"{len(kept.trials)} trials, the best is worth {kept.best_value:.4f}: {best_taste(kept)}")
    if check_games:
        check(kept, check_games)
    return len(kept.trials)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--study", default="teacher.sqlite", help="the file that keeps all trials")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--games", type=int, default=250, help="per trial")
    parser.add_argument("--check", type=int, default=0, metavar="GAMES", dest="check_games")
    parser.add_argument("--numbers", nargs="*", default=(), help="which numbers to vary; all if none is named")
    main(**vars(parser.parse_args()))
