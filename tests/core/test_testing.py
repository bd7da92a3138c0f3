"""Every check catches what it is for, and says so to the author; what is sound passes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import pio
import pio.testing

REGISTRY = pio.Registry(())
CIRCLE = pio.Domain(pio.Coordinate("x", periodic=True), pio.Coordinate("t"))
LINE = pio.Domain(pio.Coordinate("x"), pio.Coordinate("t"))


def result(kind: str, plugin: Any, name: str, **options: Any) -> pio.testing.Result:
    """What one check finds."""
    suite = pio.testing.suite(kind, plugin, registry=REGISTRY, **options)
    [check] = [c for c in suite.checks if c.name == name]
    return suite._result(check)


def assert_caught(kind: str, plugin: Any, name: str, what: str, mend: str = ".") -> None:
    found = result(kind, plugin, name)
    assert found.state == "failed", found
    assert re.search(what, found.what, re.DOTALL), found.what
    assert re.search(mend, found.mend), found.mend


# ---------------------------------------------------------------------------------------------
# Equations


@dataclass(frozen=True)
class Heat:
    """s_t = α s_xx + c s on a circle, s(0, x) = u(x)."""

    alpha: float = pio.option(0.01, "diffusivity α")
    growth: float = pio.option(0.1, "rate of growth c")

    domain: ClassVar[Any] = CIRCLE
    unknowns: ClassVar[Any] = ("s",)

    @cached_property
    def inputs(self) -> Any:
        return pio.PeriodicField(
            self.domain["x"], 24, pio.power_law(4, scale=100.0, tau=3.0, gamma=4.0)
        )

    @property
    def grid(self) -> Any:
        return {"x": np.linspace(0, 1, 17), "t": np.linspace(0, 1, 9)}

    def residual(self, s, s_t, s_xx):
        return s_t - self.alpha * s_xx - self.growth * s

    def ansatz(self, n, t, u):
        return u + t * n

    def conditions(self):
        sides = {"x": 0.0}, {"x": 1.0}
        return (
            pio.Condition("initial", {"t": 0.0}, lambda s, u: s - u),
            pio.Condition("periodic", sides[0], lambda s: s, versus=sides[1]),
            pio.Condition("periodic_x", sides[0], lambda s_x: s_x, versus=sides[1]),
        )

    @property
    def references(self) -> Mapping[str, pio.Reference]:
        return {"modes": pio.Reference(self._solve, "Fourier modes", order=2.0, accuracy=1e-3)}

    def _solve(self, u, points, refine):
        # Each mode decays exactly; growth is added in steps of second order.
        k = 2 * np.pi * np.arange(13)
        x = np.arange(26) / 26
        modes = np.fft.rfft(pio.read(self.inputs, u, x))[:, :13] / 26
        modes[:, 1:] *= 2
        n = 8 * refine
        grown = (1 + self.growth / n + (self.growth / n) ** 2 / 2) ** (n * points["t"])
        decay = np.exp(-self.alpha * k[:, None] ** 2 * points["t"]) * grown
        waves = np.exp(1j * np.outer(points["x"], k))
        return np.einsum("xk,fk,kt->fxt", waves, modes, decay).real


def test_a_sound_equation_passes_every_check():
    found = list(pio.testing.suite("equation", Heat, registry=REGISTRY).results())
    bad = [r for r in found if r.state not in ("passed", "skipped")]
    # Without our plugins there is no optimizer for the plain presets to name.
    assert [r.check for r in bad] == ["saved"], bad
    assert {r.check for r in found if r.state == "skipped"} == {
        "registration",
        "features",
        "presets",
        "laws",
    }


class WrongSign(Heat):
    def residual(self, s, s_t, s_xx):
        return s_t + self.alpha * s_xx - self.growth * s


class MissingTerm(Heat):
    def residual(self, s_t, s_xx):
        return s_t - self.alpha * s_xx


class WrongOrder(Heat):
    def residual(self, s, s_t, s_x):
        return s_t - self.alpha * s_x - self.growth * s


class WrongFactor(Heat):
    def residual(self, s, s_t, s_xx):
        return s_t - 2.5 * self.alpha * s_xx - self.growth * s


class TermTooMany(Heat):
    def residual(self, s, s_t, s_x, s_xx):
        return s_t - self.alpha * s_xx - self.growth * s + np.abs(s_x) ** 1.5


class Garbled(Heat):
    def residual(self, s, s_t, s_xx):
        return s_t * np.cos(20 * s) - self.alpha * s_xx - self.growth * s


class Nothing(Heat):
    def residual(self, s_t):
        return 0 * s_t


@pytest.mark.parametrize(
    ("broken", "what", "mend"),
    [
        (WrongSign, r"WrongSign\.residual leaves .* s_xx 0\.\d+", "with the other sign of s_xx it"),
        (MissingTerm, "of its largest term", r"with -0\.1 s added it would vanish"),
        (WrongOrder, "reference 'modes'", "with s_xx in place of s_x it would vanish"),
        (WrongFactor, "of its largest term", "with 0.4 times s_xx it would vanish"),
        (TermTooMany, "of its largest term", "without s_x it would vanish"),
        (Garbled, "refined 1, 2 and 4 times", "compare the signs, factors and orders"),
        (Nothing, "the same whatever the fields are", "all on one side"),
    ],
)
def test_a_residual_that_is_not_the_solvers_is_caught_and_explained(broken, what, mend):
    assert_caught("equation", broken, "residual", what, mend)


class Drifting(Heat):
    def _solve(self, u, points, refine):
        return super()._solve(u, points, refine) + points["x"][:, None] * points["t"]


def test_a_reference_that_is_not_periodic_is_caught():
    assert_caught("equation", Drifting, "periodic", r"x = 0 and 1 differs", "with periodic ends")
    assert_caught("equation", Drifting, "conditions", "misses condition 'periodic'")


class Overstated(Heat):
    @property
    def references(self):
        return {"modes": pio.Reference(self._solve, "Fourier modes", order=4.0, accuracy=1e-3)}


class Crude(Heat):
    @property
    def references(self):
        return {"modes": pio.Reference(self._solve, "Fourier modes", order=2.0, accuracy=1e-12)}


def test_a_wrong_order_or_accuracy_is_caught():
    assert_caught("equation", Overstated, "order", r"declares order 4, but .* of order 2", "refine")
    assert_caught("equation", Crude, "accuracy", "declares an accuracy of 1e-12, but")


class Single(Heat):
    def _solve(self, u, points, refine):
        return super()._solve(u, points, refine).astype(np.float32)


class Transposed(Heat):
    def _solve(self, u, points, refine):
        return super()._solve(u, points, refine).transpose(0, 2, 1)


class Sharing(Heat):
    def _solve(self, u, points, refine):
        return super()._solve(u - u.mean(0), points, refine)


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (Single, "in float32"),
        (Transposed, r"of shape \(3, 9, 17\) on the grid, where \(f, x, t\) is \(3, 17, 9\)"),
        (Sharing, "among three functions than alone"),
    ],
)
def test_references_that_are_odd_are_caught(broken, what):
    assert_caught("equation", broken, "reference", what)


class Off(Heat):
    def conditions(self):
        return (pio.Condition("initial", {"t": 0.0}, lambda s, u: s + u),)


def test_a_condition_that_the_reference_misses_is_caught():
    assert_caught("equation", Off, "conditions", "misses condition 'initial' by .*, at t = 0")


class Loose(Heat):
    def ansatz(self, n, t, u):
        return u + (t + 0.1) * n


class Tilted(Heat):
    def ansatz(self, n, x, t, u):
        return u + t * (x * n)


def test_an_ansatz_that_misses_a_condition_is_caught():
    assert_caught("equation", Loose, "ansatz", r"Loose\.ansatz misses condition 'initial' at t = 0")
    assert_caught("equation", Tilted, "ansatz", "misses condition 'periodic' at x = 0")


class Misspelt(Heat):
    def residual(self, s_t, s_yy):
        return s_t - s_yy


class Inside(Heat):
    def conditions(self):
        return (pio.Condition("initial", {"t": 0.5}, lambda s, u: s - u),)


def test_fields_and_faces_that_there_are_not_are_caught():
    assert_caught("equation", Misspelt, "fields", "asks for 's_yy'", "one letter per derivative")
    assert_caught("equation", Inside, "fields", "at t = 0.5, but t runs from 0 to 1", "at the ends")


class Averaging(Heat):
    def residual(self, s, s_t, s_xx):
        return s_t - self.alpha * s_xx - self.growth * jnp.mean(s)


class Indexing(Heat):
    def residual(self, s, s_t, s_xx):
        return s_t - self.alpha * s_xx - self.growth * s[:, 0, 0]


class Fixed(Heat):
    def residual(self, s, s_t, s_xx):
        return s_t - self.alpha * s_xx - np.linspace(0, 1, 17) * s


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (Averaging, "depends on the others"),
        (Indexing, r"Indexing\.residual has shape \(9, 1, 9\) at a pairs batch"),
        (Fixed, r"Fixed\.residual raised ValueError.* with fields of shapes s \(3, 2, 3\)"),
    ],
)
def test_a_residual_that_does_not_broadcast_is_caught(broken, what):
    assert_caught("equation", broken, "broadcasts", what, "arithmetic that broadcasts")


@dataclass(frozen=True)
class Space:
    """A function space with one thing wrong."""

    mode: str = "unseeded"
    coordinates: ClassVar[Any] = ("x",)

    @property
    def sensors(self):
        return np.linspace(0, 1, 24)

    def sample(self, key, n):
        if self.mode == "unseeded":
            return jnp.asarray(np.random.default_rng().normal(size=(n, 24)))
        if self.mode == "constant":
            return jnp.ones((n, 1)) * jnp.sin(2 * jnp.pi * self.sensors)
        phase = jax.random.uniform(key, (n, 1))
        return jnp.sin(2 * jnp.pi * (self.sensors + phase))

    def at(self, u, x):
        if self.mode == "linear":
            cells = x * 23
            k = jnp.clip(jnp.floor(cells).astype(int), 0, 22)
            u, k = jnp.broadcast_arrays(u, k[..., None])
            low, high = (jnp.take_along_axis(u, k + d, -1)[..., 0] for d in (0, 1))
            return low + (cells - k[..., 0].astype(x.dtype)) * (high - low)
        basis = jnp.stack([jnp.sin(2 * jnp.pi * x), jnp.cos(2 * jnp.pi * x)], -1)
        points = np.stack([np.sin(2 * np.pi * self.sensors), np.cos(2 * np.pi * self.sensors)])
        shift = 0.3 if self.mode == "shifted" else 0.0
        return pio.contract(u @ np.linalg.pinv(points), basis) + shift


class With(Heat):
    mode: ClassVar[str]

    @property
    def inputs(self):
        return Space(self.mode)


@pytest.mark.parametrize(
    ("mode", "check", "what"),
    [
        ("unseeded", "sampling", "other functions at a second call with the same key"),
        ("constant", "sampling", "the same functions for two different keys"),
        ("shifted", "sensors", r"Space\.at differs from u by 0\.\d+ .* at the sensors"),
        ("linear", "smooth", r"differentiates 2 times by x, but derivative 2 of Space\.at"),
    ],
)
def test_input_functions_that_are_odd_are_caught(mode, check, what):
    assert_caught("equation", type("Odd", (With,), {"mode": mode}), check, what)


class Trace:
    """A space that is another one every time."""

    coordinates, sensors = ("x",), np.linspace(0, 1, 24)
    sample, at = Space.sample, Space.at
    mode = "sound"


class Anew(Heat):
    @property
    def inputs(self):
        return Trace()


def test_a_space_that_is_compiled_again_and_again_is_caught():
    assert_caught("equation", Anew, "spaces", "another Trace for each Anew", "frozen dataclass")


class Dishonest(Heat):
    axes: ClassVar[Any] = ("f",)

    @property
    def features(self):
        return {"u t": pio.Feature(self.axes, lambda u, p: u[..., :1] * p["t"][..., None])}


class Wasteful(Dishonest):
    axes: ClassVar[Any] = ("f", "x", "t")


def test_dishonest_features_are_caught():
    assert_caught(
        "equation", Dishonest, "features", r"declares the axes \('f',\), but varies along t"
    )
    assert_caught(
        "equation", Wasteful, "features", "does not vary along x", r"Feature\(\('f', 't'\)"
    )


class Doubled(Heat):
    def residual(self, s, s_t, s_xx):
        return s_t - np.float64(self.alpha) * jnp.asarray(s_xx, jnp.float64)


class Deaf(Heat):
    def residual(self, s_t, s_xx):
        return jax.lax.stop_gradient(s_t - self.alpha * s_xx)

    def conditions(self):
        return ()


def test_a_loss_that_cannot_be_learned_from_is_caught():
    assert_caught("equation", Deaf, "trains", "five steps of Adam .* do not decrease the loss")


def test_a_number_that_changes_its_type_is_caught():
    with jax.numpy_dtype_promotion("standard"):
        assert_caught("equation", Doubled, "precision", "residual .*is float64 where", "x.dtype")


class List(Heat):
    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__


@dataclass(frozen=True)
class Odd(Heat):
    table: Any = 1j


def test_options_that_no_config_can_hold_are_caught():
    assert_caught(
        "equation", List, "options", "made with the same options are not equal", "dataclass"
    )
    assert_caught("equation", Odd, "options", "cannot hold table", "numbers, text")


class Presets(Heat):
    @property
    def presets(self):
        plain = pio.testing._plain.Problem().presets["fast"]
        return {
            "fast": plain,
            "odd": plain.__class__(**{**vars(plain), "embedding": pio.Choice("bear")}),
        }


def test_a_preset_that_names_what_there_is_not_is_caught():
    assert_caught(
        "equation", Presets, "presets", "preset 'odd' of Presets .* no embedding named 'bear'"
    )


# ---------------------------------------------------------------------------------------------
# Architectures


@dataclass(frozen=True)
class Net:
    """A network with one thing wrong, in Haiku."""

    mode: str = pio.option("sound", "what is wrong")

    @property
    def reads(self):
        trunk = ("t", "x", "û(x)") if self.mode == "misspelt" else ("t", "x")
        return {"branch": ("t",) if self.mode == "blind" else ("u",), "trunk": trunk}

    def network(self, outputs):
        def forward(inputs):
            b = jnp.tanh(pio.Join(5, "branch")(inputs["branch"]))
            h = jnp.tanh(pio.Join(5, "trunk")(inputs["trunk"]))
            if self.mode == "averaging":
                h = jnp.broadcast_to(jnp.mean(h, 1, keepdims=True), h.shape)
            if self.mode == "impure":
                h = h * np.random.default_rng().uniform(0.5, 1.5, 5)
            if self.mode == "infinite":
                h = jnp.sqrt(h - h)
            out = [hk.Linear(1, name=f"out_{k}")(b * h)[..., 0] for k in range(outputs)]
            if self.mode == "flat":
                return tuple(v.ravel() for v in out)
            return tuple(out[:1]) if self.mode == "one" else tuple(out)

        pure = hk.without_apply_rng(hk.transform(forward))
        if self.mode == "keyless":
            return pio.Network(lambda key, i: pure.init(jax.random.key(0), i), pure.apply)
        return pio.Network(pure.init, pure.apply)


def test_a_sound_network_passes_every_check():
    found = list(pio.testing.suite("architecture", Net, registry=REGISTRY).results())
    assert {r.state for r in found} == {"passed", "skipped"}, found
    assert [r.check for r in found if r.state == "skipped"] == ["registration"]


@pytest.mark.parametrize(
    ("mode", "check", "what", "mend"),
    [
        (
            "misspelt",
            "reads",
            r"suits no equation: no feature named 'û\(x\)'",
            "features and coord",
        ),
        ("blind", "reads", "nothing of the input function u", "read u"),
        ("keyless", "initialises", "the same parameters whatever the key is", "key"),
        ("averaging", "axes", "an axis is lost, mixed or averaged over", "channels"),
        ("impure", "compiles", "when it is traced a second time", "random"),
        ("infinite", "trains", "not finite", "derivative is infinite"),
        ("flat", "outputs", r"shape \(12,\) at a batch of shape \(2, 2, 3\)", "aligned axes"),
        ("one", "outputs", r"network\(2\) returns a tuple of 1", "one aligned array per output"),
    ],
)
def test_networks_that_are_odd_are_caught(mode, check, what, mend):
    assert_caught("architecture", partial(Net, mode), check, what, mend)


# ---------------------------------------------------------------------------------------------
# Weightings


@dataclass(frozen=True)
class Weights:
    """A weighting with one thing wrong."""

    mode: str = pio.option("sound", "what is wrong")

    @property
    def needs(self):
        return frozenset(
            {"norm"} if self.mode == "misspelt" else {"norms"} if self.mode == "idle" else ()
        )

    def init(self, rows):
        return {"count": 0 if self.mode == "bare" else jnp.zeros((), jnp.int32)}

    def update(self, state, residuals, **given):
        def weight(name, r):
            one = jnp.ones((1,) * r.ndim, r.dtype)
            return {
                "negative": lambda: -one,
                "fragile": lambda: one / jnp.sqrt(jnp.mean(r**2)),
                "hungry": lambda: 1 / (1 + jnp.abs(given["kernels"][name])),
                "curious": lambda: 1 / (1 + jnp.minimum(jnp.nan_to_num(r**2), 1)),
                "scalar": lambda: jnp.ones((), r.dtype),
                "random": lambda: one * np.random.default_rng().uniform(1.0, 2.0),
            }.get(self.mode, lambda: one)()

        count = state["count"] + 1
        after = {"count": count.astype(float) if self.mode == "drifting" else count}
        return {name: weight(name, r) for name, r in residuals.items()}, after


def test_a_sound_weighting_passes_every_check():
    found = list(pio.testing.suite("weighting", Weights, registry=REGISTRY).results())
    assert {r.state for r in found} == {"passed", "skipped"}, found


@pytest.mark.parametrize(
    ("mode", "check", "what", "mend"),
    [
        ("negative", "weights", "a weight of -1 when residuals are ordinary", "positive"),
        ("fragile", "weights", "a weight of (inf|nan) when residuals are all zero", "from below"),
        ("scalar", "weights", r"weights of shape \(\) for residuals of shape \(3, 2, 1\)", "axes"),
        ("bare", "state", "returns 0, which is no array", "asarray"),
        ("drifting", "state", r"changes from .*int32.* to .*float", "dtype"),
        ("hungry", "needs", r"depend on kernels, which its needs \(none\)", "'ck' or 'ntk'"),
        ("curious", "needs", "depend on residuals", "'residuals'"),
        ("misspelt", "needs", "needs norm, which no loss gives", "norms"),
        ("random", "pure", "other weights at a second call", "random"),
    ],
)
def test_weightings_that_are_odd_are_caught(mode, check, what, mend):
    assert_caught("weighting", partial(Weights, mode), check, what, mend)


def test_a_need_that_is_not_used_is_advice():
    found = result("weighting", partial(Weights, "idle"), "needs")
    assert (found.state, found.what) == (
        "advice",
        "Weights declares that it needs norms, but its weights do not depend on it.",
    )


# ---------------------------------------------------------------------------------------------
# Embeddings and optimizers


@dataclass(frozen=True)
class Map:
    """An embedding with one thing wrong, for periodic coordinates alone unless it is the sound one."""

    mode: str = pio.option("sound", "what is wrong")

    def groups(self, domain):
        if self.mode == "names":
            return ("x",)
        if not domain.periodic:
            raise pio.PioError("it is for circles.")
        return tuple((name,) for name in domain.periodic)

    def embed(self, domain, group, *values):
        [x], c = values, domain[group[0]]
        angle = 2 * np.pi * (x - c.low) / c.length
        if self.mode == "half":
            angle = angle / 2
        if self.mode == "kinked":
            angle = jnp.abs(jnp.sin(angle * 1.3))
        if self.mode == "random":
            angle = angle + np.random.default_rng().uniform()
        return jnp.stack([jnp.cos(angle), jnp.sin(angle)], 0 if self.mode == "first" else -1)


def test_a_sound_embedding_passes_every_check():
    found = list(pio.testing.suite("embedding", Map, registry=REGISTRY).results())
    assert {r.state for r in found} == {"passed", "skipped"}, found


@pytest.mark.parametrize(
    ("mode", "check", "what", "mend"),
    [
        ("names", "groups", r"is \('x',\)", "tuple of tuples"),
        ("half", "periodic", r"derivative 0 by x at x = 1 and 3 differs by", "whole numbers k"),
        ("kinked", "smooth", "by x differs by", "no abs"),
        ("random", "aligned", "between a grid and the same points", "alone"),
        ("first", "aligned", r"shape \(2, 3\) at coordinates of shapes", "new last axis"),
    ],
)
def test_embeddings_that_are_odd_are_caught(mode, check, what, mend):
    assert_caught("embedding", partial(Map, mode), check, what, mend)


@dataclass(frozen=True)
class Steps:
    """An optimizer with one thing wrong."""

    mode: str = pio.option("sound", "what is wrong")

    def transform(self, steps):
        if self.mode == "nothing":
            return None
        scale = {"upwards": 0.01, "wild": -1e3}.get(self.mode, -0.01)
        return pio.clipped(optax.scale(scale))

    def rate(self, step, steps):
        return jnp.asarray(-0.01 if self.mode == "rate" else 0.01)


def test_a_sound_optimizer_passes_every_check():
    found = list(pio.testing.suite("optimizer", Steps, registry=REGISTRY).results())
    assert {r.state for r in found} == {"passed", "skipped"}, found


@pytest.mark.parametrize(
    ("mode", "check", "what"),
    [
        ("nothing", "transformation", r"Steps\.transform returns NoneType"),
        ("upwards", "descends", r"Steps takes a quadratic from .* to"),
        ("wild", "descends", "leaves the numbers after .* steps|takes a quadratic"),
        ("rate", "rate", r"Steps\.rate is -0\.01"),
    ],
)
def test_optimizers_that_are_odd_are_caught(mode, check, what):
    assert_caught("optimizer", partial(Steps, mode), check, what)


# ---------------------------------------------------------------------------------------------
# Suites


def test_a_suite_runs_checks_behind_what_they_come_after():
    for kind, checks in pio.testing.CHECKS.items():
        names = [c.name for c in pio.testing.suite(kind, "any").checks]
        assert sorted(names) == sorted(checks)
        for check in checks.values():
            before = names[: names.index(check.name)]
            assert set(check.after) & set(names) <= set(before), check


def test_checks_have_a_summary_and_hyphenated_names():
    for checks in pio.testing.CHECKS.values():
        for check in checks.values():
            assert check.summary
            assert not check.summary.endswith(".")
            assert re.fullmatch(r"[a-z]+(-[a-z]+)*", check.name)


class Raising(Heat):
    @property
    def inputs(self):
        return 1 / 0


def test_a_member_that_raises_is_caught_with_its_line():
    line = Raising.inputs.fget.__code__.co_firstlineno + 2
    what = rf"Raising\.inputs raised ZeroDivisionError: .* \(.*test_testing\.py, line {line}\)"
    assert_caught("equation", Raising, "makes", what)


def test_what_cannot_be_made_leaves_the_rest_unrun():
    class Lacking:
        """No equation at all."""

    found = {r.check: r for r in pio.testing.suite("equation", Lacking).results()}
    assert found["makes"].state == "failed"
    assert "lacks domain and inputs" in found["makes"].what
    assert found["residual"].state == "skipped"
    assert found["residual"].what == "it needs 'makes', which failed"


def test_calling_a_suite_raises_all_that_is_wrong():
    suite = pio.testing.suite("optimizer", partial(Steps, "upwards"), registry=REGISTRY)
    with pytest.raises(AssertionError, match=r"descends: Steps takes a quadratic .*\nTo mend it: "):
        suite()


def test_a_kind_or_plugin_that_is_none_is_refused():
    with pytest.raises(
        pio.PioError, match="no checks of a kind 'equations'; did you mean 'equation'"
    ):
        next(pio.testing.suite("equations", Heat).results())
    with pytest.raises(pio.PioError, match="or the class that makes it"):
        next(pio.testing.suite("equation", Heat()).results())
