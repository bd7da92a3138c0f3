"""A comparison written up: a directory of tables, figures and a page to read."""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pio._compare import Comparison
from pio._comparison_figures import pictures, progress, times, violins
from pio._errors import PioError
from pio._figures import save
from pio._files import write
from pio._json import to_json
from pio._page import Picture, page
from pio._tables import tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCHEMA = 1
# With this file, a directory is a comparison; it lists what else belongs to it.
NAME = "comparison.json"


def write_up(
    comparison: Comparison,
    out: str | PathLike[str],
    *,
    say: Callable[[str], None] = lambda text: None,
) -> Path:
    """Write a comparison to a directory, and return its page, `report.html`.

    An older comparison there is replaced at once, when the new one is whole; any other directory is refused.
    """
    out = Path(out)
    require_ours(out)
    target = out.resolve()
    home = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # A directory of our own beside the target: whatever else is there is someone's.
        home = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        (home / "new" / "tables").mkdir(parents=True)
        _fill(comparison, home / "new", say)
        _swap(home / "new", target, home / "old")
    except OSError as error:
        raise PioError(
            f"cannot write to {out}: {error.strerror or error}; make room, or choose another directory with "
            "--out."
        ) from error
    finally:
        if home is not None:
            shutil.rmtree(home, ignore_errors=True)
    return out / "report.html"


def _fill(comparison: Comparison, home: Path, say: Callable[[str], None]) -> None:
    made = tables(comparison)
    for table in made:
        for suffix, text in (
            ("md", table.markdown()),
            ("csv", table.csv()),
            ("tex", table.latex()),
        ):
            write(home / "tables" / f"{table.name}.{suffix}", text)
    shown = []
    for drawing in DRAWINGS:
        say(f"drawing {drawing.name}")
        figure = drawing.draw(comparison)
        if figure is not None:
            paths = {s: save(figure, home / "figures" / f"{drawing.name}.{s}") for s in _TYPES}
            shown.append(_picture(drawing, comparison, paths[drawing.suffix]))
    write(home / "report.html", page(comparison, made, shown))
    files = [str(p.relative_to(home)) for p in sorted(home.rglob("*")) if p.is_file()]
    write(home / NAME, to_json(_about(comparison, files), indent=2) + "\n")


class Drawing(NamedTuple):
    """A figure: its file, how it is drawn, which form the page shows, and what it says there."""

    name: str
    draw: Callable[[Comparison], Figure | None]
    suffix: str
    caption: str


_TYPES = {"png": "image/png", "svg": "image/svg+xml"}

DRAWINGS = (
    Drawing(
        "times",
        times,
        "svg",
        "The mean error over the time of a step, relative to that of {baseline}. Further left is faster, further "
        "down is more accurate.",
    ),
    Drawing(
        "progress",
        progress,
        "svg",
        "The mean test error against {truth} over the time of training. Of each variant, the strong line is the run "
        "whose mean error is the median over its seeds, the better one of two; thin lines are the other seeds. The "
        "dotted line is the final error of {baseline}; a mark shows when a variant first had it.",
    ),
    Drawing(
        "violins",
        violins,
        "svg",
        "How the errors of the test functions are distributed, over all seeds: the width is their density, the bar "
        "reaches from the first to the third quartile, the dot is the median.",
    ),
    Drawing(
        "predictions",
        pictures,
        "png",
        "{best}, which has the least mean error beside the baseline, and {baseline} on one test function, that on "
        "which the baseline has its median error. The differences have one scale.",
    ),
)


def _picture(drawing: Drawing, c: Comparison, path: Path) -> Picture:
    data = base64.b64encode(path.read_bytes()).decode()
    caption = drawing.caption.format(baseline=c.baseline.label, best=c.best.label, truth=c.truth)
    return Picture(f"data:{_TYPES[drawing.suffix]};base64,{data}", caption, caption)


def _about(c: Comparison, files: list[str]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "title": c.title,
        "equation": {"name": c.equation.name, **c.equation.options},
        "reference": c.reference,
        "truth": c.truth,
        "functions": c.functions,
        "seed": c.seed,
        "baseline": c.baseline.label,
        "ranks": c.ranks,
        "level": c.level,
        "notes": list(c.notes),
        "variants": c.as_dicts(),
        "files": files,
    }


def require_ours(out: Path) -> None:
    """Refuse a place that holds something other than a comparison."""
    try:
        if out.exists() and not out.is_dir():
            raise PioError(f"{out} is a file; choose a directory with --out.")
        ours = _listed(out)
        other = next((name for name in _files(out) if ours is None or name not in ours), None)
    except OSError as error:
        raise PioError(
            f"cannot look into {out}: {error.strerror or error}; choose another directory with --out."
        ) from error
    if other is None:
        return
    if ours is None:
        raise PioError(f"{out} exists and is no comparison; choose another directory with --out.")
    raise PioError(
        f"{out} holds {other}, which no comparison wrote; move that away, or choose another "
        "directory with --out."
    )


def _listed(out: Path) -> set[str] | None:
    """The files of the comparison that a directory holds; none if it holds none."""
    try:
        about = json.loads((out / NAME).read_text(encoding="utf-8"))
        return {NAME, *map(str, about["files"])}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _files(out: Path) -> Iterator[str]:
    """Files within a directory, one at a time: it may be a large one."""
    return (str(p.relative_to(out)) for p in out.rglob("*") if not p.is_dir())


def _swap(new: Path, target: Path, old: Path) -> None:
    """Put the new directory in the place of the old one."""
    if target.exists():
        target.rename(old)
    try:
        new.rename(target)
    except BaseException:
        with contextlib.suppress(OSError):
            old.rename(target)
        raise
