"""Games and learners of other people on a command line (see `jimbot.plugins`).

`--plugin MODULE` may stand anywhere. Where a game or a learner is named, a module may be named instead (`jimbot train
my_package.my_game`, `--learner my_package.my_learner:MyTrainer`): it is imported, and the command sees the plain name.
"""

from __future__ import annotations

from pathlib import Path

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
