"""A comparison written up is a directory of its own, and a page that needs nothing else."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import pio

RNG = np.random.default_rng(0)
NASTY = "<script>alert('a')</script> & <img src=x onerror=alert(1)> 100 % $x^2$ \"quoted\""
FILES = {
    "comparison.json",
    "report.html",
    *(f"tables/{t}.{s}" for t in ("raw", "quartiles", "statistics") for s in ("md", "csv", "tex")),
    *(f"figures/{f}.{s}" for f in ("times", "progress", "violins") for s in ("png", "svg")),
}


def files(home):
    return {str(p.relative_to(home)) for p in home.rglob("*") if p.is_file()}


@pytest.fixture
def pair(forged):
    return pio.compare([forged("tl"), forged("modified", seconds=80.0)], notes=[NASTY])


@pytest.fixture
def six(forged):
    """Six variants of two seeds, one with a long name, with published numbers."""
    archs = ("vanilla", "bx", "tl", "bxtl", "modified")
    runs = [
        forged(arch, seed, RNG.lognormal(-4.5 - 0.1 * k, 0.4, 50), seconds=3000.0 + 200 * k)
        for k, arch in enumerate(archs)
        for seed in (0, 1)
    ]
    settings = {"optimizer.name": "adamw"}
    runs.append(forged("tl", 0, RNG.lognormal(-4, 0.4, 50), settings=settings, path="other"))
    published = {
        a: pio.Published(0.01 + k / 1000, 0.002, seconds=0.01) for k, a in enumerate(archs)
    }
    return pio.compare(runs, published=published, source=NASTY, notes=[NASTY], title=f"six {NASTY}")


# ---------------------------------------------------------------------------------------------
# The directory


def test_all_is_written_and_listed(pair, tmp_path):
    page = pio.write_up(pair, tmp_path / "new" / "out")
    assert page == tmp_path / "new" / "out" / "report.html"
    assert files(page.parent) == FILES  # these runs have no model, so predictions cannot be drawn
    about = json.loads((page.parent / "comparison.json").read_text())
    assert {*about["files"], "comparison.json"} == FILES
    assert [v["verdict"] for v in about["variants"] if not v["baseline"]] == ["equivalent"]
    assert sorted(p.name for p in page.parent.parent.iterdir()) == ["out"]


def test_the_same_comparison_is_the_same_files(pair, tmp_path):
    one, two = (pio.write_up(pair, tmp_path / name).parent for name in ("one", "two"))
    assert all((one / f).read_bytes() == (two / f).read_bytes() for f in FILES)


def test_an_older_comparison_is_replaced_cleanly(pair, forged, tmp_path):
    out = tmp_path / "out"
    pio.write_up(pair, out)
    about = json.loads((out / "comparison.json").read_text())
    (out / "figures" / "old.png").write_bytes(b"")
    (out / "comparison.json").write_text(
        json.dumps({**about, "files": [*about["files"], "figures/old.png"]})
    )
    pio.write_up(pair, out)
    assert files(out) == FILES


@pytest.mark.parametrize("name", ["notes.txt", "figures/mine.png"])
def test_what_no_comparison_wrote_is_never_deleted(pair, tmp_path, name):
    out = tmp_path / "out"
    pio.write_up(pair, out)
    (out / name).write_text("precious")
    with pytest.raises(pio.PioError, match=f"holds {name}, which no comparison wrote"):
        pio.write_up(pair, out)
    assert (out / name).read_text() == "precious"


@pytest.mark.parametrize("name", [".out.part", ".out.old"])
def test_what_lies_beside_is_left_alone(pair, tmp_path, name):
    home = tmp_path / "here"
    (home / name).mkdir(parents=True)
    (home / name / "thesis.tex").write_text("precious")
    for _ in range(2):
        pio.write_up(pair, home / "out")
    assert (home / name / "thesis.tex").read_text() == "precious"
    assert sorted(p.name for p in home.iterdir()) == [name, "out"]


def test_a_new_directory_is_as_open_as_any_other(pair, tmp_path):
    (tmp_path / "usual").mkdir()
    out = pio.write_up(pair, tmp_path / "out").parent
    assert out.stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_the_root_of_all_is_refused(pair):
    with pytest.raises(pio.PioError, match=r"^(/ exists and is no comparison|cannot look into /)"):
        pio.write_up(pair, "/")


def test_a_directory_of_something_else_is_refused(pair, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    pio.write_up(pair, out)  # an empty one is welcome
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("precious")
    with pytest.raises(pio.PioError, match="is no comparison"):
        pio.write_up(pair, other)
    with pytest.raises(pio.PioError, match="is a file"):
        pio.write_up(pair, other / "thesis.tex")
    with pytest.raises(pio.PioError, match="cannot write to"):
        pio.write_up(pair, other / "thesis.tex" / "deeper")


def test_an_interruption_leaves_the_older_one_whole(pair, tmp_path):
    out = tmp_path / "here" / "out"
    pio.write_up(pair, out)
    before = {f: (out / f).stat().st_mtime_ns for f in FILES}

    def say(text):
        if "violins" in text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pio.write_up(pair, out, say=say)
    assert {f: (out / f).stat().st_mtime_ns for f in FILES} == before
    assert sorted(p.name for p in out.parent.iterdir()) == ["out"]


# ---------------------------------------------------------------------------------------------
# The page


class Page(HTMLParser):
    """Its words, and every address in it."""

    def __init__(self, text):
        super().__init__()
        self.words, self.addresses, self.tags = "", [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.addresses += [v for k, v in attrs if k in ("src", "href")]
        assert not [k for k, _ in attrs if k.startswith("on")]

    def handle_data(self, data):
        self.words += data


def test_the_page_needs_nothing_else_and_runs_nothing(six, tmp_path):
    text = pio.write_up(six, tmp_path / "out").read_text()
    page = Page(text)
    assert all(a.startswith("data:") for a in page.addresses)
    assert not {"script", "iframe", "object", "embed"} & page.tags
    assert "url(" not in text
    assert "default-src 'none'" in text
    assert page.words.count(NASTY) >= 3  # title, note and source, as they were given


def test_the_page_says_it_all(six, tmp_path):
    words = " ".join(Page(pio.write_up(six, tmp_path / "out").read_text()).words.split())
    words = words.replace("\N{NO-BREAK SPACE}", " ")
    for verdict in six.verdicts.values():
        assert verdict.words in words
    order = [
        "Verdict",
        "To be known",
        "Figures",
        "Tables",
        "How it was measured",
        "What the columns",
    ]
    assert sorted(order, key=words.index) == order
    for part in ("a machine", "50 input functions, drawn with seed 0", "Spearman’s ρ", "Holm’s"):
        assert part in words
    assert "Published: Mean error" in words
    assert "Other seeds may come out otherwise" in words.split("Verdict")[0]


BROWSERS = ("/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome")
BROWSER = next((found for name in BROWSERS if (found := shutil.which(name))), None)

# The page in frames as wide as a phone, a tablet and a screen. What is wider than its frame and not within a
# box that scrolls is listed, and so are images that cannot be shown.
FRAMES = """<!doctype html><title>frames</title><pre id="found">not loaded</pre>
<iframe src="report.html" width="360" height="800"></iframe>
<iframe src="report.html" width="768" height="800"></iframe>
<iframe src="report.html" width="1280" height="800"></iframe>
<script>
addEventListener("load", () => {
  const found = [];
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument, root = page.documentElement, width = frame.clientWidth;
    if (root.scrollWidth > width) found.push(`${width}: scrolls to ${root.scrollWidth}`);
    for (const part of page.querySelectorAll("main *"))
      if (!part.closest(".scroll, .picture, details") && part.getBoundingClientRect().right > width + 1)
        found.push(`${width}: ${part.tagName} ${part.className}`);
    for (const image of page.images)
      if (!image.complete || !image.naturalWidth) found.push(`no image ${image.alt}`);
    found.push(`${width}: ${page.images.length} images, ${page.querySelectorAll("table").length} tables`);
  }
  document.getElementById("found").textContent = found.join("\\n");
});
</script>"""


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium to show the page with")
def test_a_browser_shows_the_page_without_complaint_at_any_width(six, tmp_path):
    out = pio.write_up(six, tmp_path / "out").parent
    (out / "frames.html").write_text(FRAMES)
    quiet = (
        "--no-first-run --disable-background-networking --disable-component-update --disable-sync"
    )
    command = [
        str(BROWSER),
        *"--headless --no-sandbox --disable-gpu --disable-quic --disable-dev-shm-usage".split(),
        *quiet.split(),
        f"--user-data-dir={tmp_path / 'profile'}",
        "--allow-file-access-from-files",  # so that the frames can be measured
        "--enable-logging=stderr",
        "--virtual-time-budget=20000",
        "--dump-dom",
        (out / "frames.html").as_uri(),
    ]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r'<pre id="found">(.*?)</pre>', shown.stdout, re.DOTALL)
    assert found is not None, shown.stderr
    assert found[1].splitlines() == [f"{w}: 3 images, 6 tables" for w in (360, 768, 1280)]
    assert "CONSOLE" not in shown.stderr


def test_a_path_may_be_given_as_text(pair, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert pio.write_up(pair, "out") == Path("out/report.html")
