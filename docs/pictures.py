"""Draw the picture of the start page: `python docs/pictures.py`, some minutes.

It trains Burgers with `tf` for 6000 steps of the default recipe, unless `runs/picture` holds that run already,
and shows two of 100 test functions that training never saw: the largest, whose waves are the steepest, and the one
of median error.

`python docs/pictures.py FIGURE.png NAME` keeps a figure that `pio evaluate` drew as `_static/NAME.png`.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import pio
from pio._figures import panels

HERE = Path(__file__).parent
RUN = HERE.parent / "runs" / "picture"


def start() -> None:
    if not RUN.exists():
        pio.train("burgers", "tf", steps=6000, out=RUN)
    run = pio.load_run(RUN)
    test = pio.solutions(run.equation, 100, seed=1)
    errors = pio.prediction_errors(run.model, run.params, test)
    chosen = [np.abs(test.u).max(1).argmax(), errors.argsort()[len(errors) // 2]]
    s = pio.predict(run.model, run.params, test.u[chosen], test.points)["s"]
    minutes = run.status["seconds"] / 60
    title = f"Burgers, ν = 0.01, learned from the equation alone in {minutes:.0f} min on two cores"
    figure = panels(
        run.equation, test.u[chosen], test.s["s"][chosen], s, test.points, errors[chosen], title
    )
    file = io.BytesIO()
    figure.savefig(file, dpi=110)
    keep(file, "start")
    print(f"mean {errors.mean():.2%}, median {np.median(errors):.2%}, shown {errors[chosen]}")


def keep(file: Any, name: str, width: int = 1155) -> None:
    """Not wider than the page needs, and in 256 colours: a third as large."""
    image = Image.open(file).convert("RGB")
    if image.width > width:
        image = image.resize((width, round(image.height * width / image.width)), Image.LANCZOS)
    image.quantize(256).save(HERE / "_static" / f"{name}.png", optimize=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        keep(*sys.argv[1:])
    else:
        start()
