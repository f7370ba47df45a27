"""What a game may offer beyond being played. Each is an optional field of its `GameEntry`; nothing outside asks a game
for its name, so a new game gets whatever it brings along.

| hook | who uses it |
|---|---|
| `Milestones` | the curriculum: `use_curriculum`, `CurriculumGame`, `CurriculumWrapper` |
| `RareEvent` | prioritised replay |
| `Plans` | `--plan`: what looking ahead spends on which decisions |
| `Variety` | how various play is: metrics of training, the health watch, `jimbot analyze` |
| `Figure` | `info` of wrapped environments |
| `RecordingForm` | `--record` of play and watch, `jimbot replay` |
| `Sitting` | `jimbot play` and `jimbot ui`: moves as people type them |
| `Scene` (`scenes.py`) | `jimbot ui`: what is on the table, to be drawn |
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

from jimbot.games.hooks.knowledge import Held, Interaction, Knowledge, Measure, Part
from jimbot.games.hooks.learners import Found, Milestones, Plans, RareEvent, Variety
from jimbot.games.hooks.live import (
    HostedGame,
    HostFiles,
    LiveCall,
    LivePlay,
    LiveProtocol,
    LiveResult,
    LiveRun,
    Silence,
    Standing,
)
from jimbot.games.hooks.outside import (
    Decide,
    Installation,
    Online,
    PlayedGame,
    PlayedOnline,
    PublicReplay,
    PublicReplays,
    ReadReplays,
    ReplaySide,
    Visit,
)
from jimbot.games.hooks.people import Explanation, Glossary, Offer, Sitting
from jimbot.games.hooks.recordings import Moment, RecordedGame, Recorder, RecordingForm
from jimbot.games.hooks.seeds import SeedForm, SeedPages
from jimbot.games.hooks.states import Figure, PlainStates, ReadForeign, Sight, Table

__all__ = [
    "Decide",
    "Explanation",
    "Figure",
    "Found",
    "Glossary",
    "Held",
    "HostFiles",
    "HostedGame",
    "Installation",
    "Interaction",
    "Knowledge",
    "LiveCall",
    "LivePlay",
    "LiveProtocol",
    "LiveResult",
    "LiveRun",
    "Measure",
    "Milestones",
    "Moment",
    "Offer",
    "Online",
    "Part",
    "PlainStates",
    "Plans",
    "PlayedGame",
    "PlayedOnline",
    "PublicReplay",
    "PublicReplays",
    "RareEvent",
    "ReadForeign",
    "ReadReplays",
    "RecordedGame",
    "Recorder",
    "RecordingForm",
    "ReplaySide",
    "SeedForm",
    "SeedPages",
    "Sight",
    "Silence",
    "Sitting",
    "Standing",
    "Table",
    "Variety",
    "Visit",
]
