"""What one iteration of each architecture costs beside the modified DeepONet, and what was published.

    python benchmarks/variants.py [--quick] [--equation NAME]… [--repeats N]

An iteration is the loss, with the equation's residual and the conditions its embedding leaves, and its
gradient, in double precision, at the sizes of the equation's `paper` preset:

- `pairs`: 10 000 random pairs of a function and a point (16 384 for kdv), as published;
- `block`: 64 functions × 16 places × 16 times.

Architectures take turns, so that what else the machine does falls on all of them; each ratio is one of
medians of CPU seconds within this run. `--quick` takes 1000 pairs and 8 functions. Published ratios
are those of training on a GPU, per equation, from the tables of Wei, Chen and Stinis (2025).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import pio

PUBLISHED: dict[str, dict[str, float]] = {
    "advection": {"vanilla": 0.492, "bx": 0.534, "tl": 0.508, "bxtl": 0.552, "bxtg": 0.559},
    "diffusion-reaction": {"vanilla": 0.560, "bx": 0.690, "tl": 0.581, "bxtl": 0.794, "bxtg": 0.677},
    "burgers": {"vanilla": 0.452, "bx": 0.584, "tl": 0.464, "bxtl": 0.622, "bxtg": 0.627, "tf": 0.458, "bxtf": 0.606},
    "kdv": {"vanilla": 0.274, "bx": 0.451, "tl": 0.287, "bxtl": 0.478, "bxtg": 0.392, "tf": 0.308, "bxtf": 0.456},
}  # fmt: skip


def batches(loss: pio.Loss, functions: int, points: int | None) -> dict[str, pio.Batch]:
    """Random points for each term: `points` per coordinate, or pairs."""
    equation = loss.model.equation
    coordinates = equation.domain.coordinates
    found = {}
    for k, name in enumerate(loss.terms):
        u_key, *keys = jax.random.split(jax.random.key(k), 1 + len(coordinates))
        u = equation.inputs.sample(u_key, functions)
        shape = (functions if points is None else points,)
        places = {
            c.name: jax.random.uniform(key, shape, minval=c.low, maxval=c.high)
            for c, key in zip(coordinates, keys, strict=True)
        }
        found[name] = (pio.Batch.pairs if points is None else pio.Batch.block)(u, **places)
    return found


def step(model: pio.Model, weighting: Any, functions: int, points: int | None) -> Callable[[], Any]:
    """A compiled loss and gradient, called once."""
    loss = pio.Loss(model, weighting)
    params = model.init(jax.random.key(0))
    drawn = batches(loss, functions, points)
    rows = {name: batch.shape[0] for name, batch in drawn.items()}
    table = {name: jnp.arange(n).reshape(-1, 1, 1) for name, n in rows.items()}
    state = weighting.init(rows)
    compiled = jax.jit(lambda p, s, b: loss.value_and_grad(p, s, b, rows=table))
    jax.block_until_ready(compiled(params, state, drawn))
    return lambda: jax.block_until_ready(compiled(params, state, drawn))


def seconds(steps: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The median CPU time of each, taken in turns."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(repeats):
        for name, run in steps.items():
            start = time.process_time()
            run()
            times[name].append(time.process_time() - start)
    return {name: statistics.median(t) for name, t in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small batches, for a look")
    parser.add_argument("--equation", action="append", choices=sorted(PUBLISHED))
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    registry = pio.discover()
    for name in given.equation or PUBLISHED:
        equation = registry.make("equation", name)
        recipe = equation.presets["paper"]
        embedding = registry.make("embedding", *recipe.embedding)
        weighting = registry.make("weighting", "fixed")
        layouts = {"pairs": (recipe.sampling.batch, None), "block": (64, 16)}
        if given.quick:
            layouts = {"pairs": (1000, None), "block": (8, 16)}
        print(f"\n{name}{'':{22 - len(name)}}published", end="")
        found = {}
        for layout, (functions, points) in layouts.items():
            steps = {
                variant: step(
                    pio.Model(
                        equation,
                        registry.make("architecture", variant, dict(recipe.architecture)),
                        embedding,
                    ),
                    weighting,
                    functions,
                    points,
                )
                for variant in (*PUBLISHED[name], "modified")
            }
            found[layout] = seconds(steps, given.repeats)
            print(f"{layout:>10}{'seconds':>10}", end="", flush=True)
        print()
        for variant in found["pairs"]:
            row = f"  {variant:20}{PUBLISHED[name].get(variant, 1.0):9.3f}"
            for times in found.values():
                row += f"{times[variant] / times['modified']:10.3f}{times[variant]:10.4f}"
            print(row)


if __name__ == "__main__":
    main()
