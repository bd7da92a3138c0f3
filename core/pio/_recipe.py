"""A recipe: every choice of a training run that is not the equation or the architecture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from pio._errors import PioError


class Choice(NamedTuple):
    """A plugin by name, with options that differ from its defaults."""

    name: str
    options: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Tables:
    """Points drawn once per function and frozen; each step takes random rows of every term's table.

    `residual` and each entry of `conditions` count points per function. `placement` says where
    residual coordinates lie: `random` (uniform), `sensors` (drawn from the sensors), `grid`
    (a uniform tensor grid whose size is `residual`, one number per coordinate). A condition, by its
    name, lies at `random` places or on a uniform `grid`. Both are `random` unless told. Conditions
    without points are left to the embedding.
    """

    batch: int
    residual: int | Mapping[str, int]
    conditions: Mapping[str, int] = field(default_factory=dict)
    placement: Mapping[str, Literal["random", "sensors", "grid"]] = field(default_factory=dict)


@dataclass(frozen=True)
class Blocks:
    """Structured batches: some functions × some places × some times, drawn anew every step.

    Functions are multiplied by a random number between 1 and `stretch`, to train more on large ones than they
    are common. With `fixed`, places and times are drawn once, and only functions change.
    """

    functions: int
    points: Mapping[str, int]
    stretch: float = 1.0
    fixed: bool = False

    def __post_init__(self) -> None:
        if not self.stretch > 0:
            raise PioError(f"sampling.stretch is a positive factor (got {self.stretch}).")


@dataclass(frozen=True)
class Recipe:
    """What `--preset` stands for. `train_functions=None` draws fresh functions every step."""

    steps: int
    sampling: Tables | Blocks
    architecture: Mapping[str, Any]
    embedding: Choice
    weighting: Choice
    optimizer: Choice
    constraints: Literal["soft", "hard"]
    precision: Literal[32, 64]
    train_functions: int | None
    test_functions: int
    centred: bool = False
