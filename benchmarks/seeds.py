"""Whether several seeds train faster together: one vmapped loss-and-gradient, or one after another.

    python benchmarks/seeds.py [--equation E] [--arch A] [--seeds N] [--repeats N]

The loss and gradient of a step at the sizes of the `fast` preset, in its precision, with a batch and parameters of
each seed's own. `together` maps one program over all seeds at once; `in turn` calls one program for each. They take
turns, and each time is a median of so many. The ratio is of wall time; the one of CPU time is beside it, for a
machine that others use as well.
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--equation", default="diffusion-reaction")
    parser.add_argument("--arch", default="tl")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=9)
    given = parser.parse_args()
    registry = pio.discover()
    flags = {"equation.name": given.equation, "arch.name": given.arch, "preset": "fast"}
    trainer = pio.Trainer.of(pio.resolve(registry, flags=flags), registry)
    with trainer.precision:
        states = [trainer.reseeded(seed) for seed in range(given.seeds)]
        params = [s.init().params for s in states]
        sources = [s.sampler.source(s.config.train.seed) for s in states]
        weighting = trainer.loss.weighting.init(trainer.sampler.rows)

        def step(params: Any, source: Any) -> Any:
            batches, rows = trainer.sampler.draw(source, jnp.zeros((), jnp.int32))
            return trainer.loss.value_and_grad(params, weighting, batches, 0, rows)[1]

        alone = jax.jit(step)
        together = jax.jit(jax.vmap(step))
        stacked = [jax.tree.map(lambda *a: jnp.stack(a), *trees) for trees in (params, sources)]
        ways = {
            "in turn": lambda: [alone(p, s) for p, s in zip(params, sources, strict=True)],
            "together": lambda: together(*stacked),
        }
        wall, cpu = measure(ways, given.repeats)
    print(
        f"{given.equation} {given.arch}, {given.seeds} seeds, {trainer.sampler.points} points each"
    )
    print(f"{'':10}{'seconds':>10}{'of CPU':>10}")
    for name in ways:
        print(f"{name:10}{wall[name]:10.4f}{cpu[name]:10.4f}")
    ratios = (f"{times['in turn'] / times['together']:10.2f}" for times in (wall, cpu))
    print(f"{'gain':10}{''.join(ratios)}")


def measure(
    ways: dict[str, Callable[[], Any]], repeats: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Medians of wall and of CPU seconds of each way, which take turns."""
    wall: dict[str, list[float]] = {name: [] for name in ways}
    cpu: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(repeats + 1):
        for name, way in ways.items():
            begun = time.perf_counter(), time.process_time()
            jax.block_until_ready(way())
            if turn:  # the first compiles
                wall[name].append(time.perf_counter() - begun[0])
                cpu[name].append(time.process_time() - begun[1])
    medians = ({n: statistics.median(t) for n, t in times.items()} for times in (wall, cpu))
    return next(medians), next(medians)


if __name__ == "__main__":
    main()
