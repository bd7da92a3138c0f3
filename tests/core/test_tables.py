"""Tables hold what was compared, in forms that mean nothing but that."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest

import pio
from pio._numbers import digits, duration, p_value, percent, signed_percent
from pio._tables import Column, Table, latex, markdown, tables

BASE = np.linspace(0.01, 0.02, 30)
NASTY = r"<b>a|b</b> & 100% _of_ $x^2$ \{~`*[#]"


@pytest.fixture
def three(forged):
    runs = [forged("tl", 0, 0.8 * BASE, seconds=50.0), forged("modified", 0, BASE, seconds=100.0)]
    return tables(pio.compare(runs, published={"tl": pio.Published(0.0019, seconds=0.0099)}))


def test_there_are_the_three_of_the_paper(three):
    raw, quartiles, statistics = three
    assert [t.name for t in three] == ["raw", "quartiles", "statistics"]
    assert raw.cells[0][:4] == ["tl", "1.20", "0.239", "–"]
    assert raw.cells[1][-5:] == ["0.100", "1.000", "100", "–", "–"]
    assert quartiles.cells[1] == ["modified", "1.25", "1.50", "1.75"]
    assert statistics.cells[0][:4] == ["tl", "better", "100.0", "−0.300"]
    assert len(statistics.rows) == 1


def test_published_numbers_stand_beside_ours_under_their_name(three):
    raw, quartiles, _ = three
    headings = [c.heading for c in raw.columns]
    assert headings[-2:] == ["Published: Mean error (%)", "Published: Time per step (s)"]
    assert raw.cells[0][-2:] == ["0.190", "0.00990"]
    assert "not ours" in raw.caption
    assert len(quartiles.columns) == 4  # none were published


def test_published_statistics_have_a_table_of_their_own(forged):
    runs = [forged(arch, 0, e * BASE) for arch, e in (("tl", 0.8), ("bx", 1.2), ("modified", 1.0))]
    reported = pio.Published(verdict="equivalent", share=0.649, spearman=0.769)
    found = tables(pio.compare(runs, published={"tl": reported, "bx": pio.Published(0.002)}))[-1]
    assert found.name == "published"
    (row,) = found.cells  # of bx, no statistics were published
    assert row[:5] == ["tl", "better", "equivalent", "100.0", "64.9"]
    assert [row[6], row[8], row[10]] == ["–", "–", "+0.769"]


def test_csv_has_all_digits_and_is_read_back(three):
    rows = list(csv.DictReader(io.StringIO(three[0].csv())))
    assert float(rows[0]["mean"]) == three[0].rows[0][1] == (0.8 * BASE).mean()
    assert rows[0]["spread"] == ""
    assert rows[1]["published_mean"] == ""


def test_every_statistic_is_explained(three):
    assert all(column.meaning.endswith(".") for column in three[2].columns[1:])


def nasty(cell=NASTY):
    columns = (Column("name", cell), Column("value", "Value (%)", percent))
    return Table("t", cell, cell, columns, ((cell, 0.5), ("plain", None)))


def test_markdown_keeps_its_columns_whatever_a_cell_holds():
    lines = [line for line in nasty().markdown().splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {3}
    assert "<b>" not in nasty().markdown()
    assert markdown("a\nb") == "a b"


def test_latex_has_no_bare_special_character():
    text = latex(NASTY)
    for command in ("\\textbackslash{}", "\\textasciitilde{}", "\\textasciicircum{}", "$<$", "$>$"):
        text = text.replace(command, "")
    text = text.replace("$|$", "")
    assert not re.search(r"(?<!\\)[&%$#_{}~^\\|<>](?![&%$#_{}])", text)
    rows = [line for line in nasty().latex().splitlines() if line.endswith(r"\\")]
    assert [len(re.findall(r"(?<!\\)&", row)) for row in rows] == [1, 1, 1]
    assert latex("Glass’s Δ −1") == r"Glass's $\Delta$ $-$1"


def test_latex_is_plain_enough_for_any_engine():
    assert latex("|τ-t|, ν = ½") == r"$|$$\tau$-t$|$, $\nu$ = ½"
    assert latex("算 ∈ a") == "? ? a"
    greek = "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ"
    assert latex(greek).isascii()
    assert "?" not in latex(greek)


def test_latex_tables_say_what_they_are_about_and_have_labels_of_their_own(forged):
    found = set()
    for equation, nu in (("burgers", 1e-2), ("burgers", 1e-3), ("kdv", None)):
        settings = {} if nu is None else {"equation.nu": nu}
        runs = [
            forged(
                a,
                0,
                equation=equation,
                settings=settings,
                reference="spectral",
                path=f"{equation}{nu}{a}",
            )
            for a in ("tl", "modified")
        ]
        texts = [table.latex() for table in tables(pio.compare(runs))]
        assert all(f": {equation}" in text and "against spectral." in text for text in texts)
        found |= {re.search(r"label{(.*)}", text)[1] for text in texts}
    assert len(found) == 9
    assert "tab:kdv-against-spectral-raw" in found


def test_a_wide_table_is_turned_and_a_wider_one_shrunk():
    columns = (Column("a", "Variant"), *(Column(f"c{k}", "Share (%)", percent) for k in range(9)))
    few = Table("t", "T", "C.", columns, (("tl", *[0.5] * 9),) * 2).latex()
    assert r"\begin{tabular}{lrr}" in few
    assert "resizebox" not in few
    many = Table("t", "T", "C.", columns, (("tl", *[0.5] * 9),) * 12).latex()
    assert r"\begin{tabular}{lrrrrrrrrr}" in many
    assert r"\resizebox{\linewidth}{!}{%" in many


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdfLaTeX")
def test_pdflatex_makes_pages_of_the_tables(three, tmp_path):
    body = "\n".join(table.latex() for table in (*three, nasty("τ ≤ 算 " + NASTY)))
    text = rf"\documentclass{{article}}\usepackage{{booktabs,graphicx}}\begin{{document}}{body}\end{{document}}"
    (tmp_path / "t.tex").write_text(text)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert r"Overfull \hbox" not in done.stdout.replace("in paragraph", "")


def test_html_shows_a_cell_as_it_is():
    found = []

    class Texts(HTMLParser):
        def handle_data(self, data):
            found.append(data)

        def handle_starttag(self, tag, attrs):
            assert tag in ("table", "thead", "tbody", "tr", "th", "td")

    Texts().feed(nasty("<script>alert(1)</script>" + NASTY).html())
    assert found.count("<script>alert(1)</script>" + NASTY) == 2


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (digits(0.0031), "0.00310"),
        (digits(1234.5), "1,234"),
        (digits(99.95), "100"),
        (digits(-52.04), "−52.0"),
        (digits(1.2e-7), "1.20e−07"),
        (digits(0.0), "0"),
        (percent(0.01), "1.00"),
        (signed_percent(0.01), "+1.00"),
        (signed_percent(-0.01), "−1.00"),
        (signed_percent(0.0), "0"),
        (p_value(0.05), "0.0500"),
        (p_value(1e-9), "<0.0001"),
        (duration(1.234), "1.2 s"),
        (duration(59.7), "60 s"),
        (duration(119.7), "2 min 0 s"),
        (duration(3700.0), "1 h 1 min"),
    ],
)
def test_numbers_are_shown_to_be_read(shown, text):
    assert shown == text
