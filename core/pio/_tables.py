"""Tables of a comparison, as Markdown, CSV, LaTeX and HTML."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pio._compare import Comparison
from pio._numbers import digits, p_value, percent, ratio, share, signed, signed_percent
from pio._statistics import MARGIN
from pio._variant import Variant

DASH = "–"
# Characters that fit a line of a LaTeX article, about.
_LINE = 70
Show = Callable[[Any], str]


@dataclass(frozen=True)
class Column:
    """A column: its key in CSV, its heading, how a value is shown, and what it means, in a sentence."""

    key: str
    heading: str
    show: Show = str
    meaning: str = ""

    @property
    def numeric(self) -> bool:
        return self.show is not str


@dataclass(frozen=True)
class Table:
    """Values in columns. CSV has them in full; the other forms as a reader wants them.

    `about` says what all of it is about, where the table stands alone.
    """

    name: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    about: str = ""

    @property
    def cells(self) -> list[list[str]]:
        """The rows as text; what is not known is a dash."""
        return [
            [
                DASH if value is None else column.show(value)
                for column, value in zip(self.columns, row, strict=True)
            ]
            for row in self.rows
        ]

    def markdown(self) -> str:
        head = [markdown(column.heading) for column in self.columns]
        rule = ["---:" if column.numeric else "---" for column in self.columns]
        body = [[markdown(cell) for cell in row] for row in self.cells]
        lines = [f"| {' | '.join(row)} |" for row in (head, rule, *body)]
        return "\n".join(
            [f"**{markdown(self._heading)}.** {markdown(self.caption)}", "", *lines, ""]
        )

    @property
    def _heading(self) -> str:
        return f"{self.title}: {self.about}" if self.about else self.title

    def csv(self) -> str:
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([column.key for column in self.columns])
        writer.writerows([["" if v is None else v for v in row] for row in self.rows])
        return file.getvalue()

    def latex(self) -> str:
        """A table that needs the packages booktabs and graphicx. It fits a page: rows become columns, or it shrinks."""
        grid = [[column.heading for column in self.columns], *self.cells]
        align = ["r" if column.numeric else "l" for column in self.columns]
        if len(self.columns) > len(grid):
            grid = [list(row) for row in zip(*grid, strict=True)]
            align = ["l", *["r"] * len(self.rows)]
        head, *rows = (" & ".join(map(latex, row)) + r" \\" for row in grid)
        tabular = [
            f"\\begin{{tabular}}{{{''.join(align)}}}",
            r"  \toprule",
            f"  {head}",
            r"  \midrule",
            *(f"  {row}" for row in rows),
            r"  \bottomrule",
            r"\end{tabular}",
        ]
        widths = (max(map(len, column)) + 2 for column in zip(*grid, strict=True))
        if sum(widths) > _LINE:
            tabular = [r"\resizebox{\linewidth}{!}{%", *tabular[:-1], tabular[-1] + "}"]
        label = re.sub(r"[^a-z0-9]+", "-", f"{self.about} {self.name}".lower()).strip("-")
        return "\n".join(
            [
                r"\begin{table}",
                r"  \centering",
                f"  \\caption{{{latex(self._heading)}. {latex(self.caption)}}}",
                f"  \\label{{tab:{label}}}",
                *(f"  {line}" for line in tabular),
                r"\end{table}",
                "",
            ]
        )

    def html(self) -> str:
        """The table and nothing around it."""

        def row(tag: str, cells: list[str]) -> str:
            kinds = [' class="number"' if column.numeric else "" for column in self.columns]
            inner = (
                f"<{tag}{kind}>{html.escape(c)}</{tag}>"
                for kind, c in zip(kinds, cells, strict=True)
            )
            return f"<tr>{''.join(inner)}</tr>"

        head = row("th", [column.heading for column in self.columns])
        body = "\n".join(row("td", cells) for cells in self.cells)
        return f"<table>\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def tables(comparison: Comparison) -> tuple[Table, ...]:
    """Raw data, quartiles, statistics: the paper's three, of any comparison; and statistics beside published ones."""
    found = [_raw(comparison), _quartiles(comparison), _statistics(comparison)]
    beside = _beside(comparison)
    about = f"{comparison.title}, against {comparison.reference}"
    return tuple(
        replace(table, about=about) for table in [*found, *([beside] if beside.rows else [])]
    )


# ---------------------------------------------------------------------------------------------
# The three


def _raw(c: Comparison) -> Table:
    columns = [
        Column("variant", "Variant"),
        Column("mean", "Mean error (%)", percent),
        Column("std", "Std over functions (%)", percent),
        Column("spread", "Std over seeds (%)", percent),
        Column("seeds", "Seeds", lambda n: f"{n}"),
        Column("steps", "Steps", lambda n: f"{n:,}"),
        Column("seconds_per_step", "Time per step (s)", digits),
        Column("time_ratio", "Time ratio", ratio),
        Column("seconds_to_baseline_error", "Time to baseline’s error (s)", digits),
    ]

    def row(v: Variant) -> list[Any]:
        return [
            v.label,
            v.mean,
            v.std,
            v.spread,
            len(v.runs),
            v.config.train.steps,
            v.seconds_per_step,
            c.ratio(v),
            c.reaches(v),
        ]

    more = {
        "mean": ("Mean error (%)", percent),
        "std": ("Std (%)", percent),
        "seconds": ("Time per step (s)", digits),
    }
    caption = (
        f"Relative L2 errors on {c.functions} test functions, averaged over the seeds. Std over seeds is that "
        "of the mean error. Time ratio is the time per step over that of the baseline, "
        f"{c.baseline.label}. Time to baseline’s error is the time of training after which a run first had the "
        f"baseline’s final error, both against {c.truth}; it is the run whose mean error is the median over its "
        "seeds, the better one of two."
    )
    return _table(c, "raw", "Errors and times", caption, columns, row, more)


def _quartiles(c: Comparison) -> Table:
    columns = [
        Column("variant", "Variant"),
        Column("q1", "Q1 (%)", percent),
        Column("median", "Median (%)", percent),
        Column("q3", "Q3 (%)", percent),
    ]
    more = {name: (heading.heading, percent) for name, heading in _by_key(columns).items()}
    caption = f"Quartiles of the relative L2 errors of {c.functions} test functions and all seeds."
    return _table(
        c, "quartiles", "Quartiles", caption, columns, lambda v: [v.label, *v.quartiles], more
    )


def _by_key(columns: list[Column]) -> dict[str, Column]:
    return {column.key: column for column in columns[1:]}


def _table(
    c: Comparison,
    name: str,
    title: str,
    caption: str,
    columns: list[Column],
    row: Callable[[Variant], list[Any]],
    more: Mapping[str, tuple[str, Show]],
) -> Table:
    """A table of our numbers, with those of others beside them where there are some."""
    known = [
        key
        for key in more
        if any(
            v.published is not None and getattr(v.published, key) is not None for v in c.variants
        )
    ]
    columns = columns + [
        Column(f"published_{key}", f"Published: {more[key][0]}", more[key][1]) for key in known
    ]
    rows = tuple((*row(v), *(getattr(v.published, key, None) for key in known)) for v in c.variants)
    if known:
        caption += " Columns headed “Published” are numbers that others reported, not ours."
    return Table(name, title, caption, tuple(columns), rows)


def _statistics(c: Comparison) -> Table:
    columns = (
        Column("variant", "Variant"),
        Column(
            "verdict",
            "Verdict",
            str,
            f"Equivalent if p equivalent is below {c.level:g}, else better or worse if p different is, else "
            "undecided.",
        ),
        Column(
            "share",
            "Better on (%)",
            share,
            "The share of the test functions on which the variant’s error is smaller than the baseline’s.",
        ),
        Column(
            "median_difference",
            "Median difference (%)",
            signed_percent,
            "The median over the functions of variant’s error minus baseline’s, in percentage points; "
            "negative is better.",
        ),
        Column(
            "low",
            "Interval from (%)",
            signed_percent,
            "The lower bound of a 95 % bootstrap interval of the median difference.",
        ),
        Column("high", "to (%)", signed_percent, "The upper bound of that interval."),
        Column(
            "margin",
            "Margin (%)",
            percent,
            f"The difference that counts as none; {MARGIN:g} times the baseline’s least error unless told.",
        ),
        Column(
            "p_lower",
            "p lower",
            p_value,
            "Wilcoxon’s signed-rank test that the difference is above minus the margin.",
        ),
        Column(
            "p_upper",
            "p upper",
            p_value,
            "Wilcoxon’s signed-rank test that the difference is below the margin.",
        ),
        Column(
            "p_equivalent",
            "p equivalent",
            p_value,
            "The larger of the two, after Holm’s correction for the number of variants.",
        ),
        Column(
            "p_different",
            "p different",
            p_value,
            "Wilcoxon’s two-sided signed-rank test that there is a difference, after Holm’s correction.",
        ),
        Column(
            "glass",
            "Glass’s Δ",
            signed,
            "The median difference in units of the baseline’s median absolute deviation.",
        ),
        Column(
            "spearman",
            "Spearman’s ρ",
            signed,
            "The rank correlation of the errors: near 1 if both find the same functions hard.",
        ),
    )
    rows = []
    for v in c.others:
        s, verdict = c.statistics[v.label], c.verdicts[v.label]
        rows.append(
            (
                v.label,
                verdict.kind,
                s.share,
                s.median_difference,
                s.low,
                s.high,
                s.margin,
                s.p_lower,
                s.p_upper,
                verdict.p_equivalent,
                verdict.p_different,
                s.glass,
                s.spearman,
            )
        )
    caption = f"Each variant beside {c.baseline.label} on {c.functions} test functions, errors averaged over the seeds."
    if c.ranks == "published":
        caption += " Ranks of the one-sided tests are those of |d|, as published."
    return Table("statistics", "Statistics", caption, columns, tuple(rows))


def _beside(c: Comparison) -> Table:
    """Our statistics and published ones of the same name, in turn."""
    shown: Mapping[str, tuple[str, Show]] = {
        "verdict": ("Verdict", str),
        "share": ("Better on (%)", share),
        "median_difference": ("Median difference (%)", signed_percent),
        "glass": ("Glass’s Δ", signed),
        "spearman": ("Spearman’s ρ", signed),
    }
    columns = [Column("variant", "Variant")]
    for key, (heading, show) in shown.items():
        columns.append(Column(key, heading, show))
        columns.append(Column(f"published_{key}", "Published", show))
    rows = []
    for v in c.others:
        theirs = {key: getattr(v.published, key, None) for key in shown}
        if any(value is not None for value in theirs.values()):
            s = c.statistics[v.label]
            ours = {"verdict": c.verdicts[v.label].kind}
            ours |= {key: getattr(s, key) for key in shown if key != "verdict"}
            rows.append((v.label, *(each[key] for key in shown for each in (ours, theirs))))
    caption = (
        f"Each variant beside {c.baseline.label}: ours, and what others reported of theirs, on their own runs, "
        "test functions and margin."
    )
    return Table(
        "published", "Statistics beside published ones", caption, tuple(columns), tuple(rows)
    )


# ---------------------------------------------------------------------------------------------
# Text that means nothing but itself


def markdown(text: str) -> str:
    """Text as Markdown shows it, in one line."""
    text = re.sub(r"([\\`*_\[\]|~$])", r"\\\1", " ".join(text.split()))
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    "−": r"$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "‖": r"$\|$",
    "√": r"$\surd$",
    "∂": r"$\partial$",
    "∞": r"$\infty$",
    "²": r"$^2$",
    "³": r"$^3$",
    "û": r"$\hat{u}$",
    "…": r"\dots{}",
    "–": "--",
    "’": "'",
    "“": "``",
    "”": "''",
}
_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "ζ": "zeta", "η": "eta",
    "θ": "theta", "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "µ": "mu", "ν": "nu", "ξ": "xi",
    "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "υ": "upsilon", "φ": "varphi", "χ": "chi",
    "ψ": "psi", "ω": "omega", "Γ": "Gamma", "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi",
    "Π": "Pi", "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip
_LATEX |= {letter: f"$\\{name}$" for letter, name in _GREEK.items()}


def latex(text: str) -> str:
    """Text as LaTeX shows it. A sign that pdfLaTeX has none for becomes a question mark, rather than stop it."""
    return "".join(_LATEX.get(c, c if ord(c) < 0x180 else "?") for c in " ".join(text.split()))
