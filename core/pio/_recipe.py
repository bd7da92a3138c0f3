"""A recipe: every choice of a training run that is not the equation or the architecture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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

    def __post_init__(self) -> None:
        _require_positive(batch=self.batch, residual=self.residual, conditions=self.conditions)


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
        _require_positive(functions=self.functions, points=self.points)
        if not self.stretch > 0:
            raise PioError(f"sampling.stretch is a positive factor (got {self.stretch}).")


def _require_positive(**counts: int | Mapping[str, int]) -> None:
    for name, given in counts.items():
        each = given if isinstance(given, Mapping) else {"": given}
        for key, count in each.items():
            if count < 1:
                raise PioError(
                    f"sampling.{name}{'.' * bool(key)}{key} is at least 1 (got {count})."
                )


@dataclass(frozen=True)
class Recipe:
    """What `--preset` stands for. What is not said is as for an equation that brings no recipe:

        Recipe(embedding=Choice("cosine"))

    That is, batches of 16 functions at 16 points of each coordinate, `fourier` where a coordinate is
    periodic, and hard constraints where there is an ansatz. `train_functions=None` draws fresh
    functions every step.
    """

    steps: int = 10_000
    sampling: Tables | Blocks | None = None
    architecture: Mapping[str, Any] = field(default_factory=lambda: {"width": 64, "depth": 5})
    embedding: Choice | None = None
    weighting: Choice = field(default_factory=lambda: Choice("fixed"))
    optimizer: Choice = field(default_factory=lambda: Choice("soap"))
    constraints: Literal["soft", "hard"] | None = None
    precision: Literal[32, 64] = 32
    train_functions: int | None = None
    test_functions: int = 100
    centred: bool = False

    def settled(self, equation: Any) -> Recipe:
        """The same with all that depends on the equation said."""
        domain = equation.domain
        plain = Blocks(16, dict.fromkeys(domain.names, 16))
        return replace(
            self,
            sampling=self.sampling or plain,
            embedding=self.embedding or Choice("fourier" if domain.periodic else "none"),
            constraints=self.constraints or ("hard" if hasattr(equation, "ansatz") else "soft"),
        )

    def small(self, equation: Any) -> Recipe:
        """The same in seconds: the preset `smoke` of an equation that brings none."""
        return replace(
            self,
            steps=20,
            sampling=Blocks(4, dict.fromkeys(equation.domain.names, 8)),
            architecture={**self.architecture, "width": 16, "depth": 2},
            train_functions=None,
            test_functions=4,
        )
