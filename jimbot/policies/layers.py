"""What the networks of `forward`, `items` and `network_program` have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def dense(params: Mapping[str, Any], layer: str, inputs: Any) -> Any:
    """One dense layer, in the arithmetic of the arrays it is given."""
    return inputs @ params[f"{layer}.weight"] + params[f"{layer}.bias"]
