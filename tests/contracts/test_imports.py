"""Holds the one-way table of the house: which room may import which, and who may use which library.

The tables below are the rule; docs/architecture.md explains it. To extend: add a room to its layer, or a library to
the row of the files that need it, with the reason beside it.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "jimbot"

# Rooms, top layer first. A room imports from layers below its own; beside it only where that makes no circle.
LAYERS = (
    ("cli",),
    ("services", "viewer", "adviser", "knowledge", "evaluation", "training", "planning"),
    ("runs", "policies", "envs", "proto", "clients"),
    ("games", "doors"),
    ("reading",),
)
# Two floors: the core can be read and run without a door.
DOORS = ("services", "clients", "proto", "viewer", "knowledge", "adviser")
DOOR_MODULES = ("jimbot.cli.doors", "jimbot.training.sb3", "jimbot.training.ray", "jimbot.training.callbacks",
                "jimbot.training.library_learners", "jimbot.games.balatro.live")  # fmt: skip
DOOR_NAME = re.compile(rf"(jimbot\.({'|'.join(DOORS)})|{'|'.join(map(re.escape, DOOR_MODULES))})[\w.:]*")
# Version, door, errors, foreign text, locks of files, the machine, log lines, notebooks, plug-ins, work in
# the background, pauses between tries, child processes: in no room.
EVERYWHERE = ("jimbot", "jimbot.__main__", "jimbot.background", "jimbot.errors", "jimbot.foreign_text",
              "jimbot.logs", "jimbot.machine", "jimbot.notebook", "jimbot.plugins", "jimbot.processes")  # fmt: skip

# Inside games/, these are shared by all games; any other module or folder is one game, alone with its own rules.
GAME_COMMONS = (
    "__init__", "batch_game", "checker", "contract", "drawing", "endings", "entry", "functional", "heuristics",
    "hook_checks", "hooks", "narration", "pure_game", "recording", "scenes", "seeds", "spec", "threads",
    "variety", "verification",
)  # fmt: skip

# (files, libraries they may import at the top, libraries they may import only inside a function). Rows add up.
LIBRARIES = (
    ("*", {"numpy"}, set()),
    ("machine.py", set(), {"psutil"}),
    ("notebook.py", set(), {"rich"}),
    ("foreign_text.py", {"rich"}, set()),
    # reading: a format's library is imported by the reader of that format
    ("reading/yaml_values.py", {"yaml"}, set()),
    ("reading/models.py", set(), {"onnx", "google"}),  # google: the errors of the messages ONNX is made of
    # games: rules with their own engine library; rich only where a board is drawn
    ("games/pure_game.py", set(), {"jax"}),  # default whole-batch forms; a NumPy game must not pay for them
    ("games/functional*.py", {"jax"}, set()),
    ("games/probe.py", {"jax"}, set()),
    ("games/hackmatrix/*", {"jax"}, set()),
    ("games/hackmatrix/heuristic/kernels.py", {"numba"}, set()),  # the heuristic player thinks in plain loops
    ("games/balatro/*", {"numba", "llvmlite"}, set()),  # llvmlite is Numba's own compiler
    ("games/drawing.py", {"rich"}, set()),
    ("games/balatro/view/*", {"rich"}, set()),
    ("games/hook_checks.py", set(), {"rich"}),  # measures what is drawn
    ("games/vgc/human_interface.py", {"rich"}, set()),
    ("games/vgc/poke_env*.py", {"poke_env"}, set()),  # talking to the world that uses it
    # policies: ONNX to play, jax (later torch) only in the networks of that learner
    ("policies/portable.py", set(), {"onnx", "onnxruntime"}),
    ("policies/*onnx*.py", {"onnx"}, {"onnx", "onnxruntime"}),
    ("policies/*jax*", {"jax"}, set()),
    ("policies/*torch*", {"torch"}, set()),
    # runs: a sink's library is imported when the sink is opened (google: the messages of tensorboardX's event files)
    ("runs/*", {"yaml", "psutil", "rich", "pydantic"}, {"tensorboardX", "google", "wandb"}),
    ("runs/sinks/prometheus.py", set(), {"prometheus_client"}),
    ("envs/*", {"gymnasium"}, {"rich"}),  # rich: only when a board is shown
    ("envs/pictures.py", set(), {"PIL", "matplotlib"}),  # PIL comes with matplotlib, whose font it draws with
    ("envs/pettingzoo*.py", {"pettingzoo"}, set()),
    ("envs/sb3*.py", {"stable_baselines3"}, set()),
    ("planning/compiled.py", {"jax"}, set()),
    ("evaluation/*", {"yaml"}, {"matplotlib", "rich"}),
    ("evaluation/tables.py", {"rich"}, set()),  # imported when results are shown
    ("evaluation/review/report.py", {"rich"}, set()),
    ("training/*", {"yaml", "pydantic", "psutil", "rich"}, {"matplotlib"}),
    ("training/env_*.py", {"gymnasium"}, set()),
    ("training/framework.py", set(), {"gymnasium"}),  # a type
    ("training/utils.py", {"gymnasium"}, set()),
    ("training/utils.py", {"gymnasium"}, set()),
    ("training/session/compile_cache.py", set(), {"jax"}),
    ("training/replay/store.py", {"zstandard"}, set()),
    ("training/imitation/clone.py", {"jax"}, set()),  # recording and reading need no jax
    ("training/jax_ppo/*", {"jax", "optax", "onnx"}, {"onnxruntime"}),
    ("training/expert_iteration.py", {"jax"}, set()),
    ("training/export.py", set(), {"torch"}),  # .pt files
    ("training/sb3*", {"torch", "stable_baselines3", "sb3_contrib"}, set()),
    ("training/torch_losses.py", {"torch"}, set()),
    ("training/ray/*", {"ray", "torch", "gymnasium"}, set()),
    ("training/ray/callbacks.py", {"ray"}, set()),
    ("training/ray/tune_trials.py", {"ray"}, set()),
    ("training/ray/search.py", {"ray", "optuna"}, set()),
    # knowledge: an engine's library is imported when a graph is opened there
    ("knowledge/*", {"pydantic"}, set()),
    ("knowledge/ladybug_store.py", set(), {"ladybug"}),
    ("knowledge/effects.py", set(), {"pyarrow"}),
    ("knowledge/updates.py", set(), {"google"}),
    ("knowledge/bolt_store.py", set(), {"neo4j"}),
    ("knowledge/graphql_schema.py", {"strawberry", "graphql"}, set()),
    ("services/graph_server.py", {"starlette", "uvicorn"}, set()),
    ("doors/listening.py", {"uvicorn", "h11"}, set()),  # h11 is uvicorn's own reader of requests
    # proto, clients, services: what other programs talk to; messages are protobuf, everything else is an extra
    ("proto/*_pb2.py", {"google"}, set()),
    ("proto/*_pb2_grpc.py", {"grpc"}, set()),
    ("proto/topics.py", set(), {"google"}),
    ("clients/*", {"google"}, {"grpc", "nats", "opentelemetry"}),
    ("services/*", {"google", "psutil"}, {"grpc", "nats", "prometheus_client", "opentelemetry"}),
    ("services/grpc*", {"grpc", "grpc_health", "grpc_reflection"}, set()),
    ("services/ray_policies.py", set(), {"ray"}),
    ("services/mcp/*", {"pydantic"}, set()),  # answers are typed records
    ("services/mcp/server.py", {"mcp", "uvicorn"}, set()),
    ("services/events_in.py", {"starlette", "uvicorn"}, set()),
    # viewer: what is shown is gathered without a server; only http/ knows of one
    ("viewer/http/*", {"fastapi", "pydantic", "sse_starlette", "uvicorn"}, set()),
    ("adviser/claude.py", set(), {"anthropic"}),
    ("adviser/in_training.py", {"jax"}, set()),  # a part of the jax learner
    # cli: `jimbot --help` must answer at once
    ("cli/doors/bus.py", set(), {"google"}),  # messages as JSON
    ("cli/*", {"typer", "rich"}, {"packaging", "yaml", "psutil", "jax", "onnx", "onnxruntime", "matplotlib"}),
)

# Rooms that must import with these libraries absent: the extras nobody has to install, and jax for those without it.
EXTRAS = (
    "torch",
    "ray",
    "optuna",
    "wandb",
    "grpc",
    "stable_baselines3",
    "sb3_contrib",
    "pettingzoo",
    "neo4j",
    "strawberry",
    "graphql",
    "anthropic",
    "poke_env",
    "grpc_health",
    "grpc_reflection",
    "nats",
    "prometheus_client",
    "opentelemetry.sdk",  # the interface alone comes with fastapi
    "opentelemetry.exporter",
    "mcp",
)
# Modules that are nothing without their extra: importing one is using it, and says which extra to install.
OWN_EXTRA = (
    "jimbot.training.torch_losses",
    "jimbot.training.ray*",
    "jimbot.training.callbacks",
    "jimbot.envs.pettingzoo*",
    "jimbot.envs.sb3*",
    "jimbot.training.sb3*",
    "jimbot.training.ray*",
    "jimbot.policies.torch*",
    "jimbot.games.vgc.poke_env*",
    "jimbot.services.grpc*",
    "jimbot.services.mcp.server",
    "jimbot.knowledge.graphql_schema",
)
# Generated, so they name the missing library in Python's own words; the rooms that use them say which extra it is.
GENERATED = ("jimbot.proto.*_pb2_grpc",)
WITHOUT_JAX = ("jimbot.errors", "jimbot.reading", "jimbot.games.contract", "jimbot.games.checker",
               "jimbot.games.balatro", "jimbot.policies", "jimbot.runs", "jimbot.evaluation", "jimbot.envs",
               "jimbot.cli", "jimbot.proto", "jimbot.clients", "jimbot.services", "jimbot.knowledge",
               "jimbot.viewer", "jimbot.adviser")  # fmt: skip
# Beginnings of modules that are jax's own, or parts of the jax learner.
WITHOUT_JAX_EXCEPT = ("jimbot.policies.jax", "jimbot.adviser.in_training", "jimbot.knowledge.strategy_bonus")


@dataclass(frozen=True)
class Import:
    """One import statement of a jimbot module."""

    source: str  # dotted module that imports
    file: str  # its path inside jimbot/
    target: str  # dotted module (or attribute) imported
    line: int
    lazy: bool  # inside a function, so only paid when used
    types_only: bool = False  # under TYPE_CHECKING, so never executed

    def __str__(self) -> str:
        return f"jimbot/{self.file}:{self.line} imports {self.target}"


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(REPOSITORY).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports() -> tuple[Import, ...]:
    return tuple(
        found
        for name, path in modules().items()
        for found in imports_of(name, path.relative_to(PACKAGE).as_posix(), path.read_text())
    )


def imports_of(name: str, file: str, source: str) -> Iterator[Import]:
    package = name if file.endswith("__init__.py") else name.rpartition(".")[0]

    def walk(node: ast.AST, lazy: bool, types: bool = False) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                # Types only: never executed, so it counts like an import that is paid when used.
                for part in child.body:
                    yield from walk(ast.Module([part], []), True, True)
                continue
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(name, file, alias.name, child.lineno, lazy, types)
            elif isinstance(child, ast.ImportFrom):
                base = package.split(".")[: len(package.split(".")) - child.level + 1] if child.level else []
                origin = ".".join([*base, *([child.module] if child.module else [])])
                for alias in child.names:
                    yield Import(name, file, f"{origin}.{alias.name}", child.lineno, lazy, types)
            inside = lazy or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from walk(child, inside, types)

    yield from walk(ast.parse(source), False)


def room_of(dotted: str) -> str:
    return dotted.split(".")[1]


def layer_of(room: str) -> int:
    return next(number for number, rooms in enumerate(LAYERS) if room in rooms)


def inside_house() -> list[Import]:
    """Imports of one jimbot module by another that has a room."""
    known = modules()

    def roomless(dotted: str) -> bool:
        named = dotted in EVERYWHERE or dotted.rpartition(".")[0] in EVERYWHERE[1:]  # the module, or a name in it
        return named or (dotted.count(".") == 1 and dotted not in known)

    return [
        found
        for found in imports()
        if found.target.split(".")[0] == "jimbot" and not roomless(found.target) and found.source not in EVERYWHERE
    ]


def circles(edges: Mapping[str, set[str]]) -> dict[str, list[str]]:
    """What is left when everything that imports nothing, or that nobody imports, is taken away again and again."""
    left = {source: targets - {source} for source, targets in edges.items()}
    while True:
        imported = {target for targets in left.values() for target in targets}
        kept = {source: targets & left.keys() for source, targets in left.items() if source in imported}
        kept = {source: targets for source, targets in kept.items() if targets}
        if kept == left:
            return {source: sorted(targets) for source, targets in left.items()}
        left = kept


def test_every_module_lives_in_a_known_room() -> None:
    rooms = {room for layer in LAYERS for room in layer}
    strangers = [name for name in modules() if name not in EVERYWHERE and room_of(name) not in rooms]
    assert not strangers, f"{strangers} are in no layer of LAYERS; give their room a place in the table."


def test_rooms_import_only_downwards() -> None:
    wrong = [
        str(found) for found in inside_house() if layer_of(room_of(found.target)) < layer_of(room_of(found.source))
    ]
    assert not wrong, f"Imports must point down the layers of the house: {wrong}"


def test_rooms_of_one_layer_import_each_other_without_a_circle() -> None:
    edges: dict[str, set[str]] = defaultdict(set)
    for found in inside_house():
        source, target = room_of(found.source), room_of(found.target)
        if source != target and layer_of(source) == layer_of(target):
            edges[source].add(target)
    assert not circles(edges), f"These rooms import each other in a circle: {circles(edges)}"


def test_the_core_knows_no_door() -> None:
    """Not at the top, not inside a function, not for a type, and not by a string: a door registers itself."""
    wrong = [str(found) for found in imports() if is_core(found.source) and is_door(found.target)]
    for name, path in modules().items():
        if is_core(name):
            strings = (node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
            wrong += [f"{name} names {text}" for text in strings if isinstance(text, str) and DOOR_NAME.fullmatch(text)]
    assert not wrong, f"The core knows a door: {wrong}"


def is_door(dotted: str) -> bool:
    return dotted.split(".")[1:2] != [] and (room_of(dotted) in DOORS or dotted.startswith(DOOR_MODULES))


def is_core(dotted: str) -> bool:
    return dotted.count(".") > 0 and not is_door(dotted)


def test_no_modules_import_each_other_not_even_inside_functions() -> None:
    known = modules()
    edges: dict[str, set[str]] = defaultdict(set)
    for found in imports():
        target = found.target if found.target in known else found.target.rpartition(".")[0]  # a module, or a name in it
        if target in known and not found.types_only:
            edges[found.source].add(target)
    assert not circles(edges), f"These modules import each other; give what they share its own: {circles(edges)}"


def test_a_circle_of_imports_is_found_wherever_it_hides() -> None:
    edges = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"b", "a"}, "e": set(), "f": {"e"}}
    assert circles(edges) == {"b": ["c"], "c": ["b"]}
    inside = "from jimbot.a import b\nif TYPE_CHECKING:\n    import jimbot.c\ndef f():\n    import jimbot.d\n"
    executed = [found.target for found in imports_of("jimbot.x", "x.py", inside) if not found.types_only]
    assert executed == ["jimbot.a.b", "jimbot.d"]


def test_a_game_knows_no_other_game() -> None:
    def game_of(dotted: str) -> str | None:
        parts = dotted.split(".")
        inside = parts[:2] == ["jimbot", "games"] and len(parts) > 2
        return parts[2] if inside and parts[2] not in GAME_COMMONS else None

    games = {game_of(name) for name in modules()} - {None}
    wrong = [
        str(found)
        for found in imports()
        if found.source.startswith("jimbot.games.")
        and game_of(found.target) in games
        and game_of(found.target) != game_of(found.source)
    ]
    assert not wrong, f"A game stands alone: {wrong}"


def test_libraries_are_used_only_where_the_table_allows_them() -> None:
    wrong = []
    for found in imports():
        library = found.target.split(".")[0]
        if library == "jimbot" or library in sys.stdlib_module_names:
            continue
        rows = [row for row in LIBRARIES if fnmatch(found.file, row[0])]
        at_top = {name for row in rows for name in row[1]}
        inside = at_top | {name for row in rows for name in row[2]}
        if library not in (inside if found.lazy else at_top):
            wrong.append(f"{found}{'' if library not in inside else ' at the top, allowed only inside a function'}")
    assert not wrong, f"Libraries outside the table LIBRARIES: {wrong}"


BLOCK_AND_IMPORT = """
import importlib, importlib.machinery, sys
blocked, modules = set(sys.argv[1].split(",")), sys.argv[2].split(",")
class Block(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        missing = any(f"{name}.".startswith(f"{one}.") for one in blocked)
        return None if missing else super().find_spec(name, path, target)
sys.meta_path[:] = [Block if finder is importlib.machinery.PathFinder else finder for finder in sys.meta_path]
for module in modules:
    try:
        importlib.import_module(module)
    except Exception as problem:
        print(f"{module}: {type(problem).__name__}: {problem}")
"""


def needs_an_extra(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in OWN_EXTRA)


def generated(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in GENERATED)


def import_without(blocked: tuple[str, ...], names: list[str]) -> list[str]:
    """One line per module that could not be imported."""
    done = subprocess.run(
        [sys.executable, "-c", BLOCK_AND_IMPORT, ",".join(blocked), ",".join(names)],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_core_imports_without_any_extra() -> None:
    assert not import_without(EXTRAS, [name for name in modules() if not needs_an_extra(name) and not generated(name)])


def test_modules_of_an_extra_name_it_when_it_is_missing() -> None:
    names = [name for name in modules() if needs_an_extra(name)]
    answers = import_without(EXTRAS, names)
    assert len(answers) == len(names), f"Of {names} only these noticed that their extra is missing: {answers}"
    assert all("MissingExtraError" in answer and " install -e " in answer for answer in answers), answers


def test_rooms_that_do_not_need_jax_import_without_it() -> None:
    names = [
        name
        for name in modules()
        if any(name == room or name.startswith(room + ".") for room in WITHOUT_JAX)
        and not name.startswith(WITHOUT_JAX_EXCEPT)
        and not needs_an_extra(name)
        and not generated(name)
    ]
    assert not import_without((*EXTRAS, "jax", "jaxlib", "optax"), names)


def test_help_does_not_load_heavy_libraries() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "jimbot", "--help"],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    loaded = {line.rpartition("|")[2].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert "typer" in loaded
    heavy = loaded & {"jax", "numpy", "numba", "onnx", "onnxruntime", "matplotlib", "wandb"}
    assert not heavy, f"`jimbot --help` imports {heavy}; import it inside the command that needs it."


def test_the_walk_sees_relative_lazy_and_type_only_imports() -> None:
    """The table is only as good as its walker."""
    source = "import jax\nfrom . import a\ndef f():\n    from ..runs import b\nif TYPE_CHECKING:\n    import torch\n"
    found = {(found.target, found.lazy) for found in imports_of("jimbot.games.toy", "games/toy.py", source)}
    assert found == {("jax", False), ("jimbot.games.a", False), ("jimbot.runs.b", True), ("torch", True)}
