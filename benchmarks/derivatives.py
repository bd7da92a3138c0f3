"""What derivatives cost: loss and gradient of a PDE's residual, against the way it is usually done.

    python benchmarks/derivatives.py
    python benchmarks/derivatives.py --equation burgers --arch tf --arch modified --precision 32

The first table compares, at the same points and parameters, `pio.Loss` with a loss that takes nested
`jax.grad` of the solution at one point and maps it over points with `vmap`. Ratios are of the fastest
of several repeats, the two taken in turn. The share is the time that the matrix products of the pass
alone would take, each as fast as this machine multiplies two matrices of that shape by itself,
divided by the time of the pass. The second table shows that time per point and memory stay flat as
the batch grows. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend import core
from rich.console import Console
from rich.table import Table

import pio
from pio._fields import asked, parse


@dataclass(frozen=True)
class Unweighted:
    """Every weight one."""

    needs: frozenset[str] = frozenset()

    def init(self, rows: Any) -> None:
        del rows

    def update(self, state: Any, residuals: Any, **given: Any) -> Any:
        del given
        return {key: jnp.ones((), r.dtype) for key, r in residuals.items()}, state


@dataclass(frozen=True)
class Case:
    """An equation, a network, and points."""

    model: pio.Model
    params: Any
    batch: pio.Batch

    def loss(self, params: Any) -> tuple[jax.Array, Any]:
        """The mean squared residual and its gradient, our way."""
        ours = pio.Loss(self.model, Unweighted())
        outcome, slope = ours.value_and_grad(params, None, {"residual": self.batch})
        return outcome.loss, slope


def build(
    equation: str, arch: str, shape: tuple[int, ...], width: int, depth: int, dtype: Any
) -> Case:
    registry = pio.discover()
    pde = registry.make("equation", equation)
    embedding = pde.presets["paper"].embedding
    model = pio.Model(
        pde,
        registry.make("architecture", arch, {"width": width, "depth": depth}),
        registry.make("embedding", embedding.name, dict(embedding.options)),
    )
    keys = jax.random.split(jax.random.key(0), 1 + len(shape))
    points = {
        c.name: jax.random.uniform(k, (n,), dtype, c.low, c.high)
        for c, n, k in zip(pde.domain.coordinates, shape[1:], keys[2:], strict=True)
    }
    u = pde.inputs.sample(keys[0], shape[0]).astype(dtype)
    return Case(model, model.init(keys[1], dtype), pio.Batch.block(u, **points))


def pointwise(case: Case) -> Callable[[Any], tuple[jax.Array, Any]]:
    """The same loss by nested `jax.grad` at one point, mapped over points."""
    model, batch = case.model, case.batch
    domain, (unknown,) = model.equation.domain, model.equation.unknowns
    names = domain.names
    quantities = (unknown, "u")

    def solution(base: str) -> Callable[..., jax.Array]:
        def at(params: Any, u: jax.Array, *point: jax.Array) -> jax.Array:
            aligned = {
                n: jnp.reshape(p, (1,) * len(domain.axes))
                for n, p in zip(names, point, strict=True)
            }
            return jnp.reshape(model.solution(params, u[None], {base})(aligned)[base], ())

        return at

    def residual(params: Any, u: jax.Array, *point: jax.Array) -> jax.Array:
        values = {}
        for name in asked(model.equation.residual):
            field = parse(name, domain, quantities)
            if field.base in names:
                values[name] = point[names.index(field.base)]
                continue
            function = solution(field.base)
            for k, count in enumerate(field.orders):
                for _ in range(count):
                    function = jax.grad(function, 2 + k)
            values[name] = function(params, u, *point)
        return model.equation.residual(**values)

    grids = [jnp.broadcast_to(batch.points[n], batch.shape).ravel() for n in names]
    which = jnp.repeat(jnp.arange(len(batch.u)), math.prod(batch.shape[1:]))

    def loss(params: Any) -> jax.Array:
        r = jax.vmap(residual, (None, 0, *(0 for _ in grids)))(params, batch.u[which], *grids)
        return jnp.mean(r**2)

    return jax.value_and_grad(loss)


def products(jaxpr: Any, times: int = 1) -> Counter[tuple[int, int, int]]:
    """The matrix products of a program: how often rows × inner × columns are multiplied."""
    found: Counter[tuple[int, int, int]] = Counter()
    for eqn in jaxpr.eqns:
        repeat = times * eqn.params.get("length", 1) if eqn.primitive.name == "scan" else times
        if eqn.primitive.name == "dot_general":
            (ca, _), (ba, _) = eqn.params["dimension_numbers"]
            a, b = (v.aval.shape for v in eqn.invars)
            inner, batch = (math.prod(a[i] for i in axes) for axes in (ca, ba))
            found[math.prod(a) // inner // batch, inner, math.prod(b) // inner // batch] += (
                repeat * batch
            )
        for inner_jaxpr in core.jaxprs_in_params(eqn.params):
            found += products(inner_jaxpr, repeat)
    return found


def best(function: Callable[[], Any], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(function())
        times.append(time.perf_counter() - start)
    return min(times)


def alone(found: Counter[tuple[int, int, int]], dtype: Any) -> float:
    """How long these products take by themselves."""
    total = 0.0
    for (rows, inner, columns), count in found.items():
        a, b = jnp.ones((rows, inner), dtype), jnp.ones((inner, columns), dtype)
        loops = max(1, min(200, int(2e9 / (2 * rows * inner * columns))))

        # Each product depends on the last, or the loop would be left out.
        def again(_: Any, pair: Any) -> Any:
            a, b = pair
            return a.at[0, 0].add(1e-30 * (a @ b)[0, 0]), b

        run = jax.jit(partial(jax.lax.fori_loop, 0, loops, again)).lower((a, b)).compile()
        repeat = partial(run, (a, b))
        jax.block_until_ready(repeat())
        total += count * best(repeat, 5) / loops
    return total


@dataclass(frozen=True)
class Cost:
    """A compiled loss and gradient, and what is known of it before it runs."""

    run: Callable[[], Any]
    memory: int
    products: Counter[tuple[int, int, int]]

    @property
    def flops(self) -> int:
        return sum(2 * math.prod(shape) * count for shape, count in self.products.items())


def compiled(function: Callable[[Any], Any], params: Any) -> Cost:
    traced = jax.jit(function).trace(params)
    program = traced.lower().compile()
    analysis = program.memory_analysis()
    return Cost(lambda: program(params), analysis.temp_size_in_bytes, products(traced.jaxpr.jaxpr))


def difference(a: Any, b: Any) -> float:
    """Relative distance of two gradients."""
    leaves = [(x - y, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)]
    apart, size = (math.sqrt(sum(float(jnp.sum(pair[k] ** 2)) for pair in leaves)) for k in (0, 1))
    return apart / size


def megabytes(size: float) -> str:
    return f"{size / 1e6:,.0f}"


def against_nesting(options: argparse.Namespace, console: Console) -> None:
    functions, *points = options.shape
    title = (
        f"{functions} functions × {' × '.join(map(str, points))} points, width {options.width}, "
        f"{options.depth} hidden layers, float{options.precision}"
    )
    table = Table(title=title, title_justify="left")
    heads = "equation arch|nested grad s|pio s|ratio|GFLOP/s|share of products|nested MB|pio MB|gradients differ"
    for head in heads.split("|"):
        table.add_column(head, justify="left" if head.startswith("equation") else "right")
    for equation in options.equation:
        for arch in options.arch:
            try:
                case = build(
                    equation, arch, options.shape, options.width, options.depth, options.dtype
                )
            except pio.PioError as refusal:
                console.print(f"[dim]{equation} {arch}: {refusal}[/dim]")
                continue
            ours, theirs = compiled(case.loss, case.params), compiled(pointwise(case), case.params)
            apart = difference(ours.run()[1], theirs.run()[1])
            pairs = [(best(ours.run, 3), best(theirs.run, 1)) for _ in range(options.repeats)]
            seconds, nested = (min(pair[k] for pair in pairs) for k in (0, 1))
            table.add_row(
                f"{equation} {arch}",
                f"{nested:.3f}",
                f"{seconds:.4f}",
                f"{nested / seconds:.1f}",
                f"{ours.flops / seconds / 1e9:.0f}",
                f"{alone(ours.products, options.dtype) / seconds:.0%}",
                megabytes(theirs.memory),
                megabytes(ours.memory),
                f"{apart:.0e}",
            )
    console.print(table)


def as_batches_grow(options: argparse.Namespace, console: Console) -> None:
    table = Table(title=f"{options.equation[0]}, as the batch grows", title_justify="left")
    for head in ("arch", "points", "s", "µs per point", "temporary MB"):
        table.add_column(head, justify="left" if head == "arch" else "right")
    _, *points = options.shape
    per_function = math.prod(points)
    for arch in options.arch:
        size = 1024
        while size <= options.largest:
            shape = (max(1, size // per_function), *points)
            try:
                case = build(
                    options.equation[0], arch, shape, options.width, options.depth, options.dtype
                )
            except pio.PioError:
                break
            cost = compiled(case.loss, case.params)
            cost.run()
            seconds = best(cost.run, options.repeats)
            count = math.prod(shape)
            table.add_row(
                arch,
                f"{count:,}",
                f"{seconds:.4f}",
                f"{seconds / count * 1e6:.2f}",
                megabytes(cost.memory),
            )
            size *= 4
        table.add_section()
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--equation", action="append", help="default: kdv; give several times for more"
    )
    parser.add_argument("--arch", action="append", help="default: every one that is registered")
    parser.add_argument(
        "--shape", type=int, nargs="+", default=[64, 16, 16], help="functions, then points"
    )
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--depth", type=int, default=6)
    parser.add_argument("--precision", type=int, choices=(32, 64), default=64)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--largest",
        type=int,
        default=262_144,
        help="points of the largest batch of the second table",
    )
    options = parser.parse_args()
    options.equation = options.equation or ["kdv"]
    options.arch = options.arch or list(pio.discover().of("architecture"))
    jax.config.update("jax_enable_x64", options.precision == 64)
    options.dtype = jnp.float64 if options.precision == 64 else jnp.float32
    console = Console(width=150)
    against_nesting(options, console)
    as_batches_grow(options, console)


if __name__ == "__main__":
    main()
