"""What a redesign must not change: `python tools/unchanged.py record`, then change things, then `check`.

Games played at random, parameters after some updates with every option of the learner switched on once, the help of
every command, what `watch` shows, and every name the documents promise, each as a digest (help and pictures as text, so
that a difference can be read). The record is tools/unchanged.json, which is not kept: it belongs to one machine and one
set of versions, since compiled arithmetic differs between processors in its last bit.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
RECORD = REPOSITORY / "tools" / "unchanged.json"
os.environ.setdefault("JIMBOT_CACHE_DIR", str(REPOSITORY / ".jimbot-cache" / "tests"))
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(REPOSITORY / ".jimbot-cache" / "tests"))
os.environ.update(JAX_PLATFORMS="cpu", COLUMNS="100", LINES="40", NO_COLOR="1", TERM="dumb")
os.environ.pop("FORCE_COLOR", None)
sys.path.insert(0, str(REPOSITORY))

PLAYED = {
    "probe": [{}],
    "hackmatrix": [{}, {"helpers": True, "reward": "wins", "starts": 0.5}],
    "balatro": [
        {},
        {"deck": "plasma", "stake": "gold", "endless": True},
        {"helpers": True, "insight": "all"},
        {"challenge": "c_omelette_1"},
    ],
    "vgc": [{}],
}
"""Games and the options they are played with."""
STEPS, ROWS = 200, 8

SMALL: dict[str, Any] = {
    "num_envs": 8, "num_steps": 16, "num_minibatches": 2, "update_epochs": 2, "hidden_dim": 16, "lr": 3e-3, "seed": 7,
    "log_interval": 5, "eval_games": 0, "save_interval_minutes": 1000, "no_wandb": True,
}  # fmt: skip
ALONE = {"game": "balatro", "teacher": "none"}
"""Without the preset's teacher, which would play all games of so short a run."""
TEACHER = {"game": "balatro", "teacher": "heuristic", "teacher_updates": 30}
LEARNED: dict[str, dict[str, Any]] = {
    "fused": {"game": "probe"},
    "host": {"game": "probe", "stepping": "host"},
    "hackmatrix": {"game": "hackmatrix", "num_envs": 16, "num_steps": 8},
    "balatro": {**ALONE},
    "normalised": {"game": "probe", "normalize_obs": True},
    "pieces": {"game": "probe", "gradient_accumulation": 2},
    "target kl": {"game": "probe", "target_kl": 1e-6},
    "annealed": {"game": "probe", "anneal_lr": True},
    "forced": {**ALONE, "forced_every": 8},
    "growing": {"game": "probe", "batch": "growing:4"},
    "entropy by blocks": {**ALONE, "ent_coef": 0.05, "ent_blocks": {"play": 0.1, "discard": 0.1}},
    "labels": {**TEACHER, "teacher_coef": 1.0, "teacher_share": 0.5},
    "teacher plays": {**TEACHER, "teacher_coef": 1.0, "teacher_play": 1.0, "teacher_play_updates": 10},
    "teacher shapes": {**TEACHER, "teacher_coef": 0.0, "teacher_shaping": 1.5},
    "count bonus": {**ALONE, "count_bonus": 0.1},
    "curriculum": {**ALONE, "curriculum": {"use": True}},
    "pulled": {"game": "hackmatrix", "init_from": "hackmatrix", "init_kl": 0.1, "init_kl_updates": 10,
               "value_warmup_updates": 2, "freeze_trunk_updates": 4, "hidden_dim": 256, "num_envs": 16, "num_steps": 8},
    "league": {"game": "vgc", "num_envs": 4, "league": {"past": 0.5, "self": 0.5}},
}  # fmt: skip
"""Settings beside SMALL; 20 updates each."""
UPDATES = 20

PROMISED = """
jimbot.training.framework: TrainerConfig HyperparameterConfig RLTrainer CheckpointManager create_trainer
jimbot.training.framework: get_default_config
jimbot.training.experiment: ExperimentConfig ExperimentResult MultiAlgorithmBenchmark
jimbot.training.callbacks: BalatroCallbacks
jimbot.proto.events_pb2: Event LearningDecisionRequest LearningDecisionResponse
jimbot.clients: EventBusClient
jimbot.knowledge: KnowledgeGraphClient
jimbot.services.orchestrator: RayLearningOrchestrator
jimbot.training.env_wrapper:
jimbot.training.metrics:
jimbot.training.utils:
jimbot.training.run: main
jimbot.training.analyze: main
jimbot.training.export: main
"""
WATCHED = (
    ("watch", "probe", "--games", "1", "--seed", "5", "--policy", "random"),
    ("watch", "hackmatrix", "--games", "1", "--seed", "5", "--steps", "20"),
    ("watch", "balatro", "--games", "1", "--seed", "7LB2WVPK", "--steps", "30"),
    ("seed", "7LB2WVPK", "--antes", "2"),
)


def digest(*arrays: Any) -> str:
    import numpy as np

    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def played(game: str, options: dict[str, Any]) -> str:
    """Random legal play, all that a learner sees of it."""
    import numpy as np

    from jimbot.games import make

    rng = np.random.default_rng(3)
    batch = make(game, ROWS, options=options)
    batch.reset(np.arange(ROWS if batch.spec.players == 1 else batch.num_envs, dtype=np.uint64))
    seen = []
    for _ in range(STEPS if batch.spec.players == 1 else STEPS // 4):
        chances = rng.random(batch.legal_mask.shape) * batch.legal_mask
        batch.step(chances.argmax(axis=1))
        parts = (batch.observation, batch.legal_mask, batch.reward_terms, batch.terminated, batch.truncated)
        seen.append(digest(*parts))
    batch.close()
    return digest(*(list(text.encode()) for text in seen))


def learned(settings: dict[str, Any]) -> str:
    """The parameters after some updates, and how often they were updated."""
    from jimbot.runs.checkpoint import load_checkpoint
    from jimbot.training.framework import create_trainer

    given = {**SMALL, **settings}
    game = given.pop("game")
    with tempfile.TemporaryDirectory() as root:
        trainer = create_trainer(game, given, root=Path(root))
        try:
            result = trainer.train(UPDATES * given["num_envs"] * given["num_steps"])
            params = load_checkpoint(result.checkpoint).params()
        finally:
            trainer.close()
    return f"{result.step} {digest(*(params[name] for name in sorted(params)))}"


def said(*words: str) -> str:
    """What a command prints, on a page of 100 columns."""
    done = subprocess.run(
        [sys.executable, "-m", "jimbot", *words], capture_output=True, text=True, cwd=tempfile.gettempdir(),
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip
    return f"{done.stdout}(exit {done.returncode})"


def commands() -> Iterator[tuple[str, ...]]:
    import typer

    from jimbot.cli.main import command_line

    group: Any = typer.main.get_command(command_line())
    yield ()
    for name, command in group.commands.items():
        yield (name,)
        for inner in getattr(command, "commands", ()):
            yield (name, inner)


def promised() -> Iterator[tuple[str, bool]]:
    for line in PROMISED.strip().splitlines():
        module, _, names = line.partition(":")
        loaded = importlib.import_module(module)
        yield module, True
        for name in names.split():
            yield f"{module}.{name}", hasattr(loaded, name)


def parts() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Everything that is looked at: its name, and how it is found out."""
    for game, choices in PLAYED.items():
        for options in choices:
            yield f"play {game} {json.dumps(options)}", lambda game=game, options=options: played(game, options)
    for name, settings in LEARNED.items():
        yield f"learn {name}", lambda settings=settings: learned(settings)
    for words in WATCHED:
        yield f"show {' '.join(words)}", lambda words=words: said(*words)
    for words in commands():
        yield f"help {' '.join(words)}", lambda words=words: said(*words, "--help")
    yield "names", lambda: dict(promised())


def main() -> None:
    what, *only = sys.argv[1:] or ["check"]
    known: dict[str, Any] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    wrong = 0
    for name, find in parts():
        if only and not any(name.startswith(one) for one in only):
            continue
        try:
            found = find()
        except Exception as problem:  # an option that is refused is a result, too
            found = f"{type(problem).__name__}: {problem}"
        if what == "record":
            known[name] = found
            RECORD.write_text(json.dumps(known, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
        elif known.get(name) != found:
            wrong += 1
            print(f"CHANGED {name}\n  was {str(known.get(name))[:2000]}\n  is  {str(found)[:2000]}")
        print("." if what == "check" else name, end="" if what == "check" else "\n", flush=True)
    print(f"\n{wrong} changed" if what == "check" else f"\nrecorded in {RECORD}")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
