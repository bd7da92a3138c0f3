"""The `fast` preset against the published recipe, on the same engine and for the same time.

    python benchmarks/recipes.py [--equation E --arch A] [--seconds N] [--out DIR]

Trains one architecture three times for the same seconds: with `fast`; with `fast` but AdamW in place of SOAP; and with
`paper` (AdamW, soft conditions, frozen tables of random pairs, its weighting and 64 bits), whose learning rate decays per
step as published. Prints the test error as they go on, and draws the curves to DIR/recipes.png. Seconds are of training alone.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from rich.console import Console
from rich.table import Table

import pio

MARKS = (0.1, 0.25, 0.5, 0.75, 1.0)
RECIPES = {"fast": ("fast", None), "fast, adamw": ("fast", "adamw"), "paper": ("paper", None)}


def curve(
    equation: str, arch: str, recipe: str, seconds: float, out: Path
) -> list[tuple[float, float]]:
    """Seconds of training and mean test error, as a run goes on."""
    preset, optimizer = RECIPES[recipe]
    run = pio.train(
        equation,
        arch,
        preset=preset,
        optimizer=optimizer,
        seconds=seconds,
        settings={"train.evaluations": 40, "train.test_functions": 100},
        out=out / recipe.replace(", ", "-"),
    )
    return [(r["seconds"], r["error"]) for r in run.metrics() if r.get("error") is not None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--equation", default="diffusion-reaction")
    parser.add_argument("--arch", default="tl")
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    out = given.out or Path(tempfile.mkdtemp())
    curves = {
        recipe: curve(given.equation, given.arch, recipe, given.seconds, out) for recipe in RECIPES
    }
    table = Table(title=f"{given.equation} {given.arch}: mean test error", title_justify="left")
    table.add_column("seconds", justify="right")
    for recipe in curves:
        table.add_column(recipe, justify="right")
    for mark in MARKS:
        until = mark * given.seconds
        best = {p: [e for s, e in c if s <= 1.05 * until] for p, c in curves.items()}
        table.add_row(f"{until:.0f}", *(f"{e[-1]:.2%}" if e else "–" for e in best.values()))
    Console().print(table)
    for recipe, points in curves.items():
        plt.semilogy(*zip(*points, strict=True), label=recipe)
    plt.xlabel("seconds of training")
    plt.ylabel("mean relative L2 error")
    plt.legend()
    plt.savefig(out / "recipes.png", dpi=150)
    Console().print(f"curves: {out / 'recipes.png'}")


if __name__ == "__main__":
    main()
