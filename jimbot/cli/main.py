"""`jimbot`: puts the commands together and turns errors into sentences and exit codes.

Every command module has `register(app)` and imports whatever is heavy (jax, onnxruntime, matplotlib) inside its
command, so that `jimbot --help` answers at once. Exit codes: 0 success, 1 failure, 2 wrong use, 130 interrupted.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Collection
from typing import Annotated, Any

import typer

import jimbot
from jimbot.cli.shared import terminal
from jimbot.cli.shared.command import HELP_FLAGS, Register, for_typer, with_plugins
from jimbot.cli.shared.common import LogLevelOption
from jimbot.cli.shared.stopping import INTERRUPTED, CtrlC
from jimbot.cli.shared.terminal import use_plain_characters
from jimbot.errors import JimbotError, nearest
from jimbot.logs import quote_last_resort
from jimbot.machine import prefer_first_frame
from jimbot.plugins import entry_points, provided

GROUPS: dict[str, tuple[str, ...]] = {
    "Learn": ("train", "resume", "tune", "experiment", "improve", "record", "clone", "settings"),
    "Evaluate": ("evaluate", "compare", "arena", "analyze", "verify"),
    "Look": ("ui", "watch", "play", "replay", "review", "seed", "graph"),
    "Serve": ("export", "serve", "ask", "mcp", "bus", "host"),
    "Operate": ("up", "runs", "adviser", "doctor", "setup", "bench", "soak", "help"),
}
"""Commands by the panel of `--help` that shows them, in its order; """
COMMANDS = tuple(name for names in GROUPS.values() for name in names)

MODULES = {
    "train": "learn.train", "resume": "learn.train", "improve": "learn.train", "settings": "learn.train",
    "tune": "learn.tune", "experiment": "learn.tune", "record": "learn.record", "clone": "learn.record",
    "export": "learn.export",
    "evaluate": "evaluation", "compare": "evaluation", "analyze": "evaluation", "verify": "evaluation",
    "arena": "arena",
    "watch": "look.watch", "play": "look.play", "replay": "look.replay", "review": "look.review", "seed": "look.seed",
    "runs": "operate.runs", "doctor": "operate.doctor", "setup": "operate.doctor", "help": "operate.doctor",
    "bench": "operate.checkout", "soak": "operate.checkout",
}  # fmt: skip
"""Modules of jimbot.cli by command, each with `register`, or `register_NAME` where several share one; the other
commands belong to doors, which register them as entry points of the group `jimbot.commands`."""
DOORS = "jimbot.commands"
SUBCOMMANDS = ("arena", "runs", "bus", "host", "graph", "adviser")
"""Those of them that are a family of commands."""
FIRST_STEPS = "First steps:  [bold]jimbot watch hackmatrix[/]   [bold]jimbot train hackmatrix --minutes 10[/]"
COMPLETION = "_JIMBOT_COMPLETE"
"""The variable by which a shell asks for completions."""
MACHINE = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ECONNRESET,
           errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ETIMEDOUT}  # fmt: skip
"""Errors of disks, memory and connections, which no command causes; any other OSError is a bug and shows itself."""


def show_version(wanted: bool) -> None:
    if wanted:
        terminal.say(f"jimbot {jimbot.__version__}")
        raise typer.Exit


def jimbot_command(
    version: Annotated[
        bool, typer.Option("--version", "-V", is_eager=True, callback=show_version, help="Show the version and leave.")
    ] = False,
    log_level: LogLevelOption = None,
    plugin: Annotated[
        list[str] | None, "A module with games or learners of your own; anywhere on the line.", "MODULE"
    ] = None,
) -> None:
    """Train, evaluate, watch and deploy agents for games with deep rules and huge masked action spaces."""


def command_line(names: Collection[str] = COMMANDS) -> typer.Typer:
    """`jimbot` with some of its commands: a command line names one, and pays for loading no other."""
    app = typer.Typer(
        name="jimbot", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="rich",
        context_settings=HELP_FLAGS,
    )  # fmt: skip
    app.callback(epilog=FIRST_STEPS)(for_typer(jimbot_command))
    for group, commands in GROUPS.items():
        for name in commands:
            if name in names and (name in MODULES or name in entry_points(DOORS) or len(names) == 1):
                _register(name)(app)
                registered: Any = app.registered_groups[-1] if name in SUBCOMMANDS else app.registered_commands[-1]
                registered.rich_help_panel = group
    return app


def _register(name: str) -> Register:
    """What adds a command to the command line."""
    if name not in MODULES:
        return provided(DOORS, name)
    module = importlib.import_module(f"jimbot.cli.{MODULES[name]}")
    return getattr(module, f"register_{name}", None) or module.register


def _needed(arguments: list[str]) -> tuple[str, ...]:
    """The command that is asked for; all of them where help, an unknown word or a shell's completion wants to know."""
    word = next((word for word in arguments if not word.startswith("-")), "")
    alone = word in COMMANDS and word != "help" and arguments[0] == word and COMPLETION not in os.environ
    return (word,) if alone else COMMANDS


def run(arguments: list[str]) -> int:
    """One command line → its exit code; anything that is not a known error escapes with its traceback."""
    try:
        words = with_plugins(arguments)
        command = typer.main.get_command(command_line(_needed(words)))
        answer = command.main(words, prog_name="jimbot", standalone_mode=False)
    except JimbotError as problem:
        terminal.complain(str(problem))
        return problem.exit_code
    except typer.TyperException as problem:
        terminal.complain(f"{_message(problem).rstrip('.')}. See: jimbot {_command(arguments)}--help")
        return problem.exit_code
    except (KeyboardInterrupt, typer.Abort):
        answer = INTERRUPTED
    except SystemError as problem:  # what C code makes of an exception that it did not expect
        if not isinstance(problem.__cause__, KeyboardInterrupt):
            raise
        answer = INTERRUPTED
    except (MemoryError, OSError) as problem:
        return _failed(problem)
    if answer == INTERRUPTED:
        terminal.complain("Interrupted.")
    return answer if isinstance(answer, int) else 0


def _failed(problem: MemoryError | OSError) -> int:
    """The machine gave out where nobody was prepared for it: still a sentence, and a failure while working."""
    if isinstance(problem, BrokenPipeError):  # the reader of our output has left; so do we
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return JimbotError.exit_code
    if isinstance(problem, MemoryError):
        terminal.complain("There is not enough memory for this. Use fewer games at once (--num-envs).")
        return JimbotError.exit_code
    if problem.errno not in MACHINE:
        raise problem
    where = f" ({problem.filename})" if problem.filename else ""
    terminal.complain(f"This machine could not go on: {problem.strerror}{where}. What was saved before is untouched.")
    return JimbotError.exit_code


def main() -> None:
    """The `jimbot` script, and `python -m jimbot`."""
    use_plain_characters()
    quote_last_resort()
    ctrl_c = CtrlC(terminal.complain)
    if set(sys.argv[1:2]) <= set(GROUPS["Look"]):
        prefer_first_frame()
    code = run(sys.argv[1:] or ["--help"])
    if ctrl_c.came or code == INTERRUPTED:  # the thread that watches may not have had its turn yet
        ctrl_c.leave(code)
    sys.exit(code)


def _message(problem: Any) -> str:
    """What is wrong with a command line; for an unknown flag the one that was meant, if that is clear."""
    flag, context = getattr(problem, "option_name", None), getattr(problem, "ctx", None)
    if flag is None or context is None or not hasattr(problem, "possibilities"):
        return problem.format_message()
    known = {name.lstrip("-") for param in context.command.params for name in (*param.opts, *param.secondary_opts)}
    if "set" in known:
        from jimbot.training.settings.names import names_elsewhere

        known |= {name.replace("_", "-") for name in names_elsewhere()}
    meant = nearest(flag.lstrip("-"), known)
    return f"No such option: {flag}" + (f" (did you mean --{meant}?)" if meant else "")


def _command(arguments: list[str]) -> str:
    return f"{arguments[0]} " if arguments and arguments[0] in COMMANDS else ""
