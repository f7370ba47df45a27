"""The graph as GraphQL: the same questions as `KnowledgeGraphClient`, for programs in any language, and for those who
show a token the same ways to keep what they found.

What a request may cost is bounded three times: by its text (tokens, aliases, depth) before anything runs, by the things
it may be answered with, and by the questions it may put to the store while it runs. `schema.graphql` beside this file
is the same for people and generators; a test keeps it up to date.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

from jimbot.errors import JimbotError, KnowledgeError, MissingExtraError
from jimbot.knowledge import queries
from jimbot.knowledge.client import KnowledgeGraphClient
from jimbot.knowledge.updates import strategy_from, synergy_from

try:
    import strawberry
    from graphql import GraphQLError
    from strawberry.extensions import MaxAliasesLimiter, MaxTokensLimiter, QueryDepthLimiter
except ModuleNotFoundError as problem:
    raise MissingExtraError("GraphQL", "graph") from problem

SCHEMA_FILE = Path(__file__).with_name("schema.graphql")
DEEPEST, MOST_TOKENS, MOST_ALIASES = 8, 1000, 20
MOST_THINGS = 2000
"""Claims, jokers and strategies in one answer."""
MOST_QUESTIONS = 100
"""To the store, for one answer."""
LARGEST_PAGE = 100
STRATEGY_VALUES = ("key", "name", "words", "evidence", "games", "share", "low", "high", "verdict")

First = Annotated[int, strawberry.argument(description=f"So many, {LARGEST_PAGE} at most.")]
Channel = Annotated[
    str | None, strawberry.argument(description="Only this one: score, money, growth, retrigger, copying.")
]


class Request:
    """What one request has used up so far."""

    def __init__(self, client: KnowledgeGraphClient, may_write: bool = False) -> None:
        self.client, self.may_write = client, may_write
        self._things, self._questions = 0, 0

    def asks(self) -> KnowledgeGraphClient:
        self._questions += 1
        if self._questions > MOST_QUESTIONS:
            raise KnowledgeError(f"The query needs more than {MOST_QUESTIONS} questions to the graph; ask for less.")
        return self.client

    def writes(self) -> KnowledgeGraphClient:
        if not self.may_write:
            raise KnowledgeError(
                "Only who shows a token may change the graph: jimbot graph serve --token-file FILE, and one of its "
                "tokens without a limit."
            )
        return self.asks()

    def page(self, found: Sequence[Any], first: int) -> Sequence[Any]:
        """The first of some things, counted."""
        if not 0 < first <= LARGEST_PAGE:
            raise KnowledgeError(f"'first' is {first}; expected 1 to {LARGEST_PAGE}.")
        chosen = found[:first]
        self._things += len(chosen)
        if self._things > MOST_THINGS:
            raise KnowledgeError(f"The answer would hold more than {MOST_THINGS:,} things; ask for less.")
        return chosen


Info = strawberry.Info[Request, None]


@strawberry.type(description="Something that is known about two things, and how surely.")
class Claim:
    a: str
    b: str
    a_name: str
    b_name: str
    channel: str = strawberry.field(description="Through what they act on each other.")
    strength: float = strawberry.field(description="Above 0 they help each other.")
    low: float = strawberry.field(description="The interval of 95 %.")
    high: float
    evidence: str = strawberry.field(description="measured, played, advised or predicted.")
    samples: int
    order: str = strawberry.field(description="a_left or b_left where it matters which one lies left.")
    others: list[str] = strawberry.field(description="The third and further parts of a group.")
    command: str = strawberry.field(description="Measures it again.")


@strawberry.type
class Use:
    key: str
    name: str
    weight: float


@strawberry.type(description="A way to win with a name.")
class Strategy:
    key: str
    name: str
    words: str
    uses: list[Use]
    evidence: str
    games: int
    share: float = strawberry.field(description="Of these games won.")
    low: float
    high: float
    verdict: str
    similarity: float = strawberry.field(description="To the state that was given, 0 to 1.")


@strawberry.type
class Joker:
    key: str
    name: str

    @strawberry.field(description="What it works with, strongest first.")
    def synergies(self, info: Info, first: First = 20, channel: Channel = None) -> list[Partner]:
        found = info.context.asks().neighbours(self.key, channel)
        return [_partner(claim, self.key) for claim in info.context.page(found, first)]

    @strawberry.field(description="Hand types it makes better.")
    def favours(self, info: Info, first: First = 20) -> list[Claim]:
        return _claims(info.context.page(queries.favours(info.context.asks().store, self.key), first))

    @strawberry.field(description="Bosses it stands against, best first.")
    def counters(self, info: Info, first: First = 20) -> list[Claim]:
        return _claims(info.context.page(queries.counters_of(info.context.asks().store, "Joker", self.key), first))


@strawberry.type(description="A joker and what is known between it and the one that was asked about.")
class Partner:
    joker: Joker
    claim: Claim


@strawberry.type
class Boss:
    key: str
    name: str

    @strawberry.field(description="Jokers and hand types against it: what helps first, what suffers last.")
    def counters(self, info: Info, first: First = 20) -> list[Claim]:
        return _claims(info.context.page(info.context.asks().counters(self.key), first))


@strawberry.input(description="Where a game stands, by keys or names.")
class State:
    jokers: list[str] = strawberry.field(default_factory=list)
    deck: str = ""
    vouchers: list[str] = strawberry.field(default_factory=list)
    hand: str = strawberry.field(default="", description="The hand type it plays most.")


@strawberry.type
class Query:
    @strawberry.field(description="One joker by name or key; an unknown one is answered with the nearest.")
    def joker(self, info: Info, name: str) -> Joker:
        return _joker(info, info.context.asks().names.key(name, "Joker"))

    @strawberry.field(description="All jokers by name.")
    def jokers(self, info: Info, first: First = 20, after: str = "") -> list[Joker]:
        names = info.context.asks().names
        found = [name for name in names.all("Joker") if name > after]
        return [_joker(info, names.key(name, "Joker")) for name in info.context.page(found, first)]

    @strawberry.field(description="What is known between any two of these jokers, strongest first.")
    def synergies(self, info: Info, jokers: list[str], first: First = 50) -> list[Claim]:
        return _claims(info.context.page(info.context.asks().joker_synergies(jokers)["synergies"], first))

    @strawberry.field(description="One boss by name or key.")
    def boss(self, info: Info, name: str) -> Boss:
        names = info.context.asks().names
        key = names.key(name, "Boss")
        return Boss(key=key, name=names.name(key))

    @strawberry.field(description="The shortest chain of certain synergies between two jokers.")
    def explain(self, info: Info, start: str, end: str) -> list[Claim]:
        return _claims(info.context.page(info.context.asks().explain(start, end), LARGEST_PAGE))

    @strawberry.field(description="Known strategies; with a state those that share anything with it, nearest first.")
    def strategies(self, info: Info, state: State | None = None, first: First = 20) -> list[Strategy]:
        client = info.context.asks()
        given = None
        if state is not None:
            given = {"jokers": state.jokers, "deck": state.deck, "vouchers": state.vouchers, "played": {state.hand: 1}}
        return [_strategy(client, one) for one in info.context.page(client.strategies(given), first)]


@strawberry.input(description="How much a part belongs to a strategy.")
class UseInput:
    part: str
    weight: float = 1.0


@strawberry.input(description="A way to win, as it was found elsewhere.")
class StrategyInput:
    name: str
    uses: list[UseInput]
    words: str = ""
    evidence: str = "played"
    games: int = 0
    share: float = strawberry.field(default=0.0, description="Of these games won.")
    verdict: str = ""
    command: str = strawberry.field(default="", description="Finds it again.")


@strawberry.input(description="A claim about two or more jokers, with its interval.")
class SynergyInput:
    jokers: list[str]
    strength: float
    low: float
    high: float
    channel: str = "all"
    evidence: str = "played"
    samples: int = 0
    command: str = ""


@strawberry.type
class Mutation:
    @strawberry.mutation(description="Keeps a strategy; one of the same name gives way. Needs a token.")
    def save_strategy(self, info: Info, strategy: StrategyInput) -> Strategy:
        client, values = info.context.writes(), dict(vars(strategy))
        uses, name = {use.part: use.weight for use in values.pop("uses")}, values.pop("name")
        kept = client.keep(strategy_from(client.names, name, uses, **values))
        return _strategy(client, {**vars(kept), "uses": kept.uses})

    @strawberry.mutation(description="Keeps a claim; one of the same jokers and channel gives way. Needs a token.")
    def save_synergy(self, info: Info, synergy: SynergyInput) -> Claim:
        client, values = info.context.writes(), dict(vars(synergy))
        jokers, strength = values.pop("jokers"), values.pop("strength")
        kept = client.keep(synergy_from(client.names, jokers, strength, **values))
        names = {"a_name": client.names.name(kept.a), "b_name": client.names.name(kept.b)}
        return _claims([{**vars(kept), **names, "others": list(kept.others)}])[0]


def _joker(info: Info, key: str) -> Joker:
    return Joker(key=key, name=info.context.client.names.name(key))


def _claims(claims: Iterable[queries.Claim]) -> list[Claim]:
    names = [field.name for field in fields(Claim)]
    return [Claim(**{name: claim[name] for name in names}) for claim in claims]


def _partner(claim: queries.Claim, key: str) -> Partner:
    side = "b" if claim["a"] == key else "a"
    return Partner(joker=Joker(key=claim[side], name=claim[f"{side}_name"]), claim=_claims([claim])[0])


def _strategy(client: KnowledgeGraphClient, found: queries.Claim) -> Strategy:
    uses = [Use(key=key, name=client.names.name(key), weight=weight) for key, weight in found["uses"].items()]
    values = {name: found[name] for name in STRATEGY_VALUES}
    return Strategy(**values, uses=uses, similarity=found.get("similarity", 0.0))


class _Schema(strawberry.Schema):
    def process_errors(self, errors: list[GraphQLError], execution_context: Any = None) -> None:
        """Errors are the caller's; a log line each would let callers fill the disk."""


schema = _Schema(
    query=Query,
    mutation=Mutation,
    extensions=[
        lambda: QueryDepthLimiter(max_depth=DEEPEST),
        lambda: MaxTokensLimiter(max_token_count=MOST_TOKENS),
        lambda: MaxAliasesLimiter(max_alias_count=MOST_ALIASES),
    ],
)


def schema_text() -> str:
    """The schema in GraphQL's own language."""
    return schema.as_str().rstrip() + "\n"


def answer(
    client: KnowledgeGraphClient, query: str, variables: dict[str, Any] | None = None, may_write: bool = False
) -> dict[str, Any]:
    """`{"data": …}`, and `errors` in sentences where something is wrong."""
    result = schema.execute_sync(query, variable_values=variables, context_value=Request(client, may_write))
    found: dict[str, Any] = {"data": result.data}
    if result.errors:
        found["errors"] = [{"message": _sentence(error), "path": error.path} for error in result.errors[:5]]
    return found


def _sentence(error: GraphQLError) -> str:
    """What the caller did wrong; what went wrong here stays here."""
    cause = error.original_error
    if cause is None or isinstance(cause, JimbotError | GraphQLError):
        return str(cause or error.message).splitlines()[0]
    return "The graph could not answer; see the server's log."
