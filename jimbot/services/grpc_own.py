"""`DecisionServicer`: a decision service over gRPC that somebody writes, one state at a time.

    class Mine(DecisionServicer):
        def GetDecision(self, request, context):
            obs = self._convert_game_state(request.game_state)
            with self.inference_lock:
                action, info = self.policy.compute_single_action(obs)
            return LearningDecisionResponse(selected_action=self._decode_action(action), confidence=info["action_prob"])

    server = grpc.server(ThreadPoolExecutor())
    add_DecisionServiceServicer_to_server(Mine("balatro"), server)

It serves one policy, and what is refused is refused with a sentence, as by the ready service (`grpc_server`); batches,
deadlines, fallbacks and advice are that one's alone.
"""

from __future__ import annotations

import inspect
import threading
from functools import wraps
from typing import Any

from jimbot.errors import MissingExtraError

try:
    import grpc
except ModuleNotFoundError as problem:
    raise MissingExtraError("gRPC", "serve") from problem

from jimbot.games.contract import game_entry
from jimbot.games.hooks.programs import Sight
from jimbot.policies.contract import Policy
from jimbot.policies.portable import load_policy
from jimbot.proto import decisions_pb2_grpc, events_pb2
from jimbot.services.decision.answers import action_message
from jimbot.services.decision.refusal import RefusedError
from jimbot.services.decision.served import ServedPolicy
from jimbot.services.decision.states import StateReader

_CODES = {code.value[0]: code for code in grpc.StatusCode}


class SinglePolicy:
    """A policy that is asked as RLlib's are: by one observation."""

    def __init__(self, policy: Policy) -> None:
        self.batched = policy

    def compute_single_action(self, obs: Sight) -> tuple[int, dict[str, float]]:
        """Its best legal action, with the probability and the value it gives."""
        decision = self.batched.act(obs.observation[None], obs.legal_mask[None])
        action = int(decision.actions[0])
        found = {"action_prob": decision.probabilities[0, action], "vf_preds": decision.values[0]}
        return action, {name: float(value) for name, value in found.items()}


class DecisionServicer(decisions_pb2_grpc.DecisionServiceServicer):
    """See the module."""

    def __init__(self, served: ServedPolicy | str) -> None:
        """A policy as it is served, or the game whose own policy it is."""
        if isinstance(served, str):
            served = ServedPolicy.make(game_entry(served), *load_policy(served))
        self.served = served
        self.policy = SinglePolicy(served.policy)
        self.current_strategy = served.name
        """What answers name as their strategy: who decides, until something else is assigned."""
        self.inference_lock = threading.Lock()
        self._reader = StateReader(served.entry, served.options)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "GetDecision" in vars(cls) and not inspect.iscoroutinefunction(cls.GetDecision):
            cls.GetDecision = _with_refusals(cls.GetDecision)

    def _convert_game_state(self, game_state: events_pb2.GameState) -> Sight:
        """What the policy sees of a state in any form that requests may carry, and what is legal there."""
        return self._reader.read(game_state)

    def _decode_action(self, action: int) -> events_pb2.Action:
        """An action by number, name and kind."""
        message = events_pb2.Action()
        message.CopyFrom(action_message(self.served.spec, action))
        return message

    def close(self) -> None:
        self._reader.close()


def _with_refusals(answer: Any) -> Any:
    """The call; what it refuses reaches the client with its code and its sentence."""

    @wraps(answer)
    def answered(self: DecisionServicer, request: Any, context: Any) -> Any:
        try:
            return answer(self, request, context)
        except RefusedError as refusal:
            context.abort(_CODES[int(refusal.code)], str(refusal))

    return answered
