"""Certificates: measured reasons to trust a reference solver."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from pio._differences import fields, inside
from pio._equation import Equation, Law
from pio._errors import PioError
from pio._fields import asked
from pio._solve import find_reference, solve
from pio._space import draw


@dataclass(frozen=True)
class Finding:
    """One thing that was measured, and the bound it has to keep."""

    what: str
    value: float
    bound: float
    at_least: bool = False

    @property
    def holds(self) -> bool:
        return bool(self.value >= self.bound if self.at_least else self.value <= self.bound)


@dataclass(frozen=True)
class Certificate:
    """What was found about one reference, on some functions."""

    reference: str
    summary: str
    functions: int
    findings: tuple[Finding, ...]
    seconds: float = field(compare=False)

    @property
    def holds(self) -> bool:
        return all(f.holds for f in self.findings)


def relative_errors(s: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """‖s − truth‖ / ‖truth‖ in L2, one per function."""
    axes = tuple(range(1, truth.ndim))
    return np.asarray(np.sqrt(((s - truth) ** 2).sum(axes) / (truth**2).sum(axes)))


def certify(
    equation: Equation,
    reference: str | None = None,
    *,
    functions: int = 8,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Certificate:
    """Measure how far a reference is to be trusted.

    Its error is what a twofold refinement changes (for a reference other than the truest: its
    distance from that). Its order compares this change with that of another twofold refinement; a
    reference that declares none, a closed form, is not to change at all.
    Its residual is the PDE's, differentiated by central differences of sixth order, relative to
    the time derivative (to u in a steady problem): small only if the solver and `residual` mean the same equation.
    """
    if functions < 1:
        raise PioError(f"a certificate needs functions (got {functions}).")
    name = reference or next(iter(equation.references))
    solver = find_reference(equation, name)
    start = time.perf_counter()
    u = draw(equation.inputs, jax.random.key(seed), functions)

    def run(what: str, points: Mapping[str, np.ndarray], refine: int = 1) -> dict[str, np.ndarray]:
        if progress is not None:
            progress(what)
        s = solve(equation, u, points, reference=name, refine=refine)
        return s if isinstance(s, dict) else {equation.unknowns[0]: s}

    levels = [run(f"refined {r}×", equation.grid, r) for r in (1, 2, 4)]
    first, second = (_largest(a, b) for a, b in itertools.pairwise(levels))
    error = first
    if name != next(iter(equation.references)):
        truth = solve(equation, u)
        error = _largest(
            levels[0], truth if isinstance(truth, dict) else {equation.unknowns[0]: truth}
        )
    findings = [Finding("error", float(error.max()), solver.accuracy)]
    # Functions that are solved to rounding show no order: leave them out.
    converging = first > 1e-11
    if solver.order is None:
        findings.append(Finding("change when refined", float(first.max()), 1e-9))
    elif converging.any():
        order = np.log2(np.sqrt((first[converging] ** 2).mean() / (second[converging] ** 2).mean()))
        findings.append(Finding("order of convergence", float(order), solver.order - 0.3, True))
    fine = _fine(equation)
    if solver.laws:
        s = run("laws", fine)
        findings += [
            Finding(
                what,
                _departure(law, s if len(s) > 1 else s[equation.unknowns[0]], fine),
                law.tolerance,
            )
            for what, law in solver.laws.items()
        ]
    residual = min(_residual(equation, u, run, h) for h in (1 / 64, 1 / 512, 1 / 4096))
    # A coarse reference leaves a residual of its own; a wrong one leaves one of order one.
    findings.append(Finding("residual", residual, max(1e-2, 10 * solver.accuracy)))
    return Certificate(
        name, solver.summary, functions, tuple(findings), time.perf_counter() - start
    )


def _largest(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> np.ndarray:
    return np.asarray(np.max([relative_errors(a[name], b[name]) for name in b], axis=0))


def _fine(equation: Equation) -> dict[str, np.ndarray]:
    """Points close enough to integrate over: some 4000 places, at eleven times."""
    space = [c for c in equation.domain.coordinates if c.name != "t"]
    places = round(4000 ** (1 / len(space)))
    return {
        c.name: np.linspace(c.low, c.high, 11 if c.name == "t" else places + 1)
        for c in equation.domain.coordinates
    }


def _departure(law: Law, s: Any, points: Mapping[str, np.ndarray]) -> float:
    quantity = law.quantity(s, points)
    if law.holds == "stays":
        quantity = quantity - quantity[:, :1]
    elif law.holds == "never grows":
        quantity = np.diff(quantity, axis=1).clip(0.0)
    return float(np.abs(quantity).max())


def _residual(
    equation: Equation, u: np.ndarray, run: Callable[..., dict[str, np.ndarray]], step: float
) -> float:
    """The median residual over a few places, relative to s_t (or u)."""
    field = fields(
        equation,
        u,
        lambda points: run(f"residual, steps of 1/{1 / step:g}", points),
        {c.name: inside(c, step) for c in equation.domain.coordinates},
    )
    residual = equation.residual(**{name: field(name) for name in asked(equation.residual)})
    parts = residual if isinstance(residual, Mapping) else {"": residual}
    timed = "t" in equation.domain.names
    against = [f"{name}_t" for name in equation.unknowns] if timed else ["u"]
    scale = np.mean([np.sqrt((field(name) ** 2).mean()) for name in against])
    return float(max(np.median(np.abs(part)) for part in parts.values()) / scale)
