"""Nobody outside `jimbot/games` knows a game by name: what a game offers is in its entry, so a fourth one gets it all.

Looked at is code: imports of a game's modules, its id as a value, and names that are made of it. Help, examples and
complaints may tell of games in their sentences.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from jimbot.games import available_games
from tests.contracts.test_imports import PACKAGE, modules

GAMES = [game for game in available_games() if game != "probe"]  # probe is a yardstick for learners, not a game
MADE_FOR_ONE = {
    "jimbot.cli.look.seed": "a command about Balatro's seeds, which no other game has",
    "jimbot.policies.balatro_net": "BalatroNet is a network for one game, by its public name",
}
ALLOWED = {
    ("jimbot.cli.operate.checkout", "hackmatrix"): "default of an argument",
    ("jimbot.cli.look.watch", "hackmatrix"): "default of an argument",
    ("jimbot.policies.networks", "jimbot.policies.balatro_net"): "the table of networks lists BalatroNet",
    ("jimbot.policies.networks", "balatro_net"): "the table of networks lists BalatroNet",
    ("jimbot.training.callbacks", "BalatroCallbacks"): "public name",
    ("jimbot.training.ray.algorithms", "BalatroCallbacks"): "public name",
    ("jimbot.training.ray.callbacks", "BalatroCallbacks"): "public name",
    ("jimbot.training.env_wrapper", "BALATRO"): "for the public names below",
    ("jimbot.training.env_wrapper", "balatro"): "for the public names below",
    ("jimbot.training.env_wrapper", "BalatroGymWrapper"): "public name",
    ("jimbot.training.env_wrapper", "wrap_balatro_env"): "public name",
    ("jimbot.training.experiment", "balatro"): "default of an argument",
    ("jimbot.training.metrics", "BalatroMetrics"): "public name",
    ("jimbot.training.settings.record", "hackmatrix"): "default of a setting",
    ("jimbot.training.settings.trainer_config", "balatro"): "public name of a network, in TrainerConfig",
    ("jimbot.training.utils", "balatro"): "for create_balatro_env",
    ("jimbot.training.utils", "create_balatro_env"): "public name",
}


def names_games(name: str) -> bool:
    return any(game in name.lower() for game in GAMES)


def found_in(source: str) -> Iterator[str]:
    """The names of games in the code of a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and node.value in GAMES:
            yield str(node.value)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if names_games(alias.name))
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(alias.name for alias in node.names)]
            yield from [name for name in names if names_games(name)][:1]
        elif isinstance(node, ast.FunctionDef | ast.ClassDef) and names_games(node.name):
            yield node.name
        elif isinstance(node, ast.Name) and names_games(node.id):
            yield node.id


def outside() -> dict[str, set[str]]:
    return {
        name: set(found_in(path.read_text()))
        for name, path in modules().items()
        if not path.is_relative_to(PACKAGE / "games") and name not in MADE_FOR_ONE
    }


def test_no_module_outside_games_names_a_game() -> None:
    wrong = [(module, name) for module, names in outside().items() for name in names if (module, name) not in ALLOWED]
    assert not wrong, f"Ask the game's entry instead (jimbot/games/hooks/), or allow it with its reason: {wrong}"


def test_no_exception_has_outlived_its_reason() -> None:
    found = outside()
    assert not [key for key in ALLOWED if key[1] not in found.get(key[0], ())]
    assert not [module for module in MADE_FOR_ONE if module not in modules()]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("from jimbot.games.balatro.rules import state", {"jimbot.games.balatro.rules"}),
        ("def f(game):\n    if game.spec.id == 'vgc':\n        import jimbot.games.vgc", {"vgc", "jimbot.games.vgc"}),
        ("class HackMatrixThing: ...", {"HackMatrixThing"}),
        ('HELP = "jimbot play balatro"', set()),
    ],
)  # fmt: skip
def test_the_walk_sees_what_it_should(source: str, names: set[str]) -> None:
    assert set(found_in(source)) == names
