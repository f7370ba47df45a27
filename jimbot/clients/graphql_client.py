"""`GraphQLClient`: the knowledge graph of a `jimbot graph serve` elsewhere, with nothing but the standard library.

    client = GraphQLClient("http://127.0.0.1:8766", token=None)
    await client.query("query($n: String!) { joker(name: $n) { synergies { joker { name } } } }", {"n": "Baron"})
    await client.get_joker_synergies(["Baron", "Mime"])

The token, where none is given, is in the environment variable JIMBOT_GRAPH_TOKEN.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

from jimbot.clients.resilience import AdaptiveTimeout, Attempts, CircuitBreaker, RetryBudget, RetryPolicy
from jimbot.errors import KnowledgeError, UnreadableError
from jimbot.reading.plain import json_value

ADDRESS = "http://127.0.0.1:8766"
TOKEN_VARIABLE = "JIMBOT_GRAPH_TOKEN"
LARGEST_ANSWER = 2**24
AGAIN = (502, 503, 504)
_SYNERGIES = """query($jokers: [String!]!) {
  synergies(jokers: $jokers, first: 100) {
    a b aName bName channel strength low high evidence samples order others command
  }
}"""


class GraphQLClient:
    """Asks one server; reading may be repeated, so failed attempts are, within the deadline."""

    def __init__(self, address: str = ADDRESS, token: str | None = None, patience: RetryPolicy = RetryPolicy()) -> None:
        if not address.startswith(("http://", "https://")):
            raise KnowledgeError(f"'{address}' is no address of a graph server; expected http://HOST:PORT.")
        self._url = address.rstrip("/").removesuffix("/graphql") + "/graphql"
        self._token = token if token is not None else os.environ.get(TOKEN_VARIABLE, "")
        self._patience = patience
        self._budget = RetryBudget(patience.budget)
        self._timeout = AdaptiveTimeout(max(patience.floor, 0.5), patience.cap)
        self._breaker = CircuitBreaker(patience.failures, patience.rest)

    async def query(self, query: str, variables: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The `data` of the answer; a KnowledgeError says what is wrong."""
        return await asyncio.to_thread(self.ask, query, variables)

    async def get_joker_synergies(self, jokers: Sequence[str]) -> dict[str, Any]:
        """`{"synergies": […]}`: what is known between any two of these jokers, strongest first."""
        return await self.query(_SYNERGIES, {"jokers": list(jokers)})

    def ask(self, query: str, variables: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The same for those without an event loop."""
        if not self._breaker.may_call():
            raise KnowledgeError(f"The graph server {self._url} failed again and again; it is left alone for a while.")
        body = json.dumps({"query": query, "variables": dict(variables or {})}).encode()
        attempts = Attempts(self._patience, self._budget, self._timeout)
        while True:
            try:
                status, data = self._sent(body, attempts.next_timeout())
            except OSError as problem:
                self._breaker.failed()
                status, data, why = 0, b"", str(getattr(problem, "reason", None) or problem)
            else:
                self._breaker.succeeded()
                why = f"status {status}"
            if status and status not in AGAIN:
                return self._read(status, data)
            pause = attempts.retry_in()
            if pause is None:
                raise KnowledgeError(f"The graph server {self._url} does not answer ({why}).")
            time.sleep(pause)

    def _sent(self, body: bytes, timeout: float) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        request = urllib.request.Request(self._url, body, headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.status, answer.read(LARGEST_ANSWER + 1)
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read(LARGEST_ANSWER + 1)

    def _read(self, status: int, data: bytes) -> dict[str, Any]:
        try:
            said = json_value(data) if len(data) <= LARGEST_ANSWER else None
        except UnreadableError:
            said = None
        if not isinstance(said, dict):
            raise KnowledgeError(f"{self._url} answered {status} with something that is no GraphQL answer.")
        if said.get("errors"):
            first = said["errors"][0]
            raise KnowledgeError(str(first.get("message", first) if isinstance(first, dict) else first)[:500])
        return said.get("data") or {}
