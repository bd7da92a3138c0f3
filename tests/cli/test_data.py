"""`pio data` makes, certifies and shows reference solutions."""

from __future__ import annotations

import json

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PIO_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def lines(out):
    return [json.loads(line) for line in out.splitlines()]


def test_make_makes_every_reference_and_then_finds_it(pio):
    arguments = ("data", "make", "advection", "--functions", 5, "--json")
    first, second = (lines(pio(*arguments).out) for _ in range(2))
    assert [row["reference"] for row in first] == ["exact", "box"]
    assert [row["made"] for row in first + second] == [True, True, False, False]
    assert first[0]["shape"] == [5, 101, 101]
    assert 0.003 < first[1]["error"] < 0.02
    with np.load(second[0]["file"]) as kept:
        assert kept["u"].shape == (5, 101)


def test_make_as_a_table(pio):
    code, out, err = pio("data", "make", "kdv", "--functions", 2)
    assert (code, err) == (0, "")
    for part in ("spectral", "2×129×101", "the truth", ".npz"):
        assert part in out


def test_options_seeds_and_references_are_honoured(pio):
    base = ("data", "make", "burgers", "--functions", 2, "--json")
    files = {
        lines(pio(*base, *extra).out)[0]["file"]
        for extra in [(), ("--set", "nu=0.02"), ("--seed", 1), ("--set", "equation.nu=0.02")]
    }
    assert len(files) == 3


def test_certify_says_what_was_measured(pio):
    code, out, _ = pio("data", "certify", "burgers", "--functions", 2, "--json")
    (found,) = lines(out)
    assert (code, found["holds"]) == (0, True)
    assert set(found["findings"]) >= {"error", "order of convergence", "mass", "energy", "residual"}
    table = pio("data", "certify", "diffusion-reaction", "--functions", 1).out
    assert "order of convergence" in table
    assert "holds" in table


def test_certify_fails_when_a_bound_is_missed(pio, write, heat):
    path = write("heat.py", heat + WRONG)
    code, out, _ = pio("--plugin", path, "data", "certify", "wrong", "--functions", 1)
    assert code == 1
    assert "missed" in out


WRONG = '''
    import numpy as np

    X = pio.Coordinate("x", 0.0, 2 * np.pi, periodic=True)

    @dataclass(frozen=True)
    class Wrong:
        """s_t = -s_xx, whose solver takes it for s_t = s_xx."""

        domain = pio.Domain(X, pio.Coordinate("t"))
        inputs = pio.PeriodicField(X, 9, (1.0,))
        grid = {"x": np.linspace(0, 6, 7), "t": np.linspace(0, 1, 5)}
        unknowns = ("s",)

        def residual(self, s_t, s_xx):
            return s_t + s_xx

        def conditions(self):
            return ()

        @property
        def references(self):
            def solve(u, points, refine):
                return pio.read(self.inputs, u, points["x"])[:, :, None] * np.exp(-points["t"])

            return {"exact": pio.Reference(solve, "separated", 2.0)}

    @pio.hookimpl
    def pio_equations():
        return {"wrong": Wrong}
'''


@pytest.mark.parametrize("equation", ["advection", "kdv"])
def test_show_draws_a_figure(pio, tmp_path, equation):
    path = tmp_path / "figure.png"
    code, out, _ = pio("data", "show", equation, "--functions", 2, "-o", path)
    assert (code, out.strip()) == (0, str(path))
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("make", "burgerz"), "no equation named 'burgerz'; did you mean 'burgers'"),
        (("make", "burgers", "--set", "nu=-1"), "viscosity ν > 0"),
        (("make", "burgers", "--set", "mu=1"), "mu"),
        (
            ("make", "advection", "--reference", "bix"),
            "no reference named 'bix'; did you mean 'box'",
        ),
        (("make", "kdv", "--functions", "0"), "0"),
        (("show", "kdv", "--functions", "1", "-o", "/no/such/place.png"), "cannot write"),
    ],
)
def test_wrong_commands_get_one_clear_message(pio, arguments, message):
    code, out, err = pio("data", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err
