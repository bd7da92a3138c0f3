"""A page about a comparison: one HTML file that needs nothing else, to be read, printed or sent."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from pio._compare import Comparison, environment
from pio._numbers import percent, ratio
from pio._page_style import STYLE
from pio._tables import Table
from pio._variant import Variant, settings_of
from pio._verdict import SEEDS

# Nothing is fetched and nothing runs, whatever a name may hold.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


class Picture(NamedTuple):
    """An image as `data:` address, what it shows, and what to see in it."""

    address: str
    alternative: str
    caption: str


def page(comparison: Comparison, tables: Sequence[Table], pictures: Sequence[Picture]) -> str:
    """The page as text. Whatever came from a user is escaped."""
    title = escape(f"{comparison.title}: variants beside {comparison.baseline.label}")
    body = "\n".join(
        [
            *_head(comparison),
            *_verdicts(comparison),
            *_notes(comparison),
            *_figures(pictures),
            *_tables(tables),
            *_measured(comparison),
            *_meanings(comparison, tables),
        ]
    )
    version = importlib.metadata.version("pio-operators")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{STYLE}</style>
</head>
<body>
<main>
{body}
</main>
<footer>Made by <code>pio compare</code>, pio {escape(version)}.</footer>
</body>
</html>
"""


def _head(c: Comparison) -> Iterator[str]:
    runs = sum(len(v.runs) for v in c.variants)
    yield f"<header><h1>{escape(c.title)}</h1>"
    yield f'<p class="lede">{escape(summary(c))}</p>'
    yield (
        f'<p class="facts">{len(c.variants)} variants, {runs} runs, {c.functions} test functions, errors against '
        f"<em>{escape(c.reference)}</em>.</p></header>"
    )


def summary(c: Comparison) -> str:
    """The verdicts in a sentence or two."""
    kinds = {
        "better": "better than",
        "equivalent": "equivalent to",
        "worse": "worse than",
        "undecided": "not told apart from",
    }
    parts = []
    for kind, words in kinds.items():
        names = [v.label for v in c.others if c.verdicts[v.label].kind == kind]
        if names:
            be = "is" if len(names) == 1 else "are"
            parts.append(f"{listed(names)} {be} {words} {c.baseline.label}")
    said = "; ".join(parts) + "."
    if not c.few:
        return said
    return f"Of these networks, {said} Other seeds may come out otherwise: there are fewer than {SEEDS}."


def listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _verdicts(c: Comparison) -> Iterator[str]:
    yield '<section><h2>Verdict</h2><ul class="verdicts">'
    for v in c.others:
        verdict = c.verdicts[v.label]
        facts = (
            f"mean error {percent(v.mean)} % (baseline {percent(c.baseline.mean)} %) · time per step "
            f"{ratio(c.ratio(v))} of the baseline’s"
        )
        yield (
            f'<li class="{verdict.kind}"><span class="badge">{verdict.kind}</span> '
            f"<p>{_unbroken(verdict.words)}</p><small>{escape(facts)}</small></li>"
        )
    yield "</ul></section>"


def _unbroken(text: str) -> str:
    """Escaped, with numbers and their units on one line."""
    return escape(re.sub(r"(?<=\d) (?=%)|(?<=\bp) (?=[<=])|(?<=[<=]) (?=\d)", "\u00a0", text))


def _notes(c: Comparison) -> Iterator[str]:
    if c.notes:
        items = "".join(f"<li>{escape(note)}</li>" for note in c.notes)
        yield f'<aside><h2>To be known</h2><ul class="notes">{items}</ul></aside>'


def _figures(pictures: Sequence[Picture]) -> Iterator[str]:
    if not pictures:
        return
    yield "<section><h2>Figures</h2>"
    for picture in pictures:
        yield (
            f'<figure><div class="picture"><img src="{escape(picture.address)}" '
            f'alt="{escape(picture.alternative)}"></div>'
            f"<figcaption>{escape(picture.caption)}</figcaption></figure>"
        )
    yield "</section>"


def _tables(tables: Sequence[Table]) -> Iterator[str]:
    yield "<section><h2>Tables</h2>"
    for table in tables:
        yield f"<h3>{escape(table.title)}</h3><p>{escape(table.caption)}</p>"
        yield _scrolled(table.html(), table.title)
    yield "</section>"


def _scrolled(table: str, name: str) -> str:
    # To be scrolled by keyboard, a box has to take the focus and to have a name.
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(name)}">{table}</div>'
    )


# ---------------------------------------------------------------------------------------------
# How it was measured


def _measured(c: Comparison) -> Iterator[str]:
    truth = c.baseline.typical.equation.references.get(c.reference)
    options = ", ".join(f"{k} = {v}" for k, v in c.equation.options.items())
    facts = {
        "Equation": c.equation.name + (f" ({options})" if options else ""),
        "Test set": f"{c.functions} input functions, drawn with seed {c.seed}; the same for all runs",
        "Reference": c.reference + (f": {truth.summary}" if truth is not None else ""),
        "Error": "‖s − reference‖ / ‖reference‖ in L2 over the equation’s grid, one per function",
        "Seeds": "errors are averaged over the seeds, function by function, before they are tested",
        "Tests": _tests(c),
        "Time": "of training alone, without compiling and evaluating",
    }
    if any(v.published is not None for v in c.variants):
        facts["Published"] = c.source or "numbers that others reported"
    yield "<section><h2>How it was measured</h2>"
    yield _facts(facts)
    yield "<h3>Runs</h3>"
    rows = [
        [v.label, ", ".join(map(str, v.seeds)), f"{v.config.train.steps:,}", _paths(v)]
        for v in c.variants
    ]
    yield _plain(["Variant", "Seeds", "Steps", "Runs"], rows, "Runs")
    yield from _settings(c)
    yield from _machine(c)
    yield "</section>"


def _tests(c: Comparison) -> str:
    ranks = "ranks of |d| as published" if c.ranks == "published" else "ranks of |d ± margin|"
    return (
        f"Wilcoxon’s signed-rank tests over the test functions ({ranks}), Holm’s correction for "
        f"{len(c.others)} variants, level {c.level:g}; they speak of other test functions, not of other seeds"
    )


def _paths(v: Variant) -> str:
    return ", ".join(str(run.path) for run in v.runs)


def _settings(c: Comparison) -> Iterator[str]:
    """What the configs have in common, and where they differ."""
    each = {v.label: settings_of(v.config) for v in c.variants}
    keys = sorted({key for settings in each.values() for key in settings})
    values = {key: [_shown(settings.get(key)) for settings in each.values()] for key in keys}
    differ = {key: found for key, found in values.items() if len(set(found)) > 1}
    common = {key: found[0] for key, found in values.items() if key not in differ}
    yield "<h3>Settings</h3>"
    yield _plain(
        ["Setting", *each], [[key, *found] for key, found in differ.items()], "Settings that differ"
    )
    yield (
        "<details><summary>Settings that are the same for all</summary>"
        f"{_plain(['Setting', 'Value'], [[k, v] for k, v in common.items()], 'Settings')}</details>"
    )


def _shown(value: Any) -> str:
    return "–" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _machine(c: Comparison) -> Iterator[str]:
    found = environment(c.baseline.typical)
    packages: Mapping[str, Any] = found.get("packages") or {}
    plugins = [
        f"{p.get('distribution') or p.get('file')} {p.get('version') or ''}".strip()
        for p in found.get("plugins", ())
        if isinstance(p, Mapping)
    ]
    facts = {
        "Machine": str(found.get("platform", "not known")),
        "Devices": ", ".join(map(str, found.get("devices", ()))) or "not known",
        "Python": str(found.get("python", "not known")),
        "Packages": ", ".join(f"{k} {v}" for k, v in packages.items() if v),
        "Plugins": ", ".join(plugins),
    }
    yield f"<h3>Machine and versions</h3><p>Of the run {escape(str(c.baseline.typical.path))}.</p>"
    yield _facts({key: value for key, value in facts.items() if value})


def _meanings(c: Comparison, tables: Sequence[Table]) -> Iterator[str]:
    del c
    facts = {
        column.heading: column.meaning
        for table in tables
        for column in table.columns
        if column.meaning
    }
    yield f"<section><h2>What the columns mean</h2>{_facts(facts)}</section>"


def _facts(facts: Mapping[str, str]) -> str:
    items = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    return f"<dl>{items}</dl>"


def _plain(head: Sequence[str], rows: Sequence[Sequence[str]], name: str) -> str:
    top = "".join(f"<th>{escape(h)}</th>" for h in head)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    table = f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    return _scrolled(table, name)
