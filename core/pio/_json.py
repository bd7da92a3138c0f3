"""JSON as everyone reads it: what is not a finite number is null."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def to_json(value: Any, **how: Any) -> str:
    """A value as JSON text; keywords are those of `json.dumps`.

    Python would write `NaN` and `Infinity`, which no other reader of JSON takes.
    """
    return json.dumps(_finite(value), allow_nan=False, **how)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    return value
