"""Checks of an architecture: what it reads, what it returns, and along which axes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pio._batch import Batch
from pio._differences import Stencil
from pio._errors import PioError
from pio._latents import Affine, Latents, meet
from pio._loss import Loss
from pio._model import Model
from pio.testing._built import model, problems, values
from pio.testing._check import Advice, check, measured, require
from pio.testing._plain import Bare, Ones, Problem
from pio.testing._subject import Subject
from pio.testing._try import block, compiled, functions, gap, parameters, same_points


@check("architecture", after="makes")
def reads(subject: Subject) -> None:
    """Every subnetwork reads features that some equation has."""
    wanted = subject.product.reads
    require(
        wanted and all(isinstance(v, tuple) and v for v in wanted.values()),
        f"{subject.noun}.reads is {dict(wanted)!r}.",
        'map each subnetwork to a tuple of features: {"branch": ("u",), "trunk": ("t", "x")}.',
    )
    model(subject)  # which fails if there is no such equation
    every = {name for features in wanted.values() for name in features}
    require(
        every & {"u", "u(x)", "û", "u(x+δ)"},
        f"{subject.noun} reads {', '.join(sorted(every))}, and nothing of the input function u: it would learn one "
        "solution for all.",
        "let a subnetwork read u, u(x), û or u(x+δ).",
    )


@check("architecture", after="makes reads")
def initialises(subject: Subject) -> None:
    """Parameters are drawn from the key, finite, in the precision asked for."""
    m = model(subject)
    keys = jax.random.split(jax.random.key(0), 2)
    first, again, other = (m.init(k) for k in (keys[0], keys[0], keys[1]))
    leaves = jax.tree.leaves(first)
    require(leaves, f"{subject.noun} has no parameters.", "return a pytree of arrays from `init`.")
    mend = "draw every parameter from the key that `init` is given (Haiku does, with hk.get_parameter)."
    require(
        all(map(np.array_equal, leaves, jax.tree.leaves(again))),
        f"{subject.noun} draws other parameters at a second call with the same key.",
        mend,
    )
    require(
        not all(map(np.array_equal, leaves, jax.tree.leaves(other))),
        f"{subject.noun} draws the same parameters whatever the key is.",
        mend,
    )
    require(
        all(jnp.isfinite(leaf).all() for leaf in leaves),
        f"{subject.noun} begins with parameters that are not finite.",
        "look at the initialiser: a variance divided by zero inputs, say.",
    )
    for bits in (32, 64):
        shapes = jax.eval_shape(lambda key, b=bits: m.init(key, jnp.dtype(f"float{b}")), keys[0])
        odd = {str(leaf.dtype) for leaf in jax.tree.leaves(shapes)} - {f"float{bits}"}
        require(
            not odd,
            f"{subject.noun} has parameters in {', '.join(odd)} where its inputs are float{bits}.",
            "give parameters the dtype of the features.",
        )


@measured
def _systems(subject: Subject) -> list[Model]:
    """Models with one unknown and with two."""
    first = model(subject)
    if not isinstance(first.equation, Problem):
        return [first]
    two = Problem(("p", "q"), first.equation.periodic)
    return [first, Model(two, subject.product, Bare())]


@check("architecture", after="makes reads")
def outputs(subject: Subject) -> None:
    """The network returns one aligned, finite value per unknown and point."""
    for m in _systems(subject):
        count = len(m.equation.unknowns)
        batch = block(m.equation, functions(m.equation, 2))
        apply = compiled(lambda p, b, m=m: m.latents(p, b.u)(b.points))
        raw = apply(parameters(m), batch)
        who = f"{subject.noun}.network({count})"
        if isinstance(raw, Latents):
            for side, last in zip(("branch", "trunk"), raw, strict=True):
                _require_affine(who, side, last, count)
            raw = meet(raw, count)
        require(
            isinstance(raw, tuple) and len(raw) == count,
            f"{who} returns {_kind(raw)}.",
            "return pio.Latents(branch, trunk), or a tuple of one aligned array per output, (s,) if there is one.",
        )
        for value in raw:
            fits = np.ndim(value) == len(batch.shape) and all(
                n in (1, most) for n, most in zip(np.shape(value), batch.shape, strict=True)
            )
            require(
                fits,
                f"{who} returns an array of shape {np.shape(value)} at a batch of shape {batch.shape}.",
                "keep the aligned axes (f, x, t), and sum over the channels at the end.",
            )
            require(
                jnp.isfinite(value).all(),
                f"{who} is not finite.",
                "look for an exponential that overflows, or a quotient by zero.",
            )


def _require_affine(who: str, side: str, last: Any, count: int) -> None:
    require(
        isinstance(last, Affine)
        and last.hidden.shape[-1:] == last.w.shape[:1]
        and last.w.shape[1:] == last.b.shape
        and last.b.shape[0] % count == 0,
        f"the {side} of {who} is {_kind(last)}.",
        "return pio.Affine(hidden, w, b) with w of shape (width, latents) and b of (latents,), where latents is a multiple "
        f"of the number of outputs, here {count}: each unknown gets an equal share of them.",
    )


def _kind(value: Any) -> str:
    if isinstance(value, Affine):
        return f"pio.Affine of shapes {', '.join(str(np.shape(part)) for part in value)}"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return f"{type(value).__name__} of shape {np.shape(value)}"


@check("architecture", after="makes reads outputs")
def axes(subject: Subject) -> None:
    """What it says at a point depends on that function and that point alone."""
    m = model(subject)
    whole = block(m.equation, functions(m.equation))
    for name in m.equation.unknowns:
        one, other = values(subject)[name], values(subject, "pairs")[name]
        distance = gap(*same_points(one, other, whole))
        require(
            distance < 1e-7,
            f"{subject.noun} differs by {distance:.2g} (relative) between a block of functions × points and the same "
            "points as pairs, fewer of them: an axis is lost, mixed or averaged over.",
            _POINT_BY_POINT,
        )
    # Pairs repeat every function, so a mean over functions is the same in both: change the others, too.
    u = jnp.asarray(functions(m.equation))
    said = compiled(m.apply)
    among = said(parameters(m), whole)
    for k, others in ((0, "do"), (len(u) - 1, "do"), (0, "go")):
        given = u[:1] if others == "go" else (1.3 * u[::-1] + 0.2).at[k].set(u[k])
        other = said(parameters(m), block(m.equation, given))
        distance = max(gap(among[name][k], other[name][k]) for name in among)
        require(
            distance < 1e-9,
            f"what {subject.noun} says of function {k} changes by {distance:.2g} (relative) when the other functions of "
            f"the batch {others}.",
            "take no mean, norm, maximum or index over the first axis, and no sum over a whole array: u.mean() is over "
            "functions too, u.mean(-1) over the sensors of each.",
        )


_POINT_BY_POINT = (
    "leave the axes (f, x, t) alone, and mix the last one, the channels, only: matrix products and functions point by "
    "point. pio.Join puts features of different axes together."
)


@check("architecture", after="makes reads outputs")
def smooth(subject: Subject) -> None:
    """What it says has two derivatives by every coordinate, without a kink."""
    m = model(subject)
    domain, unknown = m.equation.domain, m.equation.unknowns[0]
    stencils, batches = {}, {}
    for c in domain.coordinates:
        places = c.low + c.length * (np.arange(KINKS) + 0.5) / KINKS
        # Neighbours reach halfway to the next place: no kink lies between them unseen.
        stencils[c.name] = Stencil(places, c.length / KINKS / 8 * np.arange(-4, 5))
        middle = {o.name: jnp.full(1, o.low + 0.43 * o.length) for o in domain.coordinates}
        along = {**middle, c.name: jnp.asarray(stencils[c.name].nodes)}
        batches[c.name] = Batch.block(jnp.asarray(functions(m.equation, 1)), **along)

    def run(params: Any, batches: Any) -> Any:
        spelled = {n: [unknown, f"{unknown}_{n}", f"{unknown}_{n}{n}"] for n in batches}
        return {n: [*m.fields(params, b, spelled[n]).values()] for n, b in batches.items()}

    found = compiled(run)(parameters(m), batches)
    for name in domain.names:
        stencil, length = stencils[name], domain[name].length
        s = [np.asarray(v).reshape(KINKS, 9) for v in found[name]]
        for order in (2, 1):  # a kink shows in both, and is told better by the second
            seen, told = s[order - 1] @ stencil.weights(1), s[order][:, 4]
            # Of a straight line, differences are rounding alone.
            scale = max(np.abs(told).max(), np.abs(seen).max(), 1e-6 * np.abs(s[0]).max() / length)
            distance = float(np.abs(told - seen).max() / max(scale, 1e-300))
            flat = order == 2 and np.abs(told).max() < 1e-9 * scale
            require(
                distance < 0.05,
                f"second derivatives of {subject.noun} by {name} are zero almost everywhere: it is piecewise linear."
                if flat
                else f"derivative {order} of {subject.noun} by {name} differs by {distance:.2g} (relative) from "
                f"differences of the one before it: it has {'kinks' if order == 2 else 'jumps'}, of which no derivative knows.",
                "use tanh, sin, gelu or softplus, and no relu, abs, maximum or where, in subnetworks that read "
                "coordinates: a residual with s_xx learns nothing at a kink.",
            )


KINKS = 40
"""Places along a coordinate where `smooth` looks."""


@check("architecture", after="makes reads outputs")
def uses(subject: Subject) -> None:
    """Every feature that a subnetwork reads changes what it says."""
    m = model(subject)
    batch = block(m.equation, functions(m.equation, 2))
    u = batch.u.reshape(len(batch.u), *(1,) * len(batch.points), -1)
    given = {
        name: tuple(f.value(u, batch.points) for f in reading.features)
        for name, reading in m.plan.items()
    }
    params, count = parameters(m), len(m.equation.unknowns)

    def says(inputs: Any) -> Any:
        raw = m.network.apply(params, inputs)
        return meet(raw, count) if isinstance(raw, Latents) else raw

    run = compiled(says)
    plain = run(given)
    for name, reading in m.plan.items():
        for k, feature in enumerate(reading.names):
            moved = tuple(v * 0.9 + 0.1 if i == k else v for i, v in enumerate(given[name]))
            other = run({**given, name: moved})
            if all(gap(a, b) < 1e-12 for a, b in zip(plain, other, strict=True)):
                raise Advice(
                    f"the {name} of {subject.noun} reads {feature}, which changes nothing of what it says.",
                    f"Leave it out of `reads`: the {name} is evaluated along {feature}'s axes for nothing.",
                )


@check("architecture", after="makes reads outputs")
def suits(subject: Subject) -> None:
    """With every installed equation it has finite gradients, or is refused with a reason."""
    for equation in list(problems(subject))[2:]:  # the plain ones are those that train
        try:
            m = Model(equation, subject.product, Bare())
        except PioError:
            continue
        loss = Loss(m, Ones())
        batch = block(equation, functions(equation, 2), counts=(2,) * len(equation.domain.names))
        params = m.init(jax.random.key(0), jnp.float64)

        def slope(params: Any, batch: Any, loss: Loss = loss) -> Any:
            return loss.value_and_grad(params, (), {"residual": batch})[1]

        grads = jax.tree.leaves(compiled(slope)(params, batch))
        who = f"{subject.noun} with {type(equation).__name__}"
        require(
            all(jnp.isfinite(g).all() for g in grads),
            f"the gradient of the residual of {who} is not finite at the first parameters.",
            "look for a root, norm or quotient that has no derivative at zero.",
        )
        require(
            any(jnp.abs(g).max() > 0 for g in grads),
            f"the gradient of the residual of {who} is zero at the first parameters.",
            "do not begin with all parameters zero, and let the gradient pass.",
        )
