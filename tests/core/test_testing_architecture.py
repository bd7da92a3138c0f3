"""Networks with one thing wrong are caught."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.core.caught import REGISTRY, assert_caught

import pio
import pio.testing
from pio._latents import meet


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
            if self.mode == "normalised":
                b = (b - b.mean(0)) / (b.std(0) + 0.1)
            if self.mode == "centred":
                b = b - inputs["branch"][0].mean()
            if self.mode == "first":
                b = b - inputs["branch"][0][:1].sum()
            if self.mode == "piecewise":
                h = jax.nn.relu(pio.Join(5, "bent")(inputs["trunk"]))
            if self.mode == "kinked":
                h = h + jnp.abs(pio.Join(5, "bent")(inputs["trunk"]))
            if self.mode == "impure":
                h = h * np.random.default_rng().uniform(0.5, 1.5, 5)
            if self.mode == "infinite":
                h = jnp.sqrt(h - h)
            out = [hk.Linear(1, name=f"out_{k}")(b * h)[..., 0] for k in range(outputs)]
            if self.mode == "uneven":
                return pio.Latents(*(pio.Affine(v, jnp.ones((5, 5)), jnp.ones(5)) for v in (b, h)))
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
        (
            "normalised",
            "axes",
            "of function 0 changes by .* when the other functions",
            "first axis",
        ),
        ("centred", "axes", "of function 0 changes by .* when the other functions", "first axis"),
        ("first", "axes", "of function 2 changes by .* batch do", "or index"),
        (
            "piecewise",
            "smooth",
            "second derivatives of Net by x are zero almost everywhere",
            "tanh",
        ),
        ("kinked", "smooth", "derivative 2 of Net by x differs by .* kinks", "no relu"),
        ("impure", "compiles", "when it is traced a second time", "random"),
        ("infinite", "trains", "not finite", "derivative is infinite"),
        ("uneven", "outputs", r"the branch of Net\.network\(2\) is pio\.Affine", "a multiple"),
        ("flat", "outputs", r"shape \(12,\) at a batch of shape \(2, 2, 3\)", "aligned axes"),
        ("one", "outputs", r"network\(2\) returns a tuple of 1", "one aligned array per output"),
    ],
)
def test_networks_that_are_odd_are_caught(mode, check, what, mend):
    assert_caught("architecture", partial(Net, mode), check, what, mend)


def test_latents_that_cannot_be_shared_are_refused():
    side = pio.Affine(jnp.ones((1, 1, 1, 5)), jnp.ones((5, 5)), jnp.ones(5))
    with pytest.raises(pio.PioError, match="5 latents cannot be shared equally by 2 unknowns"):
        meet(pio.Latents(side, side), 2)
