"""Figures of a run: its curves, its errors, and some predictions beside the truth."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pio._equation import Equation
from pio._errors import PioError
from pio._space import read

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT = "#22303c", "#c9d1d9"
# Okabe and Ito's colours, which all eyes can tell apart; yellow, too pale for a line, is left out.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")


def curves(records: Sequence[Mapping[str, Any]], title: str = "") -> Figure:
    """The loss by term and the test error over the steps, from the records of a run."""
    if not records:
        raise PioError("the run has no records yet, so there are no curves to draw.")
    with house_figure((9.0, 3.6), title) as figure:
        left, right = figure.subplots(1, 2)
        names = list(dict.fromkeys(name for r in records for name in r.get("squares", {})))
        for name, colour in zip(names, _cycle(len(names)), strict=True):
            _line(left, records, lambda r, name=name: r.get("squares", {}).get(name), colour, name)
        if len(names) != 1:  # the loss of a single unweighted term would hide it
            _line(left, records, lambda r: r.get("loss"), INK, "weighted loss", lw=1.0, ls="--")
        left.set(ylabel="mean square")
        measured = [r for r in records if r.get("error") is not None]
        if measured:
            marker = "o" if len(measured) < 30 else None
            _line(right, measured, lambda r: r.get("error"), COLOURS[0], "mean", marker=marker)
            if any(r.get("median") is not None for r in measured):
                _line(
                    right, measured, lambda r: r.get("median"), COLOURS[1], "median", marker=marker
                )
        else:
            right.text(
                0.5, 0.5, "not measured", ha="center", va="center", transform=right.transAxes
            )
            right.set(xticks=[], yticks=[])
        right.set(ylabel="relative L2 error on test functions")
        for panel in (left, right):
            panel.set(xlabel="step")
            if panel.lines:
                panel.set_yscale("log")
                panel.legend(frameon=False)
        if measured:
            right.yaxis.set_major_formatter(percent)
            right.yaxis.set_minor_formatter(percent_between(right))
    return figure


def distribution(errors: Mapping[str, np.ndarray], title: str = "") -> Figure:
    """The share of test functions with at most some error, against each reference."""
    with house_figure((5.0, 3.6), title) as figure:
        panel = figure.subplots()
        for (name, values), colour in zip(errors.items(), _cycle(len(errors)), strict=True):
            steps = np.sort(values)
            share = np.arange(1, len(steps) + 1) / len(steps)
            label = f"against {name}: median {np.median(values):.2%}, mean {values.mean():.2%}"
            panel.step(
                np.append(steps[:1], steps), np.append(0.0, share), where="post", color=colour
            )
            # Dashed over the first, which may lie just below.
            panel.lines[-1].set(label=label, linestyle="--" if len(panel.lines) > 1 else "-")
        panel.set(xscale="log", xlabel="relative L2 error", ylabel="share of test functions")
        panel.set_ylim(0, 1.02)
        panel.xaxis.set_major_formatter(percent)
        panel.xaxis.set_minor_formatter(percent_between(panel, "x"))
        panel.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        figure.legend(loc="outside lower center", frameon=False)
    return figure


def panels(
    equation: Equation,
    u: np.ndarray,
    truth: np.ndarray,
    predicted: np.ndarray,
    points: Mapping[str, np.ndarray],
    errors: np.ndarray,
    title: str = "",
    names: Sequence[str] = (),
) -> Figure:
    """A row a function: u, the reference, the prediction, and their difference.

    For equations in one space coordinate and time. `names` say whose prediction a row has, if not all are
    of one model; their differences then have one scale.
    """
    if not drawable(equation):
        raise PioError("only equations in one space coordinate and t, with u(x), are drawn so far.")
    space = equation.inputs.coordinates
    x, t = points[space[0]], points["t"]
    fine = np.linspace(x[0], x[-1], 400)
    inputs = read(equation.inputs, u, fine)
    rows = len(u)
    differences = predicted - truth
    with house_figure((10.5, 2.3 * rows + 0.9), title) as figure:
        axes = figure.subplots(rows, 4, sharex=True, squeeze=False)
        for i, (first, *maps) in enumerate(axes):
            first.plot(fine, inputs[i], color=COLOURS[1], lw=1.6)
            first.set(ylabel=f"u({space[0]})", xlim=(x[0], x[-1]))
            said = f"{names[i]}: error {errors[i]:.2%}" if names else f"error {errors[i]:.2%}"
            first.text(0.02, 1.02, said, transform=first.transAxes, va="bottom")
            bound = float(np.abs(truth[i]).max()) or 1.0
            signed = truth[i].min() < -0.02 * bound
            low, high = (-bound, bound) if signed else (min(0.0, truth[i].min()), bound)
            plain = "RdBu_r" if signed else "viridis"
            difference = differences[i]
            most = float(np.abs(differences if names else difference).max()) or 1.0
            shown = (
                (truth[i], plain, low, high),
                (predicted[i], plain, low, high),
                (difference, "PuOr_r", -most, most),
            )
            for k, (panel, (values, cmap, vmin, vmax)) in enumerate(zip(maps, shown, strict=True)):
                image = panel.pcolormesh(
                    x,
                    t,
                    values.T,
                    cmap=cmap,
                    vmin=vmin,
                    vmax=vmax,
                    shading="gouraud",
                    rasterized=True,
                )
                if k == 0:
                    panel.set_ylabel("t", rotation=0)
                else:
                    panel.tick_params(labelleft=False)
                    bar = figure.colorbar(
                        image, ax=maps[:2] if k == 1 else panel, pad=0.02, aspect=16
                    )
                    bar.outline.set_visible(False)
                    bar.ax.ticklabel_format(axis="y", scilimits=(-2, 3))
            if i == 0:
                heads = ("input", "reference", "prediction", "prediction − reference")
                for panel, name in zip((first, *maps), heads, strict=True):
                    panel.set_title(name, fontsize=9, pad=16 if panel is first else 6)
        for panel in axes[-1]:
            panel.set_xlabel(space[0])
            panel.locator_params(axis="x", nbins=3)  # so that neighbours' end labels do not touch
    return figure


def drawable(equation: Equation) -> bool:
    """Whether `panels` can draw it: one space coordinate, of which u is a function, and time."""
    names = equation.domain.names
    space = tuple(name for name in names if name != "t")
    return len(space) == 1 and "t" in names and tuple(equation.inputs.coordinates) == space


def save(figure: Figure, path: str | PathLike[str]) -> Path:
    """Write a figure, whole or not at all; the name says the format."""
    path = Path(path)
    part = path.with_name(f".{path.name}.part")
    form = path.suffix.removeprefix(".") or "png"
    # The same figure is the same file.
    undated: dict[str, Any] = {"metadata": {"Date": None}} if form == "svg" else {}
    from matplotlib import rc_context

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with rc_context({"svg.hashsalt": "pio"}):
            figure.savefig(part, dpi=150, format=form, **undated)
        part.replace(path)
    except (OSError, ValueError) as error:
        raise PioError(f"cannot draw to {path}: {error}.") from error
    finally:
        part.unlink(missing_ok=True)
    return path


# ---------------------------------------------------------------------------------------------
# Style


@contextlib.contextmanager
def house_figure(size: tuple[float, float], title: str) -> Iterator[Figure]:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    style: dict[Any, Any] = {
        "font.size": 9,
        "font.family": "sans-serif",
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": FAINT,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": False,
    }
    with rc_context(style):
        figure = Figure(figsize=size, layout="constrained")
        if title:
            figure.suptitle(
                title, fontsize=11, fontweight="bold", x=0.01, ha="left", parse_math=False
            )
        yield figure


def _cycle(count: int) -> list[str]:
    return [COLOURS[k % len(COLOURS)] for k in range(count)]


def _line(panel: Axes, records: Any, value: Any, colour: str, label: str, **style: Any) -> None:
    found = [(r["step"], value(r)) for r in records]
    found = [(step, v) for step, v in found if v is not None and np.isfinite(v) and v > 0]
    if found:
        steps, values = zip(*found, strict=True)
        panel.plot(steps, values, color=colour, label=label, **{"lw": 1.5, "ms": 3.5, **style})


def percent(value: float, position: Any = None) -> str:
    del position
    return f"{100 * value:g} %"


_LABELLED = ((2, 3, 4, 5, 7), (2, 5), (3,), ())


def percent_between(panel: Axes, axis: str = "y") -> Any:
    """Labels between decades, the more the fewer decades are shown."""

    def label(value: float, position: Any = None) -> str:
        low, high = panel.get_ylim() if axis == "y" else panel.get_xlim()
        leading = round(value / 10 ** np.floor(np.log10(value)))
        decades = np.log10(high / low)
        wanted = _LABELLED[next((k for k, most in enumerate((0.8, 2, 3)) if decades < most), 3)]
        return percent(float(f"{value:.3g}"), position) if leading in wanted else ""

    return label
