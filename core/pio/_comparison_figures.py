"""Figures of a comparison: errors beside times, over time, as distributions, and as pictures."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import stats

from pio._certificate import relative_errors
from pio._compare import Comparison
from pio._errors_file import fingerprint, read_errors
from pio._evaluate import predict
from pio._figures import COLOURS, FAINT, INK, drawable, house_figure, panels, percent
from pio._figures import percent_between as between
from pio._numbers import digits, duration
from pio._solutions import inputs_of_testset
from pio._solve import solve
from pio._variant import Variant

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Told apart without colour, too. The baseline is a star, as it is in the paper.
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "<", ">", "p", "h")
LINES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))


def looks(comparison: Comparison) -> dict[str, dict[str, Any]]:
    """A colour, a marker and a line for each variant, the same in every figure."""
    found = {
        v.label: {
            "color": COLOURS[k % len(COLOURS)],
            "marker": MARKERS[k % len(MARKERS)],
            # With every second round of colours the lines move on by one, so that no pair comes twice.
            "linestyle": LINES[(k + k // 12) % len(LINES)],
        }
        for k, v in enumerate(comparison.others)
    }
    found[comparison.baseline.label] = {"color": INK, "marker": "*", "linestyle": "-"}
    return found


def times(comparison: Comparison) -> Figure:
    """The mean error over the time of a step, relative to the baseline's; published ones are hollow."""
    base = comparison.baseline
    labels = [_wrapped(v.label) for v in comparison.variants]
    size = (6.6, 3.7 + _legend_height(labels))
    with house_figure(size, f"{comparison.title}: error and time per step") as figure:
        panel = figure.subplots()
        for v in comparison.variants:
            look = looks(comparison)[v.label]
            large = 13 if v is base else 7.5
            place = (comparison.ratio(v), v.mean)
            if v.spread:
                low = min(v.spread, 0.9 * v.mean)  # a log axis has no room for less than nothing
                panel.errorbar(
                    *place, yerr=[[low], [v.spread]], color=look["color"], lw=1, capsize=2
                )
            style = {"marker": look["marker"], "ms": large, "ls": "", "color": look["color"]}
            panel.plot(*place, label=_wrapped(v.label), zorder=3, **style)
            theirs = _published_place(v, base)
            if theirs is not None:
                panel.plot(*theirs, **style, mfc="none", zorder=2)
        if any(_published_place(v, base) for v in comparison.variants):
            panel.plot([], [], "o", color=INK, mfc="none", ls="", label="hollow: published")
        if any(v.spread for v in comparison.variants):
            panel.errorbar([], [], yerr=[], color=INK, lw=1, capsize=2, label="bar: std over seeds")
        panel.set(
            xlabel=_wrapped(f"time per step / that of {base.label}"),
            ylabel=_wrapped(f"mean relative L2 error against {comparison.reference}", 44),
        )
        panel.axvline(1.0, color=FAINT, lw=1, zorder=0)
        panel.margins(x=0.12, y=0.15)
        panel.set_xlim(left=max(0.0, panel.get_xlim()[0]))
        places = [_published_place(v, base) for v in comparison.variants]
        _percent_axis(
            panel, "y", [*(v.mean for v in comparison.variants), *(p[1] for p in places if p)]
        )
        _legend(figure, labels)
    return figure


def _published_place(v: Variant, base: Variant) -> tuple[float, float] | None:
    mine, theirs = v.published, base.published
    if mine is None or theirs is None or None in (mine.mean, mine.seconds, theirs.seconds):
        return None
    return float(mine.seconds / theirs.seconds), float(mine.mean)  # type: ignore[operator, arg-type]


def progress(comparison: Comparison) -> Figure:
    """The test error over the time of training, with when each had the baseline's final error.

    A line is the typical run of a variant; the others' are thin.
    """
    base = comparison.baseline
    labels = [_wrapped(_said(comparison, v), 40) for v in comparison.variants]
    size = (7.6, 3.8 + _legend_height(labels))
    with house_figure(size, f"{comparison.title}: error and time of training") as figure:
        panel = figure.subplots()
        goal = base.curve.errors[-1:]
        latest = max(c.seconds.max(initial=0) for v in comparison.variants for c in v.curves)
        unit, per = ("min", 60.0) if latest > 180 else ("s", 1.0)
        seen: list[float] = []
        for k, (v, label) in enumerate(zip(comparison.variants, labels, strict=True)):
            look = looks(comparison)[v.label]
            plain = {"color": look["color"], "linestyle": look["linestyle"]}
            # Marks tell lines apart for those who see no colours. Each begins elsewhere, so as not to cover another.
            marks = {} if v is base else {"marker": look["marker"], "ms": 4.5}
            for curve in v.curves:
                seen += curve.errors.tolist()
                if curve is not v.curve:
                    panel.plot(curve.seconds / per, curve.errors, lw=0.7, alpha=0.35, **plain)
            every = max(1, len(v.curve.seconds) // 5)
            some = {**marks, "markevery": (k % every, every)} if marks else {}
            panel.plot(v.curve.seconds / per, v.curve.errors, lw=1.7, **plain, **some)
            reached = comparison.reaches(v)
            if reached is not None and v is not base:
                panel.plot(
                    reached / per,
                    v.curve.errors[v.curve.seconds >= reached][0],
                    marker=look["marker"],
                    color=look["color"],
                    ms=9,
                    mec="white",
                    zorder=4,
                )
            panel.plot([], [], label=label, lw=1.7, **plain, **marks)
        if len(goal):
            end = float(base.curve.seconds[-1])
            panel.axhline(goal[0], color=INK, lw=0.9, ls=":", zorder=0)
            panel.plot(end / per, goal[0], marker="*", color=INK, ms=12, mec="white", zorder=4)
        panel.set(
            xlabel=f"time of training ({unit})",
            ylabel=_wrapped(f"mean relative L2 error against {comparison.truth}", 44),
            xlim=(0, None),
        )
        _percent_axis(panel, "y", seen)
        title = f"time to {base.label}’s final error" + (f", {goal[0]:.2%}" if len(goal) else "")
        _legend(figure, labels, title)
    return figure


# Below the axes, where it is seen on a phone too and has room for many.


def _legend(figure: Figure, labels: Sequence[str], title: str | None = None) -> None:
    figure.legend(
        loc="outside lower left",
        frameon=False,
        ncols=_columns(labels),
        labelspacing=0.6,
        title=None if title is None else _wrapped(title, 60),
        alignment="left",
    )


def _columns(labels: Sequence[str]) -> int:
    longest = max(len(line) for label in labels for line in label.splitlines())
    return 2 if longest > 20 else 3


def _legend_height(labels: Sequence[str]) -> float:
    """The inches that a legend takes, with its title and two lines more that it may have."""
    rows = -(-(len(labels) + 2) // _columns(labels))
    lines = max(label.count("\n") + 1 for label in labels)
    return 0.4 + 0.2 * rows * lines


def _said(comparison: Comparison, v: Variant) -> str:
    """When a variant had the baseline's final error."""
    seconds = v.curve.seconds
    if not len(seconds):
        return f"{v.label}: not measured on the way"
    if v is comparison.baseline:
        return f"{v.label}: {_time(seconds[-1])}"
    reached, end = comparison.reaches(v), comparison.baseline.curve.seconds[-1:]
    if reached is None:
        return f"{v.label}: not within {_time(seconds[-1])}"
    faster = f" ({digits(end[0] / reached, 2)}× sooner)" if len(end) and reached < end[0] else ""
    return f"{v.label}: {_time(reached)}{faster}"


def violins(comparison: Comparison) -> Figure:
    """The distribution of the errors of all functions and seeds: quartiles as a bar, the median as a dot."""
    count = len(comparison.variants)
    with house_figure(
        (7.6, 1.3 + 0.55 * count), f"{comparison.title}: errors of the test functions"
    ) as figure:
        panel = figure.subplots()
        theirs = False
        for place, v in enumerate(reversed(comparison.variants)):
            look = looks(comparison)[v.label]
            errors = v.errors[v.errors > 0]
            if shape := _density(errors):
                panel.fill_between(
                    shape[0],
                    place - 0.42 * shape[1],
                    place + 0.42 * shape[1],
                    color=look["color"],
                    alpha=0.35,
                    lw=0.8,
                )
            q1, median, q3 = v.quartiles
            panel.plot([q1, q3], [place, place], color=look["color"], lw=4, solid_capstyle="butt")
            panel.plot(median, place, "o", color="white", mec=INK, ms=6, zorder=4)
            known = v.published
            if known is not None and known.median is not None:
                theirs = True
                if known.q1 is not None and known.q3 is not None:
                    panel.plot([known.q1, known.q3], [place - 0.3] * 2, color=INK, lw=1.2)
                panel.plot(known.median, place - 0.3, "D", color="white", mec=INK, ms=4.5, zorder=4)
        labels = [_wrapped(v.label) for v in reversed(comparison.variants)]
        panel.set_yticks(range(count), labels)
        panel.tick_params(axis="y", length=0)
        panel.spines["left"].set_visible(False)
        panel.set(xlabel="relative L2 error", ylim=(-0.6, count - 0.4))
        _percent_axis(panel, "x", np.concatenate([v.errors.ravel() for v in comparison.variants]))
        panel.plot([], [], "o", color="white", mec=INK, ms=6, label="median")
        panel.plot([], [], color=INK, lw=4, label="first to third quartile")
        if theirs:
            panel.plot(
                [], [], "D-", color=INK, mfc="white", ms=4.5, lw=1.2, label="the same, published"
            )
        figure.legend(loc="outside lower right", frameon=False, ncols=3)
    return figure


def _density(errors: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Where a violin is how wide: a kernel density of the logarithms, at most 1. None where there is no spread."""
    logs = np.log(errors)
    if len(logs) < 3 or np.ptp(logs) < 1e-9:
        return None
    grid = np.linspace(logs.min(), logs.max(), 200)
    density = stats.gaussian_kde(logs)(grid)
    return np.exp(grid), density / density.max()


def pictures(comparison: Comparison) -> Figure | None:
    """Reference, prediction and difference on the function of median error, of the best variant and the baseline.

    None where that cannot be drawn: in more space coordinates than one, or if the test functions are no longer
    those that the errors were measured on.
    """
    equation = comparison.baseline.typical.equation
    if not drawable(equation):
        return None
    u = inputs_of_testset(equation, comparison.functions, comparison.seed)
    points = {name: np.asarray(equation.grid[name], float) for name in equation.domain.names}
    if fingerprint(u, points) != read_errors(comparison.baseline.typical.path).fingerprint:
        return None
    order = comparison.baseline.averaged.argsort(kind="stable")
    one = u[[int(order[len(order) // 2])]]
    truth = solve(equation, one, points, reference=comparison.reference)
    unknown = equation.unknowns[0]
    truth = truth[unknown] if isinstance(truth, dict) else truth
    shown = (comparison.best, comparison.baseline)
    predicted = np.concatenate(
        [predict(v.typical.model, v.typical.params, one, points)[unknown] for v in shown]
    )
    twice = np.repeat(truth, 2, 0)
    return panels(
        equation,
        np.repeat(one, 2, 0),
        twice,
        predicted,
        points,
        relative_errors(predicted, twice),
        f"{comparison.title}: the test function on which {comparison.baseline.label} has its median error",
        [v.label for v in shown],
    )


# ---------------------------------------------------------------------------------------------
# Style


def _percent_axis(panel: Axes, axis: Literal["x", "y"], values: Any) -> None:
    """Errors in per cent; on a log scale unless they are all much alike."""
    found = np.asarray(values, float)
    found = found[np.isfinite(found) & (found > 0)]
    which = panel.yaxis if axis == "y" else panel.xaxis
    if len(found) and found.max() > 2.5 * found.min():
        panel.set(**{f"{axis}scale": "log"})
        which.set_minor_formatter(between(panel, axis))
    which.set_major_formatter(percent)
    panel.tick_params(axis=axis, which="both", length=3, pad=3.5)


def _wrapped(label: str, width: int = 34) -> str:
    return textwrap.fill(label, width).replace("$", r"\$")  # which would begin a formula


def _time(seconds: float) -> str:
    """A duration that stays on one line."""
    return duration(seconds).replace(" ", "\N{NO-BREAK SPACE}")
