"""How a command gets on the command line: parameters as Typer reads them, old spellings, options of games as flags.

A command says what it takes in plain words:

    horizon: Annotated[int, "Moves of a game.", "N"] = 8

is the flag `--horizon` with this help and metavar. Words that begin with a dash are how the flag is spelled instead;
one that is on or off has no --no-… form; without default or spelling it is an argument. A parameter whose type is a
dataclass stands for every field with such words, and the command receives the object: what several commands share is
written once, and the settings of a service describe themselves without knowing Typer.

`jimbot play balatro --deck blue --endless` is `--option deck=blue --option endless=true`: which flags there are, and
what they say in the help, comes from the record of options that the game declares. No game is named here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import is_dataclass
from difflib import get_close_matches
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from jimbot.cli.shared.common import complete_game, complete_policy, complete_run

if TYPE_CHECKING:
    from jimbot.games.spec import GameOption

OLD_SPELLINGS = {
    "--episodes": "--games",
    "--battles": "--games",
    "--force": "--overwrite",
    "--run-name": "--run",
    "--plot": "--picture",
    "--timesteps": "--total-timesteps",
    "--save-freq": "--save-interval",
    "--scripted": "--heuristics",
    "--no-scripted": "--no-heuristics",
    "--auto-tune": "--batch=measured",
    "--autoscale": "--batch=fitted",
    "--no-autoscale": "--batch=fixed",
}
"""Flags that went by another name once, or go by it in scripts of other trainers: understood, never shown."""
GAME_OPTION, SETTING = "--option", "--set"
_GIVEN = "jimbot.given"
HELP = ("-h", "--help")
HELP_FLAGS = {"help_option_names": list(HELP)}


COMPLETIONS = {"game": complete_game, "run": complete_run, "policy": complete_policy}
"""What a shell proposes, by the name of the parameter."""
REQUIRED = inspect.Parameter.empty


def parameters_of(taken: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """Name → (annotation as Typer reads it, default) of what a function or a record takes, but for its `**rest`."""
    hints = get_type_hints(taken, include_extras=True)
    named = [one for one in inspect.signature(taken).parameters.values() if one.kind is not one.VAR_KEYWORD]
    return {one.name: (_for_typer(one.name, hints[one.name], one.default), one.default) for one in named}


def as_command(
    call: Callable[..., None], like: Callable[..., None], parameters: Mapping[str, tuple[Any, Any]]
) -> Callable[..., None]:
    """`call(**values)` under the name and help of `like`, with these parameters: name → (annotation, default)."""

    def command(**values: Any) -> None:
        call(**values)

    command.__name__, command.__doc__ = like.__name__, like.__doc__  # ty: ignore[missing-attribute]
    command.__annotations__ = {name: kind for name, (kind, _) in parameters.items()}
    command.__signature__ = inspect.Signature(  # ty: ignore[missing-attribute]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
            for name, (kind, default) in parameters.items()
        ]
    )
    return command


def for_typer(function: Callable[..., None]) -> Callable[..., None]:
    """The function as Typer sees it: plain words become flags, and flags come back as the records they belong to."""
    parameters = parameters_of(function)
    records = {name: kind for name, (kind, _) in parameters.items() if is_dataclass(kind)}
    flags = {name: _flags_of(record) for name, record in records.items()}
    shown = {name: one for name, one in parameters.items() if name not in records}
    for found in flags.values():
        shown |= found

    def call(**values: Any) -> None:
        made = {name: kind(**{flag: values.pop(flag) for flag in flags[name]}) for name, kind in records.items()}
        function(**values, **made)

    return as_command(call, function, shown)


def _flags_of(record: type) -> dict[str, tuple[Any, Any]]:
    return {name: one for name, one in parameters_of(record).items() if hasattr(one[0], "__metadata__")}


def _for_typer(name: str, annotation: Any, default: Any) -> Any:
    words = getattr(annotation, "__metadata__", ())
    if not words or not all(isinstance(word, str) for word in words):
        return annotation
    kind: Any = get_args(annotation)[0]
    spelled = [word for word in words if word.startswith("-") and " " not in word]
    meaning, *metavar = [word for word in words if word not in spelled]
    about: dict[str, Any] = {"help": meaning, "autocompletion": COMPLETIONS.get(name)}
    if default is REQUIRED and not spelled:
        return Annotated[kind, typer.Argument(**about)]
    if kind is bool and not spelled:
        spelled = [f"--{name.replace('_', '-')}"]
    return Annotated[kind, typer.Option(*spelled, metavar=next(iter(metavar), None), **about)]


class Command(TyperCommand):
    """One command of `jimbot`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[_GIVEN] = list(args)  # --help is answered before arguments are read
        return super().parse_args(ctx, list(self._understood(args)))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        shown = self._with_options(_game_of(given(ctx))) if GAME_OPTION in self._flags() else copy(self)
        shown.help = in_paragraphs(shown.help or "")
        TyperCommand.format_help(shown, ctx, formatter)

    def _flags(self) -> set[str]:
        return {flag for param in self.params for flag in (*param.opts, *param.secondary_opts) if flag.startswith("-")}

    def _understood(self, args: Sequence[str]) -> Iterator[str]:
        """The arguments with every flag as the command declares it."""
        flags, rest = self._flags(), iter(args)
        for word in rest:
            if word == "--":
                yield from (word, *rest)
                return
            flag, equals, value = word.partition("=")
            new = OLD_SPELLINGS.get(flag, flag)
            if flag in flags or flag in HELP or not flag.startswith("--"):
                yield word
            elif new.partition("=")[0] in flags:
                yield new + equals + value
            elif SETTING in flags and _is_setting_elsewhere(flag):
                yield from (SETTING, f"{_name(flag)}={value if equals else next(rest, '')}")
            elif GAME_OPTION in flags:
                yield from _as_option(flag, value if equals else None, rest, flags, args)
            else:
                yield word

    def _with_options(self, game: str | None) -> Command:
        """The command as its help has it: the options of a game stand beside its own flags."""
        shown = copy(self)
        if game is None:
            return shown
        place = next(number for number, param in enumerate(self.params) if GAME_OPTION in param.opts)
        options = [_flag_of(one, self.params[place], game) for one in options_of(game) if self._free(one)]
        shown.params = [*self.params[: place + 1], *options, *self.params[place + 1 :]]
        return shown

    def _free(self, option: GameOption) -> bool:
        return not option.internal and f"--{option.flag}" not in self._flags()


def in_paragraphs(text: str) -> str:
    """A docstring without the line breaks of its source, so that every terminal breaks it where it ends.

    >>> in_paragraphs("Evaluate a policy.\\n\\nShows the win rate\\nand more.")
    'Evaluate a policy.\\n\\nShows the win rate and more.'
    """
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in inspect.cleandoc(text).split("\n\n"))


def _flag_of(option: GameOption, pattern: Any, game: str) -> Any:
    flag = copy(pattern)
    flag.opts, flag.name, flag.show_default = [f"--{option.flag}"], option.name, False
    flag.help = f"{option.meaning} Default: {option.shown_default}."
    flag.metavar, flag.rich_help_panel = option.kind.upper(), f"Options of {game}"
    return flag


def given(ctx: Any) -> list[str]:
    """The words of the command line, as they were typed."""
    return ctx.meta.get(_GIVEN, [])


Register = Callable[[typer.Typer], None]
"""Puts a command, or a family of them, on a command line."""


def adds(function: Callable[..., Any], examples: str, name: str = "", cls: type[TyperCommand] = Command) -> Register:
    """A function as a command, by its own name if no other is given; its help ends with `examples`, one to a line."""

    def register(app: typer.Typer) -> None:
        app.command(name or None, cls=cls, epilog=_epilog(examples))(for_typer(function))

    return register


def adds_family(
    name: str, words: str, examples: str, *commands: FunctionType, cls: type[TyperGroup] = TyperGroup,
    alone: Callable[..., Any] | None = None, first: Register | None = None,
) -> Register:  # fmt: skip
    """Functions as the commands of a family; a name that Python has taken itself ends in `_`. `alone` is what the name
    of the family does without a command, else it shows its help; `first` adds a command under another name."""
    family = typer.Typer(
        cls=cls, help=words, epilog=_epilog(examples), no_args_is_help=alone is None,
        invoke_without_command=alone is not None, callback=alone and for_typer(alone), rich_markup_mode="rich",
        context_settings=HELP_FLAGS,
    )  # fmt: skip
    if first is not None:
        first(family)
    for command in commands:
        family.command(command.__name__.rstrip("_"))(for_typer(command))
    return lambda app: app.add_typer(family, name=name)


def _epilog(examples: str) -> str:
    """What Typer prints below the help, which makes a line of every paragraph."""
    return "\n\n".join(["Examples:", *examples.split("\n")])


def options_of(game: str) -> tuple[GameOption, ...]:
    from jimbot.games.contract import game_entry

    return game_entry(game).spec.option_list


def _as_option(flag: str, value: str | None, rest: Iterator[str], flags: set[str], args: Sequence[str]) -> list[str]:
    """A flag that the command does not have, as an option of a game; as it is where no game has it either."""
    if get_close_matches(flag, flags, 1, 0.85):
        return [flag if value is None else f"{flag}={value}"]  # a slip of the finger: the command says which flag
    name = _name(flag)
    positive = name.removeprefix("no_")
    for game in _possible_games(args):
        for option in options_of(game):
            if option.name == name and option.kind != "bool":
                shown = next(rest, "") if value is None else value
                return [GAME_OPTION, f"{name}={shown}"]
            if option.name == positive and option.kind == "bool":
                return [GAME_OPTION, f"{positive}={value or ('true' if name == positive else 'false')}"]
    return [flag if value is None else f"{flag}={value}"]


def _name(flag: str) -> str:
    return flag[2:].replace("-", "_")


def _is_setting_elsewhere(flag: str) -> bool:
    """Whether another library has a setting of this name; what becomes of it is the settings' business."""
    from jimbot.training.settings.names import names_elsewhere

    return _name(flag) in names_elsewhere()


def _game_of(args: Sequence[str]) -> str | None:
    from jimbot.games.contract import available_games

    return next((word for word in args if word in available_games()), None)


def _possible_games(args: Sequence[str]) -> list[str]:
    """The game that the command line names, else all: a run knows its game, but is not read yet."""
    from jimbot.games.contract import available_games

    named = _game_of(args)
    return [named] if named is not None else available_games()


PLUGIN = "--plugin"
GAME, LEARNER = "--game", "--learner"
FILES = (".onnx", ".npz", ".pt", ".json", ".jsonl", ".yaml", ".yml", ".txt", ".html", ".gz")  # names that look alike


def with_plugins(arguments: list[str]) -> list[str]:
    """The command line as the commands know it, with plug-ins imported."""
    rest, modules = without_plugins(arguments)
    if modules:
        from jimbot.plugins import use_plugins

        use_plugins(*modules)
    words = list(rest)
    for place, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if equals and flag in (GAME, LEARNER):
            words[place] = f"{flag}={_plain(value, flag)}"
        elif place and (words[place - 1] in (GAME, LEARNER) or place == 1):
            words[place] = _plain(word, words[place - 1])
    return words


def without_plugins(arguments: list[str]) -> tuple[list[str], list[str]]:
    """(the other words, the modules named)."""
    rest: list[str] = []
    modules: list[str] = []
    words = iter(arguments)
    for word in words:
        if word.startswith(f"{PLUGIN}="):
            modules += word.partition("=")[2].split(",")
        elif word == PLUGIN and (module := next(words, None)) is not None:
            modules += module.split(",")
        else:
            rest.append(word)
    return rest, modules


def _plain(word: str, before: str) -> str:
    """The game or learner that a module brings; any other word stays."""
    from jimbot.plugins import is_module_name

    if not is_module_name(word) or Path(word).suffix in FILES or Path(word).exists():
        return word
    if before == LEARNER:
        from jimbot.training.learners import named_learner

        return named_learner(word)
    from jimbot.games.contract import named_game

    return named_game(word)
