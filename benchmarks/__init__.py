"""What `jimbot bench` measures: one module per part, each figure with a baseline from the same process beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from jimbot.errors import JimbotError, MissingExtraError
from jimbot.games.contract import game_entry, games_with

Figures = dict[str, Any]
Note = Callable[[str], None]

PLAYED = ("balatro", "hackmatrix", "vgc")
LEARNERS = {  # game: (name, network, width); other games are measured with their usual network
    "hackmatrix": (("plain", "mlp", 256), ("default", "auto", 0)),
    "balatro": (("balatro", "auto", 0),),
}
COMPARED = ("balatro",)  # learners measured against sb3-contrib's MaskablePPO in the same run
ALL = "all"


class Compared(NamedTuple):
    """What users would pick instead, measured in the same process."""

    name: str
    what: str
    game: str | None
    figures: str
    rate: str
    ratio: str
    instead: str


COMPARISONS = (
    Compared("PPO on Balatro, steps/s", "learner", "balatro", "learner_balatro", "steps_per_second",
             "ratio_to_baseline", "sb3-contrib's MaskablePPO"),
    Compared("VGC, random play, decisions/s", "vgc", None, "vgc", "decisions_per_second",
             "times_poke_env", "poke-env's network players"),
    Compared("HackMatrix, random play, steps/s", "hackmatrix", None, "hackmatrix", "steps_per_second",
             "ratio_to_baseline", "one game stepped from Python"),
    Compared("Balatro, random play, steps/s", "balatro", None, "balatro", "steps_per_cpu_second",
             "ratio_to_baseline", "the same rules in plain Python, per CPU-second"),
    Compared("decisions over gRPC, saturated, 1/s", "serve", "hackmatrix", "serve_hackmatrix",
             "unary_saturated_per_second", "saturated_share_of_echo", "a bare gRPC server that decides nothing"),
)  # fmt: skip
ROUNDS = 3


def compare(seconds: float, note: Note, rounds: int = ROUNDS) -> list[dict[str, Any]]:
    """Every comparison that can be made here, all of them in turns: rates and ratios of each round."""
    found: dict[str, dict[str, Any]] = {}
    for number in range(rounds):
        note(f"Round {number + 1} of {rounds}.")
        for one in COMPARISONS:
            row = found.setdefault(one.name, {"what": one.name, "instead": one.instead, "rates": [], "ratios": []})
            try:
                figures = dict(measure(one.what, one.game, seconds, None, False, note))[one.figures]
            except JimbotError as problem:
                note(f"Without {one.name}: {problem}")
                continue
            if one.ratio in figures:
                row["rates"].append(figures[one.rate])
                row["ratios"].append(figures[one.ratio])
    return [row for row in found.values() if row["ratios"]]


def games() -> tuple[str, ...]:
    """Games whose random play is measured: ours, and those that bring a benchmark in their entry."""
    return tuple(dict.fromkeys([*PLAYED, *games_with("benchmark")]))


def measure(
    what: str, game: str | None, seconds: float, num_envs: int | None, cold: bool, note: Note
) -> Iterator[tuple[str, Figures]]:
    """(name, figures) of everything that was asked for, as it is measured."""
    for played in games():
        if what == ALL and (installation := game_entry(played).installation) and not installation.is_installed():
            note(f"Without {played}: it is not installed here (jimbot setup {played}).")
        elif what in (played, ALL):
            note(f"Random legal play of {played}…")
            yield played, _play(played, num_envs, seconds, cold)
    learned = [game] if game else list(LEARNERS)
    if what in ("learner", ALL):
        for one in learned:
            for name, network, width in LEARNERS.get(one, ((one, "auto", 0),)):
                note(f"PPO on {one} with the {name} net…")
                yield f"learner_{name}", _learner(one, network, width, num_envs or 256, seconds, note)
    if what == "ray":  # not part of all: it starts a cluster
        import jimbot.training.ray  # noqa: F401  (says which extra is missing)
        from benchmarks.learner_ray import bench_ray

        for one in learned:
            note(f"PPO of RLlib on {one}, and on games of the same shapes that do nothing…")
            yield f"ray_{one}", bench_ray(one, seconds, num_envs)
    if what == "serve":  # nor this: it starts a server
        from benchmarks.serve import bench_serve
        from jimbot.runs.checkpoint import shipped_games

        for one in [game] if game else shipped_games():
            note(f"The decision service with {one}'s shipped policy…")
            yield f"serve_{one}", bench_serve(one, seconds)
    if what == "bus":  # and this
        from benchmarks.bus import bench_bus

        note("The event bus…")
        yield "bus", bench_bus(seconds)
    if what == "graph":
        from benchmarks.graph import bench_graph

        note("The knowledge graph in a file…")
        yield "graph", bench_graph(seconds)
    if what in ("replay", ALL):
        from benchmarks.replay import bench_replay

        note("The compressed replay on real Balatro play…")
        yield "replay", bench_replay(seconds)


def _play(game: str, num_envs: int | None, seconds: float, cold: bool) -> Figures:
    if game == "balatro":
        from benchmarks.balatro import bench_balatro

        return bench_balatro(num_envs or 1024, seconds, cold)
    if game == "vgc":
        from benchmarks.vgc import BATTLES, bench_vgc

        return bench_vgc(num_envs or BATTLES, seconds)
    if (own := game_entry(game).benchmark) is not None:
        return own(num_envs, seconds, cold)
    from benchmarks.functional import bench_game

    return bench_game(game, num_envs, seconds)


def _learner(game: str, network: str, width: int, num_envs: int, seconds: float, note: Note) -> Figures:
    from benchmarks.learner import bench_learner, learner_settings

    settings = learner_settings(game, network, width, num_envs)
    figures = bench_learner(settings, seconds)
    if game in COMPARED:
        try:
            import jimbot.training.sb3  # noqa: F401  (says which extra is missing)
            from benchmarks.learner_sb3 import bench_maskable_ppo
        except MissingExtraError as problem:
            note(f"Without a comparison: {problem}")
            return figures
        note("sb3-contrib's MaskablePPO on the same…")
        figures |= bench_maskable_ppo(settings, seconds)
        figures["ratio_to_baseline"] = figures["steps_per_second"] / figures["baseline_steps_per_second"]
    return figures
