"""An equation: a PDE with its domain, its input functions, its conditions and its truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from pio._domain import Domain
from pio._space import FunctionSpace


@dataclass(frozen=True)
class Condition:
    """Something that holds on a face of the domain.

    `residual` names the fields it needs, as an equation's does, and vanishes where the condition
    holds:

        Condition("initial", {"t": 0.0}, lambda s, u: s - u)

    With `versus`, the fields at two opposite faces are compared instead, for periodicity:

        Condition("periodic", {"x": 0.0}, lambda s: s, versus={"x": 1.0})
    """

    name: str
    at: Mapping[str, float]
    residual: Callable[..., Any]
    versus: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Law:
    """Something the exact solution obeys at all times, against which a reference is checked.

    `quantity(s, points)` is `(f, t)` and of order one: divide by a norm of s. It stays as it was at
    first, never grows, or is zero, up to the `tolerance`.
    """

    quantity: Callable[[Any, Mapping[str, np.ndarray]], np.ndarray]
    holds: Literal["stays", "never grows", "zero"] = "stays"
    tolerance: float = 1e-6


@dataclass(frozen=True)
class Reference:
    """A solver that is trusted, and what makes it so.

    `solve(u, points, refine)` takes u on the sensors (functions × sensors), the coordinates to
    answer at (one increasing array each), and a whole factor by which to refine its own
    discretisation; it returns s aligned on the domain's axes, `(f, x, t)`, in float64 (a system: a
    mapping from each unknown to that). It sees at most `chunk` functions at a time, and answers for
    each as if it were alone.

    Its certificate has to observe convergence of this `order` in `refine`, an error of at most
    `accuracy` (relative, in L2, per function), and the `laws`. A closed form has nothing to refine: leave
    `order` out. A changed `version` makes test sets anew.
    """

    solve: Callable[[np.ndarray, Mapping[str, np.ndarray], int], Any]
    summary: str
    order: float | None = None
    accuracy: float = 1e-4
    laws: Mapping[str, Law] = field(default_factory=dict)
    chunk: int = 16
    version: int = 1


@runtime_checkable
class Equation(Protocol):
    """A PDE. It receives fields by name and never differentiates.

    `residual(self, s, s_t, s_x, s_xx)` reads as the PDE: its parameter names tell core what to
    compute. They may be an unknown or `u`, with an underscore and one letter per derivative, or a
    coordinate. A system returns a mapping from a name to each of its residuals.

    Optional members:

    - `ansatz(self, n, ...)`: a form of s that meets the conditions exactly, with what the embedding
      does for n, from the network's output n, coordinates, `u` and the equation's own features, by
      name. Conditions that it misses stay terms of the loss;
    - `features`: a mapping from a name to a `pio.Feature` that only this equation offers;
    - `presets`: a mapping from a name to a `pio.Recipe`;
    - `studies`: a mapping from a name to a `pio.Study`, a published table for `pio reproduce`;
    - `admit(self, u)`: raises a `pio.PioError` on a u, `(functions, sensors)`, for which the
      problem makes no sense.
    """

    @property
    def domain(self) -> Domain: ...

    @property
    def inputs(self) -> FunctionSpace: ...

    @property
    def unknowns(self) -> tuple[str, ...]: ...

    @property
    def residual(self) -> Callable[..., Any]: ...

    @property
    def grid(self) -> Mapping[str, np.ndarray]:
        """Where test solutions are stored and compared."""
        ...

    def conditions(self) -> tuple[Condition, ...]: ...

    @property
    def references(self) -> Mapping[str, Reference]:
        """Solvers by name, the truth first."""
        ...
