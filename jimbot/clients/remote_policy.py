"""`RemotePolicy`: a served policy behind the Policy contract, so that whatever plays a policy can play one elsewhere.

    grpc://host:port/game            the policy served for the game
    grpc://host:port/game/name       one of several
    grpcs://…                        the same over TLS (JIMBOT_SERVE_CA names the root certificate)

The token, where one is asked for, is in the environment variable JIMBOT_SERVE_TOKEN.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from jimbot.clients.decision_client import DecisionClient
from jimbot.clients.resilience import RetryPolicy
from jimbot.errors import UnknownNameError, UnreadableError, UsageError
from jimbot.games.contract import game_entry
from jimbot.policies.contract import Decision
from jimbot.proto import decisions_pb2 as wire
from jimbot.reading.plain import json_value

SCHEMES = ("grpc", "grpcs")
TOKEN_VARIABLE, CA_VARIABLE = "JIMBOT_SERVE_TOKEN", "JIMBOT_SERVE_CA"
ROWS = 512  # per message
RETRIES = RetryPolicy(deadline=30.0, cap=10.0, attempts=8, longest_pause=2.0, budget=1.0)  # a restart is waited for


class RemotePolicy:
    """Asks a decision service for every move."""

    def __init__(self, reference: str) -> None:
        address, game, name, secure = parse(reference)
        root = os.environ.get(CA_VARIABLE, "")
        if secure and not root:
            raise UsageError(f"'{reference}' wants TLS; name the root certificate in {CA_VARIABLE}.")
        self.name = reference
        self._client = DecisionClient(
            address,
            token=os.environ.get(TOKEN_VARIABLE) or None,
            root_cert=Path(root) if secure else None,
            patience=RETRIES,
        )
        self._stream = self._client.stream()
        self._game, self._policy = game, name
        self._session = uuid.uuid4().hex  # one policy answers all it asks, whatever is tried out meanwhile
        about = self._described()
        self.digest: str = about.identity.hash
        self.version: str = about.identity.version
        self.game = game
        self.trained_with = _options(about.options_json, self._client.address)
        """Game options."""

    def act(
        self,
        observation: np.ndarray,
        legal_mask: np.ndarray,
        deterministic: bool = True,
        key: np.random.Generator | None = None,
    ) -> Decision:
        observation = np.ascontiguousarray(observation, "<f4")
        legal = np.ascontiguousarray(legal_mask, bool)
        parts = [
            self._asked(observation[start : start + ROWS], legal[start : start + ROWS], deterministic, key)
            for start in range(0, len(legal), ROWS)
        ]
        return parts[0] if len(parts) == 1 else Decision(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def close(self) -> None:
        self._stream.close()
        self._client.close()

    def _asked(
        self, observation: np.ndarray, legal: np.ndarray, deterministic: bool, key: np.random.Generator | None
    ) -> Decision:
        batch = wire.DecisionBatch(game=self._game, policy=self._policy, probabilities=True, session_id=self._session)
        batch.observations.values = observation.tobytes()
        batch.observations.legal_mask = np.packbits(legal, axis=1, bitorder="little").tobytes()
        batch.observations.rows = len(legal)
        if not deterministic:
            rng = key or np.random.default_rng()
            batch.choosing.sample = True
            batch.batch_id = f"{rng.integers(2**63):x}{rng.integers(2**63):x}"  # the service draws by it
        answer = self._stream.ask(batch)
        probabilities = np.frombuffer(answer.probabilities, "<f4").reshape(legal.shape)
        return Decision(np.array(answer.actions, np.int64), probabilities, np.array(answer.values, np.float32))

    def _described(self) -> wire.PolicyDescription:
        """What the service says it has; it must be made for the very game we play."""
        served = [about for about in self._client.policies(self._game).policies if about.status == "serving"]
        names = [about.identity.name for about in served]
        if not served or (self._policy and self._policy not in names):
            known = [f"{self._game}/{name}" for name in names] or ["nothing for this game"]
            raise UnknownNameError("served policy", f"{self._game}/{self._policy}".rstrip("/"), known)
        about = served[names.index(self._policy)] if self._policy else served[0]
        spec = game_entry(self._game).spec.under(_options(about.options_json, self._client.address))
        ours = (spec.observation.fingerprint, spec.actions.fingerprint, spec.version)
        if (about.observation_fingerprint, about.action_fingerprint, about.identity.game_version) != ours:
            raise UsageError(
                f"The service at {self._client.address} plays another version of game '{self._game}' "
                f"({about.identity.game_version}, here {spec.version}); use the same JimBot on both sides."
            )
        return about


def _options(text: str, address: str) -> dict[str, Any]:
    """The game options a service says it was trained with: from outside, so read as anything from outside."""
    try:
        options = json_value(text or "{}")
    except UnreadableError as problem:
        raise UsageError(f"The service at {address} sent options that cannot be read: {problem}.") from problem
    if not isinstance(options, dict):
        raise UsageError(f"The service at {address} sent {options!r:.60} as options; expected a JSON object.")
    return options


def open_policy(reference: str, game: str | None = None) -> RemotePolicy:
    """The policy at an address; it must play `game`, if one is given."""
    named = parse(reference)[1]
    if game not in (None, named):
        raise UsageError(f"'{reference}' plays game '{named}', but game '{game}' was asked for; give one of them.")
    return RemotePolicy(reference)


def parse(reference: str) -> tuple[str, str, str, bool]:
    """(address, game, policy name or nothing, whether over TLS) of a reference.

    >>> parse("grpc://127.0.0.1:50051/balatro")
    ('127.0.0.1:50051', 'balatro', '', False)
    """
    parts = urlsplit(reference)
    game, _, name = parts.path.strip("/").partition("/")
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme not in SCHEMES or not parts.hostname or port is None or not game:
        raise UsageError(f"'{reference}' is no served policy; expected grpc://host:port/game or …/game/policy.")
    return parts.netloc.rpartition("@")[2], game, name, parts.scheme == "grpcs"
