"""Everything a page may name: files, modules, names in the code, flags of the command line."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from typing import Any

import typer
from typer.core import TyperGroup

from jimbot.cli import main
from jimbot.cli.shared.command import OLD_SPELLINGS, options_of
from jimbot.games.contract import available_games
from tests.docs.pages import REPOSITORY

WORD = re.compile(r"\b[A-Za-z_]\w*")
DATA = (".json", ".yaml", ".js", ".txt")
PHASES = ("simulate", "observe", "act", "learn")
"""Of an update; `Session.log` makes the names of their figures at run time."""


@cache
def files() -> frozenset[str]:
    """Files of the repository, and its folders with a slash at the end."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    there = {path for path in listed if (REPOSITORY / path).is_file()}
    folders = {f"{'/'.join(path.split('/')[:depth])}/" for path in there for depth in range(1, path.count("/") + 1)}
    return frozenset(there | folders)


def is_file(path: str) -> bool:
    """Whether a path, or the end of one (`jokers/phases.py`), exists."""
    return path in files() or any(known.endswith(f"/{path}") for known in files())


def _words_of_code(tree: ast.Module) -> Iterator[str]:
    """Names and texts of a module. Docstrings are left out: what is only talked about does not exist."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        left.extend(ast.iter_child_nodes(node))
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.alias(name=name):
                yield from name.split(".")
            case ast.Constant(value=str(text)):
                yield from WORD.findall(text)


@cache
def modules() -> dict[str, ast.Module]:
    """The package, read: dotted name of a module → its code."""
    paths = [path for path in files() if path.startswith(("jimbot/", "benchmarks/")) and path.endswith(".py")]
    dotted = [path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in paths]
    return {name: ast.parse((REPOSITORY / path).read_text()) for name, path in zip(dotted, paths, strict=True)}


@cache
def words() -> frozenset[str]:
    """All names in the package and its data."""
    found = {word for tree in modules().values() for word in _words_of_code(tree)}
    for path in files():
        found.update(re.split(r"[/.]", path))
        data = path.startswith(("jimbot/", "configs/")) and path.endswith(DATA)
        if data or path in ("pyproject.toml", "Makefile", "constraints.txt"):
            found.update(WORD.findall((REPOSITORY / path).read_text()))
    return frozenset(found | {f"{phase}_share" for phase in PHASES})


def is_figure(word: str) -> bool:
    """Whether Prometheus is shown something of this name: `jimbot_` and the group and name of a figure.

    >>> is_figure("jimbot_train_entropy"), is_figure("jimbot_serve_shed_total"), is_figure("jimbot_train_no_such")
    (True, True, False)
    """
    if word.count("_") < 2:
        return False
    prefix, group, name = word.split("_", 2)
    known = {name, name.removesuffix("_total"), re.sub(r"_(bucket|sum|count)$", "", name)} & words()
    return prefix == "jimbot" and bool(known) and group in words()


@cache
def members() -> dict[str, set[str]]:
    """For each module, under its dotted and its last name, and for each class: what is defined there."""
    found: dict[str, set[str]] = {}
    for module, tree in modules().items():
        names = set(_defined(tree))
        found[module] = names
        found.setdefault(module.split(".")[-1], set()).update(names)
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, set()).update(_defined(node))
    return found


def _defined(scope: ast.Module | ast.ClassDef) -> Iterator[str]:
    for node in ast.walk(scope):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name


def resolves(dotted: str) -> bool:
    """Whether `jimbot.x.y` is a module, or a name of one: read from the code, so that nothing heavy is imported.

    >>> resolves("jimbot.games.make"), resolves("jimbot.games.seeds.bank_seeds"), resolves("jimbot.games.nothing")
    (True, True, False)
    """
    module, _, name = dotted.rpartition(".")
    if dotted in modules() or name in members().get(module, ()):
        return True
    outer = module.rpartition(".")[0]  # jimbot.module.Class.method
    return outer in modules() and module.split(".")[-1] in members()[outer] and name in words()


@cache
def command_line() -> TyperGroup:
    """The real command line, for its parser."""
    group = typer.main.get_command(main.command_line())
    assert isinstance(group, TyperGroup)
    return group


@cache
def flags() -> frozenset[str]:
    """All flags of all commands, old spellings included, and the options of games, which are flags, too."""
    found = {flag for parameter in _parameters(command_line()) for flag in (*parameter.opts, *parameter.secondary_opts)}
    options = [option for game in available_games() for option in options_of(game)]
    found |= OLD_SPELLINGS.keys()
    return frozenset(found | {f"--{no}{option.flag}" for option in options for no in ("", "no-")})


def _parameters(command: Any) -> Iterator[Any]:
    yield from command.params
    for inner in getattr(command, "commands", {}).values():
        yield from _parameters(inner)
