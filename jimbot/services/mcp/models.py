"""What the tools answer with: typed records, so that every answer comes with its schema."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class Record(BaseModel):
    """A record that refuses what it does not know."""

    model_config = {"extra": "forbid"}


class GameAbout(Record):
    """A game that can be started."""

    id: str
    title: str
    about: str = Field(description="What it is about.")
    options: dict[str, str] = Field(description="What can be chosen when it is started, and what it means.")
    policies: list[str] = Field(description="Who can be asked for advice beside runs and files.")
    glossary: list[str] = Field(description="Kinds of things that explain knows.")
    seeds: str = Field(description="How a question about seeds is written; empty where seeds hold nothing to search.")


class Games(Record):
    games: list[GameAbout]


class TableSeen(Record):
    """A game in play, as its player sees it."""

    handle: str = Field(description="Names this game in all other tools.")
    game: str
    seed: str
    live: bool = Field(description="Whether this is a game running elsewhere, or a simulated one.")
    turn: int
    words: str = Field(description="The situation in words.")
    metrics: dict[str, float] = Field(description="Where the game stands, by name.")
    legal_moves: int = Field(description="How many moves are legal now; 0 when the game is over.")
    total_return: float
    over: bool
    outcome: str = Field("", description="How it ended, once it has.")
    stats: dict[str, float] = Field(default_factory=dict, description="Its statistics, once it has ended.")
    not_read: list[str] = Field(
        default_factory=list, description="Of a live game: what its protocol does not tell and had to be assumed."
    )


class TablesOpen(Record):
    tables: list[TableSeen]


class Move(Record):
    label: str = Field(description="Give this to act.")
    words: str = Field(description="The move in the words of the situation.")


class LegalMoves(Record):
    handle: str
    count: int = Field(description="Moves that are legal and fit the filter.")
    moves: list[Move] = Field(description="The first of them.")


class Acted(Record):
    """What a move brought."""

    move: Move
    reward: float
    changes: dict[str, float] = Field(description="Metrics that changed, by how much.")
    table: TableSeen


class Likely(Record):
    label: str
    words: str
    probability: float


class Advice(Record):
    """What a policy would do."""

    handle: str
    policy: str
    best: Likely
    moves: list[Likely] = Field(description="The likeliest moves, the best first.")
    value: float | None = Field(description="The return the policy expects from here; null where it has no opinion.")
    remark: str = Field("", description="Why the advice may be poor, where it may.")


class Explained(Record):
    kind: str
    key: str
    name: str
    effect: str
    facts: dict[str, Any]


class Explanations(Record):
    game: str
    found: list[Explained]


class SeedPage(Record):
    """What a seed holds, without playing it."""

    game: str
    seed: str
    holds: dict[str, Any]


class SeedsFound(Record):
    game: str
    question: str
    seeds: list[str]
    looked_at: int
    complete: bool = Field(description="False: the search was cut short by its limits before it found enough.")


class Estimate(Record):
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float


class Judged(Record):
    """How good a policy is on games it never saw."""

    game: str
    policy: str
    games: int
    seeds: str
    mean_return: Estimate
    win_rate: Estimate | None = Field(description="null where the game cannot be won.")
    mean_length: Estimate
    stats: dict[str, Estimate]
    illegal_actions: int
    seconds: float


class RunListed(Record):
    name: str
    game: str
    learner: str
    algorithm: str
    step: int
    best: str = Field(description="Its best metric, with its name.")
    training_now: bool
    has_report: bool


class RunsListed(Record):
    runs: list[RunListed]
