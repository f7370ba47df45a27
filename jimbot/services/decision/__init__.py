"""The decision core: see `service.py`."""

from jimbot.services.decision.refusal import Code, RefusedError
from jimbot.services.decision.served import ServedPolicy
from jimbot.services.decision.service import DecisionService
from jimbot.services.decision.slots import CanaryRule
from jimbot.services.decision.states import register_state_form
from jimbot.services.settings import ServiceSettings

__all__ = [
    "CanaryRule",
    "Code",
    "DecisionService",
    "RefusedError",
    "ServedPolicy",
    "ServiceSettings",
    "register_state_form",
]
