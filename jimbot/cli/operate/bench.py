"""`jimbot bench`: how fast this machine plays and learns, with a baseline from the same process beside every figure."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from jimbot.cli.shared import terminal
from jimbot.errors import MissingExtraError, UnknownNameError

LEARNERS = {  # game: (name, network, width); other games are measured with their usual network
    "hackmatrix": (("plain", "mlp", 256), ("default", "auto", 0)),
    "balatro": (("balatro", "auto", 0),),
}
COMPARED = ("balatro",)  # learners measured against sb3-contrib's MaskablePPO in the same run
PARTS = ("learner", "ray", "replay", "serve", "bus", "graph")
ALL = "all"
EPILOG = """Examples:

jimbot bench balatro

jimbot bench hackmatrix

jimbot bench vgc   (battles against poke-env's network players)

jimbot bench learner --game balatro --json

jimbot bench ray --game balatro

jimbot bench replay

jimbot bench serve --game hackmatrix   (decisions for other programs)

jimbot bench bus   (questions and events between programs)

jimbot bench graph   (what a question to the knowledge graph costs)

jimbot bench all --seconds 20"""


def register(app: typer.Typer) -> None:
    app.command(epilog=EPILOG)(bench)


def bench(
    what: Annotated[
        str, typer.Argument(help="A game (random play), learner, ray, replay, serve, bus, graph or all.")
    ] = "all",
    game: Annotated[str | None, typer.Option(help="Measure the learner on this game only.")] = None,
    seconds: Annotated[float, typer.Option(help="How long each measurement runs.")] = 10.0,
    num_envs: Annotated[int | None, typer.Option(help="Games at once; default 1,024 to play, 256 to learn.")] = None,
    cold: Annotated[bool, typer.Option("--cold", help="Ignore the compile cache: times a first start.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print figures as JSON.")] = False,
) -> None:
    """Measure speed: steps per second, per CPU-second, against the roofline, and compile times."""
    from jimbot.games.contract import available_games, games_with

    games = games_with("benchmark")
    if what not in (*games, *PARTS, ALL):
        raise UnknownNameError("benchmark", what, (*games, *PARTS, ALL))
    if game is not None and game not in available_games():
        raise UnknownNameError("game of the learner benchmark", game, available_games())
    terminal.require_positive(seconds=seconds, num_envs=num_envs)
    from jimbot.training.session.compile_cache import use_compile_cache

    if not cold:
        use_compile_cache()
    results: dict[str, Any] = {}
    for played in games:
        if what in (played, ALL):
            results[played] = _play(played, num_envs, seconds, cold)
    learned = [game] if game else list(LEARNERS)
    if what in ("learner", ALL):
        for one in learned:
            for name, network, width in LEARNERS.get(one, ((one, "auto", 0),)):
                results[f"learner_{name}"] = _learner(one, name, network, width, num_envs or 256, seconds)
    if what == "ray":  # not part of all: it starts a cluster
        from jimbot.training.ray.benchmarks import bench_ray

        for one in learned:
            terminal.note(f"PPO of RLlib on {one}, and on games of the same shapes that do nothing…")
            results[f"ray_{one}"] = bench_ray(one, seconds, num_envs)
    if what == "serve":  # not part of all: it starts a server
        from jimbot.runs.shipped import shipped_games
        from jimbot.services.benchmarks import bench_serve

        for one in [game] if game else shipped_games():
            terminal.note(f"The decision service with {one}'s shipped policy…")
            results[f"serve_{one}"] = bench_serve(one, seconds)
    if what == "bus":  # nor it
        from jimbot.services.bus.benchmarks import bench_bus

        terminal.note("The event bus…")
        results["bus"] = bench_bus(seconds)
    if what == "graph":
        from jimbot.knowledge.benchmarks import bench_graph

        terminal.note("The knowledge graph in a file…")
        results["graph"] = bench_graph(seconds)
    if what in ("replay", ALL):
        from jimbot.training.replay.benchmarks import bench_replay

        terminal.note("The compressed replay on real Balatro play…")
        results["replay"] = bench_replay(seconds)
    if as_json:
        terminal.print_json(results)
        return
    for name, figures in results.items():
        _print(name, figures)


def _play(game: str, num_envs: int | None, seconds: float, cold: bool) -> dict[str, Any]:
    from jimbot.games import game_entry

    terminal.note(f"Random legal play of {game}…")
    benchmark = game_entry(game).benchmark
    assert benchmark is not None
    return benchmark(num_envs, seconds, cold)


def _learner(game: str, name: str, network: str, width: int, num_envs: int, seconds: float) -> dict[str, Any]:
    from jimbot.training.jax_ppo.benchmarks import bench_learner, learner_settings

    terminal.note(f"PPO on {game} with the {name} net…")
    settings = learner_settings(game, network, width, num_envs)
    figures = bench_learner(settings, seconds)
    if game in COMPARED:
        try:
            from jimbot.training.sb3.benchmarks import bench_maskable_ppo
        except MissingExtraError as problem:
            terminal.note(f"Without a comparison: {problem}")
            return figures
        terminal.note("sb3-contrib's MaskablePPO on the same…")
        figures |= bench_maskable_ppo(settings, seconds)
        figures["ratio_to_baseline"] = figures["steps_per_second"] / figures["baseline_steps_per_second"]
    return figures


def _print(name: str, figures: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table(title=name, show_header=False, title_justify="left", title_style="bold")
    for key, value in figures.items():
        if key.endswith("fraction"):
            text = f"{value:.0%}"
        elif isinstance(value, float):
            text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.2f}"
        else:
            text = str(value)
        table.add_row(key.replace("_", " "), text)
    terminal.console().print(table)
