"""`pio describe` explains one plugin."""

from __future__ import annotations

import json

import pytest

from pio._registry import discover

NAMED = [(e.kind, e.name) for e in discover().entries]


@pytest.mark.parametrize(("kind", "name"), NAMED)
def test_every_plugin_can_be_described(pio, kind, name):
    code, out, err = pio("describe", kind, name)
    assert (code, err) == (0, "")
    assert out.startswith(f"{kind} {name}: ")


def test_an_equation_shows_its_mathematics_options_and_source(pio):
    out = pio("describe", "equation", "kdv").out
    for part in ("δ² s_xxx", "x from 0 to 6.28319, periodic", "initial, at t = 0", "delta", "float", "kdv.py", "pio-operators"):  # fmt: skip
        assert part in out


def test_the_same_as_json(pio):
    page = json.loads(pio("describe", "equation", "kdv", "--set", "delta=0.5", "--json").out)
    delta = {"name": "delta", "type": "float", "required": False, "default": 0.1, "given": "0.5"}
    assert delta.items() <= page["options"][0].items()
    assert page["distribution"] == "pio-operators"


@pytest.mark.parametrize("kind", ["eq", "equ", "equations", "Equation"])
def test_kinds_may_be_abbreviated(pio, kind):
    assert pio("describe", kind, "kdv").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["eq", "kdvv"], "no equation named 'kdvv'; did you mean 'kdv'?"),
        (["e", "kdv"], "'e' may mean equation or embedding"),
        (["planet", "kdv"], "no kind of plugin named 'planet'"),
        (["eq", "kdv", "--set", "dleta=1"], "has no option 'dleta'; did you mean 'delta'?"),
        (["eq", "kdv", "--set", "delta=big"], "is of type float; got 'big'."),
        (["eq", "kdv", "--set", "equation.delta=-1"], "δ > 0"),
        (["eq", "kdv", "--set", "delta"], "--set takes key=value"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_two(pio, arguments, message):
    code, out, err = pio("describe", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert message in err


def test_a_plugin_that_lacks_a_method_is_told_which(pio, write, heat):
    path = write("heat.py", heat.replace("def conditions", "def condition"))
    code, _, err = pio("--plugin", path, "describe", "equation", "heat")
    assert code == 2
    assert f"equation 'heat' ({path}) lacks conditions()" in err
    assert err.count("\n") == 1


def test_a_plugin_that_fails_while_explained_is_named(pio, write, heat):
    path = write("heat.py", heat.replace("return {}", "return 1 / 0"))
    code, _, err = pio("--plugin", path, "describe", "equation", "heat")
    assert code == 2
    assert f"equation 'heat' ({path}) cannot be explained: ZeroDivisionError" in err


def test_a_plugin_that_needs_an_option_is_described_without_it(pio, write, heat):
    path = write(
        "heat.py", heat.replace('alpha: float = pio.option(0.1, "diffusivity α")', "alpha: float")
    )
    code, out, _ = pio("--plugin", path, "describe", "equation", "heat")
    assert code == 0
    assert "required" in out


# The axes along which branch and trunk vary, for the architectures of the paper.
PLANS = {
    "vanilla": "f · xt",
    "bx": "fx · xt",
    "tl": "f · fxt",
    "bxtl": "fx · fxt",
    "bxtg": "fx · fxt",
    "tf": "f · fxt",
    "bxtf": "fx · fxt",
    "modified": "fxt · fxt",
}


@pytest.mark.parametrize("name", [n for kind, n in NAMED if kind == "architecture" and n in PLANS])
def test_an_architecture_shows_what_it_reads_and_its_plan(pio, name):
    details = json.loads(pio("describe", "arch", name, "--json").out)["details"]
    shown = {row["label"]: row["text"] for row in details}
    assert shown["branch"].startswith("reads u")
    assert shown["plan"] == PLANS[name]


def test_an_equation_shows_where_its_functions_come_from(pio):
    out = pio("describe", "equation", "diffusion-reaction").out
    assert (
        "GaussianField(coordinate=x, count=101, length_scale=0.2, deviation=1), 101 sensors" in out
    )
    assert "x = 0 … 1" in out


def test_a_summary_is_said_once(pio, write, heat):
    path = write("heat.py", heat)
    summary = pio("--plugin", path, "describe", "eq", "heat", "--json").out
    summary = json.loads(summary)["summary"]
    assert pio("--plugin", path, "describe", "eq", "heat").out.count(summary) == 1


def test_what_an_ansatz_misses_is_told(pio, write, heat):
    assert "it meets the conditions exactly" in pio("describe", "eq", "burgers").out.replace(
        "\n", " "
    )
    loose = heat.replace("inputs: Any = None", 'inputs = pio.GaussianField(domain["x"], 16, 0.5)')
    loose = loose.replace(
        "def conditions",
        "def ansatz(self, n, u):\n            return u + n\n\n        def conditions",
    )
    _, out, err = pio("--plugin", write("heat.py", loose), "describe", "eq", "heat")
    assert "does not meet initial" in " ".join(out.split()), err
