"""What a game may offer beyond being played. Each is an optional field of its `GameEntry`; nothing outside asks a game
for its name, so a new game gets whatever it brings along. A hook that needs more than playing does is named by
`lazy("package.module:name")` and imported when it is called.

| hook | who uses it |
|---|---|
| `Milestones` | the curriculum: `use_curriculum`, `CurriculumGame`, `CurriculumWrapper` |
| `RareEvent` | prioritised replay |
| `Plans` | `--plan`: what looking ahead spends on which decisions |
| `Variety` | how various play is: metrics of training, the health watch, `jimbot analyze` |
| `InfoMetric` | `info` of wrapped environments |
| `RecordingForm` | `--record` of play and watch, `jimbot replay` |
| `HumanInterface` | `jimbot play` and `jimbot ui`: moves as people type them |
| `Scene` (`scenes.py`) | `jimbot watch`, `play` and `ui`: what is on the table, to be drawn |
| `SeedForm` | `--seed` and seed files; whatever names a seed |
| `Installation` | `jimbot setup` |
| `Online` | `jimbot play --server` |
| `PublicReplays` | `jimbot record --replays` |
| `PlainStates` | `jimbot serve`: requests that carry a state instead of an observation |
| `LiveProtocol` | `jimbot host`: the game in the protocol its bought edition is driven by |
| `Glossary` | `jimbot mcp`: what a thing of the game does |
| `SeedPages` | `jimbot mcp` and `jimbot ui`: what seeds hold, without playing them |
| `ReadForeign` | `jimbot serve`: the same in the words of another program |
| `Knowledge` | `jimbot graph`: what a build is made of, and what works together as the rules measure it |
"""

import importlib
from collections.abc import Callable
from typing import Any

# What jimbot/cli imports from here.
from jimbot.games.hooks.people import HumanInterface as HumanInterface
from jimbot.games.hooks.programs import LiveRun as LiveRun
from jimbot.games.hooks.programs import PlayedOnline as PlayedOnline
from jimbot.games.hooks.programs import Visit as Visit


def lazy(reference: str) -> Callable[..., Any]:
    """The function or class `"package.module:name"`, imported when it is first called: an entry then imports nothing
    that playing does not need."""
    module, _, name = reference.partition(":")

    def called(*values: Any, **named: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*values, **named)

    called.__name__ = name
    return called
