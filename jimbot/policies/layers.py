"""What all networks are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def dense(params: Mapping[str, Any], layer: str, inputs: Any) -> Any:
    """A dense layer without its activation; parameters are `<layer>.weight` and `<layer>.bias`."""
    return inputs @ params[f"{layer}.weight"] + params[f"{layer}.bias"]
