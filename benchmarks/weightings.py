"""What one iteration costs with each weighting, beside fixed weights: bxtg on Burgers' equation.

    python benchmarks/weightings.py [--quick] [--repeats N] [--only NAME]…

An iteration is the loss and its gradient, in double precision, at the sizes of the `paper` preset
(10 000 pairs of a function and a point) and at a block of 64 functions × 16 places × 16 times. Weightings take turns;
each ratio is one of medians of CPU seconds within this run. `balanced` measures gradients at every
step here, and otherwise at every hundredth. The tangent kernel takes a gradient per point: it is measured on a tenth of the
points, beside fixed weights on the same.
"""

from __future__ import annotations

import argparse

import jax
from variants import seconds, step

import pio

LAYOUTS = {"pairs": (10_000, None), "block": (64, 16)}
QUICK = {"pairs": (1000, None), "block": (8, 16)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small batches, for a look")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", action="append")
    given = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    registry = pio.discover()
    equation = registry.make("equation", "burgers")
    recipe = equation.presets["paper"]
    model = pio.Model(
        equation,
        registry.make("architecture", "bxtg", dict(recipe.architecture)),
        registry.make("embedding", *recipe.embedding),
    )
    names = given.only or ["ck", "brdr", "balanced", "causal", "ntk"]
    print(f"{'':12}{'layout':>8}{'seconds':>10}{'fixed':>10}{'ratio':>8}")
    for layout, (functions, points) in (QUICK if given.quick else LAYOUTS).items():
        # A block has no rows of a frozen table.
        fitting = [n for n in names if layout == "pairs" or n != "brdr"]
        for group, share in (
            ([n for n in fitting if n != "ntk"], 1),
            ([n for n in fitting if n == "ntk"], 10),
        ):
            if not group:
                continue
            few = max(1, functions // share)
            options = {"balanced": {"cadence": 1}}
            steps = {
                name: step(model, registry.make("weighting", name, options.get(name)), few, points)
                for name in ("fixed", *group)
            }
            times = seconds(steps, given.repeats)
            for name in group:
                ratio = times[name] / times["fixed"]
                print(
                    f"{name:12}{layout:>8}{times[name]:10.4f}{times['fixed']:10.4f}{ratio:8.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
