"""`pio data`: reference solutions, the reasons to trust them, and how they look."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pio._errors import PioError
from pio._json import to_json
from pio._registry import Registry
from pio_cli._complete import names as complete_names
from pio_cli._plugins import with_registry
from pio_cli._screen import bar, status
from pio_cli._seeds import SEED
from pio_cli.describe import settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pio import Certificate, Solutions


@click.group()
def data() -> None:
    """Make and inspect reference solutions."""


def _options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The options that several of these commands share."""
    known = {
        "seed": click.option(
            "--seed", type=SEED, default=0, show_default=True, metavar="N", help="Which draw."
        ),
        "reference": click.option("--reference", help="One of its solvers, instead of all."),
        "set": click.option(
            "--set", "pairs", metavar="KEY=VALUE", multiple=True, help="Change an option."
        ),
        "json": click.option("--json", "as_json", is_flag=True, help="JSON, one object a line."),
    }

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            command = known[name](command)
        return click.argument("equation", shell_complete=complete_names("equation"))(command)

    return decorate


@data.command()
@_options("seed", "reference", "set", "json")
@click.option("--functions", type=click.IntRange(1), help="How many.  [default: as published]")
@with_registry
def make(
    registry: Registry,
    equation: str,
    seed: int,
    reference: str | None,
    pairs: tuple[str, ...],
    as_json: bool,
    functions: int | None,
) -> None:
    """Make the test set of EQUATION, or find it made.

    Sets are kept in the user's cache directory, or in PIO_CACHE_DIR, and made once.
    """
    from pio import relative_errors, solutions

    problem = registry.make("equation", equation, settings(pairs, "equation"))
    functions = functions or _published(problem)
    truth: Solutions | None = None
    rows = []
    for name in _references(problem, reference):
        start = time.perf_counter()
        with bar(f"{equation}, {name}") as progress:
            found = solutions(problem, functions, seed=seed, reference=name, progress=progress)
        truth = truth or found
        errors = [relative_errors(found.s[n], truth.s[n]).mean() for n in found.s]
        row = {
            "equation": equation,
            "reference": name,
            "functions": functions,
            "seed": seed,
            "shape": list(next(iter(found.s.values())).shape),
            "error": None if found is truth else float(max(errors)),
            "made": found.made,
            "seconds": round(time.perf_counter() - start, 3),
            "bytes": None if found.path is None else found.path.stat().st_size,
            "file": None if found.path is None else str(found.path),
        }
        rows.append(row)
        if as_json:
            click.echo(to_json(row))
    if not as_json:
        _draw_made(equation, rows)


@data.command()
@_options("seed", "reference", "set", "json")
@click.option("--functions", type=click.IntRange(1), default=8, show_default=True, help="How many.")
@with_registry
def certify(
    registry: Registry,
    equation: str,
    seed: int,
    reference: str | None,
    pairs: tuple[str, ...],
    as_json: bool,
    functions: int,
) -> int:
    """Measure how far the reference solvers of EQUATION are to be trusted.

    Solutions are refined twice, checked against what the exact solution conserves, and put into
    the PDE. Exits with 1 if a bound is missed.
    """
    from pio import certify as certified

    problem = registry.make("equation", equation, settings(pairs, "equation"))
    holds = True
    for name in _references(problem, reference):
        with status(f"{equation}, {name}") as say:
            found = certified(problem, name, functions=functions, seed=seed, progress=say)
        holds = holds and found.holds
        if as_json:
            click.echo(to_json(_as_dict(equation, found)))
        else:
            _draw_certificate(equation, found)
    return 0 if holds else 1


@data.command()
@_options("seed", "reference", "set")
@click.option("--functions", type=click.IntRange(1, 8), default=4, show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="[default: EQUATION.png]")
@with_registry
def show(
    registry: Registry,
    equation: str,
    seed: int,
    reference: str | None,
    pairs: tuple[str, ...],
    functions: int,
    output: Path | None,
) -> None:
    """Draw some functions u of EQUATION and their solutions s."""
    from pio import solutions
    from pio._access import unwritable

    given = settings(pairs, "equation")
    problem = registry.make("equation", equation, given)
    with bar(equation) as progress:
        found = solutions(problem, functions, seed=seed, reference=reference, progress=progress)
    title = ", ".join([equation, *(f"{k} = {v}" for k, v in given.items())])
    output = output or Path(f"{equation}.png")
    figure = _figure(problem, found, f"{title}: {registry.find('equation', equation).summary}")
    try:
        figure.savefig(output, dpi=150)
    except OSError as error:
        raise unwritable(output, error) from error
    except ValueError as error:
        raise PioError(f"cannot draw to {output}: {error}.") from error
    click.echo(output)


def _references(problem: Any, name: str | None) -> tuple[str, ...]:
    from pio._solve import find_reference

    if name is None:
        return tuple(problem.references)
    find_reference(problem, name)
    return (name,)


def _published(problem: Any) -> int:
    """The size of the test set in the published setting, 100 where there is none."""
    preset = getattr(problem, "presets", {}).get("paper")
    return preset.test_functions if preset else 100


def _as_dict(equation: str, found: Certificate) -> dict[str, Any]:
    return {
        "equation": equation,
        "reference": found.reference,
        "functions": found.functions,
        "seconds": round(found.seconds, 3),
        "holds": found.holds,
        "findings": {
            f.what: {"value": f.value, "at least" if f.at_least else "at most": f.bound}
            for f in found.findings
        },
    }


# ---------------------------------------------------------------------------------------------
# Results


def _draw_made(equation: str, rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    from pio_cli._screen import draw

    table = Table("reference", "functions", "shape", "distance", "time", "size", "file", box=None)
    for row in rows:
        table.add_row(
            row["reference"],
            str(row["functions"]),
            "×".join(map(str, row["shape"])),
            "the truth" if row["error"] is None else f"{row['error']:.3%}",
            f"{row['seconds']:.1f} s" if row["made"] else "kept",
            "" if row["bytes"] is None else f"{row['bytes'] / 1e6:.1f} MB",
            row["file"] or "not kept",
        )
    draw(f"[bold]{equation}[/]", table)


def _draw_certificate(equation: str, found: Certificate) -> None:
    from rich.table import Table

    from pio_cli._screen import draw

    table = Table("", "measured", "bound", "", box=None)
    for f in found.findings:
        mark = "[green]holds[/]" if f.holds else "[bold red]missed[/]"
        bound = f"{'≥' if f.at_least else '≤'} {f.bound:.1f}" if f.at_least else f"≤ {f.bound:.0e}"
        table.add_row(f.what, f"{f.value:.2f}" if f.at_least else f"{f.value:.1e}", bound, mark)
    about = f"{found.functions} functions, {found.seconds:.1f} s"
    draw(f"[bold]{equation}, {found.reference}[/]: {found.summary} ({about})", table)


# ---------------------------------------------------------------------------------------------
# The figure

INK, FAINT = "#22303c", "#c9d1d9"


def _figure(problem: Any, found: Solutions, title: str) -> Figure:
    """One column a function: u above, s over x and t below it, then s at five times."""
    import numpy as np
    from matplotlib import colormaps, rc_context
    from matplotlib.figure import Figure

    from pio import read

    space = [n for n in problem.domain.names if n != "t"]
    if (
        len(space) != 1
        or "t" not in problem.domain.names
        or problem.inputs.coordinates != (space[0],)
    ):
        raise PioError("only equations in one space coordinate and t, with u(x), are drawn so far.")
    x, t = found.points[space[0]], found.points["t"]
    fine = np.linspace(x[0], x[-1], 400)
    u = read(problem.inputs, found.u, fine)
    name, s = next(iter(found.s.items()))
    # A few crests may saturate, so that gentle solutions are seen beside wild ones.
    bound = np.quantile(np.abs(s), 0.99)
    signed = s.min() < -0.02 * bound
    times = np.linspace(0, len(t) - 1, 5).astype(int)
    shades = colormaps["viridis"](np.linspace(0.0, 0.85, len(times)))
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
        count = len(u)
        figure = Figure(figsize=(2.6 * count + 1.4, 6.6), layout="constrained")
        figure.suptitle(title, fontsize=11, fontweight="bold", x=0.01, ha="left")
        panels = figure.subplots(
            3, count, sharex=True, sharey="row", squeeze=False, height_ratios=(2, 3, 2.4)
        )
        for i, (top, middle, bottom) in enumerate(panels.T):
            top.plot(fine, u[i], color="#c2410c", lw=1.6)
            image = middle.pcolormesh(
                x,
                t,
                s[i].T,
                cmap="RdBu_r" if signed else "viridis",
                vmin=-bound if signed else min(0.0, s.min()),
                vmax=bound,
                shading="gouraud",
                rasterized=True,
            )
            for k, shade in zip(times, shades, strict=True):
                bottom.plot(x, s[i, :, k], color=shade, lw=1.3, label=f"t = {t[k]:g}")
            bottom.set(xlabel=space[0], xlim=(x[0], x[-1]))
            for panel in (top, bottom):
                panel.axhline(0.0, color=FAINT, lw=0.8, zorder=0)
        for row, label in zip(panels, (f"u({space[0]})", "t", name), strict=True):
            row[0].set_ylabel(label, rotation=0 if len(label) == 1 else 90)
        extend = "both" if signed else "neither"
        bar = figure.colorbar(image, ax=panels[1], pad=0.01, aspect=22, extend=extend)
        bar.outline.set_visible(False)
        bar.set_label(f"{name}(t, {space[0]})")
        lines, labels = panels[2, 0].get_legend_handles_labels()
        figure.legend(lines, labels, loc="outside lower center", ncols=len(lines), frameon=False)
    return figure
