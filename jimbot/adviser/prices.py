"""What a token costs, and what each model of Claude wants to be asked like.

Prices are dollars per million tokens of the Claude API, as published in November 2026; they change, so both can be set
(`input_price`, `output_price`), and must be for a model that is not in the table. Money is counted in whole
nanodollars: a token costs at least a hundred of them, and sums never drift.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from jimbot.adviser.settings import AdviserSettings
from jimbot.errors import UnknownNameError

CACHE_WRITE = 1.25  # of the price of reading, for what is kept for five minutes
NANO = 10**9
_OFF = MappingProxyType({"thinking": {"type": "disabled"}})
_LITTLE = MappingProxyType({"output_config": {"effort": "low"}})
_BETWEEN = MappingProxyType({"thinking": {"type": "between_tools"}, "output_config": {"effort": "low"}})


class Cost(NamedTuple):
    """Of one call."""

    tokens: int = 0
    nano: int = 0  # nanodollars

    @property
    def dollars(self) -> float:
        return self.nano / NANO


class Usage(NamedTuple):
    """Tokens of one call, as the service counts them."""

    fresh: int = 0
    written: int = 0
    """Read for the first time and kept in the service's cache."""
    kept: int = 0
    """Read from that cache."""
    output: int = 0


@dataclass(frozen=True)
class Model:
    """One model."""

    name: str
    input_price: float
    output_price: float
    cache_read: float = 0.1
    """Of the price of reading."""
    forced: bool = True
    """Whether it can be made to call a tool; those that always think refuse to be."""
    extras: Mapping[str, Any] = field(default_factory=dict)
    """What a request says about thinking: advice is short."""

    def worst(self, prompt_bytes: int, max_tokens: int) -> Cost:
        """The most a call can cost: every byte of the prompt a token, all of them written into the cache, and an
        answer as long as allowed."""
        nano = prompt_bytes * self.input_price * CACHE_WRITE * 1000 + max_tokens * self.output_price * 1000
        return Cost(prompt_bytes + max_tokens, math.ceil(nano))

    def cost(self, usage: Usage) -> Cost:
        read = usage.fresh + CACHE_WRITE * usage.written + self.cache_read * usage.kept
        nano = math.ceil(1000 * (read * self.input_price + usage.output * self.output_price))
        return Cost(sum(usage), nano)


MODELS = {
    model.name: model
    for model in (
        Model("claude-haiku-5-5", 0.10, 0.50, extras=_OFF),  # below prompts of 100,000 tokens; ours are
        Model("claude-sonnet-5-5", 2, 10, 0.05, forced=False, extras=_BETWEEN),
        Model("claude-opus-5-5", 4, 20, 0.05, forced=False, extras=_LITTLE),
        Model("claude-fable-5-1", 10, 50, 0.025, forced=False, extras=_LITTLE),
        Model("claude-sonnet-5", 2, 10, extras=_OFF),
        Model("claude-opus-5", 5, 25, extras=_OFF),
        Model("claude-opus-4-8", 5, 25),
        Model("claude-opus-4-7", 5, 25),
        Model("claude-opus-4-6", 5, 25),
        Model("claude-opus-4-5", 5, 25),
        Model("claude-sonnet-4-6", 3, 15),
        Model("claude-sonnet-4-5", 3, 15),
        Model("claude-haiku-4-5", 1, 5),
    )
}


def model_for(settings: AdviserSettings) -> Model:
    """The model meant, at the prices given."""
    known = MODELS.get(settings.model)
    prices = (settings.input_price, settings.output_price)
    if known is None:
        if settings.input_price is None or settings.output_price is None:
            raise UnknownNameError(
                "model", settings.model, MODELS,
                "What others cost must be said: input_price and output_price, in dollars per million tokens.",
            )  # fmt: skip
        return Model(settings.model, settings.input_price, settings.output_price)
    return replace(
        known,
        input_price=known.input_price if prices[0] is None else prices[0],
        output_price=known.output_price if prices[1] is None else prices[1],
    )
