"""Checks of a model made with the plugin: what differentiates, compiles, is saved, and learns."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from pio._batch import Batch
from pio._config import presets, resolve
from pio._fields import asked
from pio._loss import Loss
from pio._model import Model
from pio._run import create_run, load_run
from pio._weighting import Weighting
from pio.testing._built import build, model, names, values
from pio.testing._check import check, require
from pio.testing._plain import Bare, Ones, Plain, Problem, equipped
from pio.testing._subject import Subject
from pio.testing._try import block, compiled, functions, gap, parameters, parts

MODELS = ("equation", "architecture", "embedding")


@check(*MODELS, after="makes fields sampling sensors reads outputs groups aligned broadcasts")
def derivatives(subject: Subject) -> None:
    """Fields by Taylor series agree with plain automatic differentiation."""
    found = values(subject), values(subject, "block", 64, "nested")
    for name in names(subject):
        distance = gap(*(f[name] for f in found))
        require(
            distance < 1e-7,
            f"{name} with {subject.noun} differs by {distance:.2g} (relative) between Taylor series and nested "
            "jax.jvp.",
            "a custom derivative rule (jax.custom_jvp) in it is wrong, or something in it is not differentiable "
            "there; write it in plain jax.numpy.",
        )


@check(
    *MODELS, after="makes options fields sampling sensors reads outputs groups aligned broadcasts"
)
def compiles(subject: Subject) -> None:
    """Under jit it is traced once for equal ones, and whenever it is traced, gives the same numbers."""
    m = model(subject)
    params, traces = parameters(m), []
    batch = block(m.equation, functions(m.equation))

    def fields(m: Model, params: Any, batch: Batch) -> Any:
        traces.append(m)
        return m.fields(params, batch, names(subject))

    again = build(subject, subject.registry.make(subject.kind, subject.name, dict(subject.options)))
    jitted = compiled(fields, static_argnums=0)
    first = jitted(m, params, batch)
    jitted(again, params, batch)
    require(
        len(traces) == 1,
        f"a second {subject.noun} with the same options is traced and compiled anew.",
        "write it as a dataclass, with @dataclass(frozen=True), whose fields are numbers, text or tuples.",
    )
    for name, value in values(subject).items():
        distance = gap(first[name], value)
        require(
            distance < 1e-9,
            f"{name} with {subject.noun} differs by {distance:.2g} (relative) when it is traced a second time.",
            "use nothing that changes between calls: no global variable, no NumPy random number; draw parameters "
            "from the key.",
        )


@check(*MODELS, after="makes fields sampling sensors reads outputs groups aligned broadcasts")
def precision(subject: Subject) -> None:
    """In single and double precision numbers keep their type, and agree."""
    m = model(subject)
    found: dict[int, dict[str, Any]] = {}
    for bits in (32, 64):
        given = values(subject, "block", bits)
        asks = asked(m.equation.residual)
        residual = parts(m.equation.residual(**{n: given[n] for n in asks}))
        found[bits] = {**given, **{f"residual {n}".strip(): v for n, v in residual.items()}}
        for what, value in found[bits].items():
            require(
                value.dtype == f"float{bits}",
                f"{what} with {subject.noun} is {value.dtype} where u, coordinates and parameters are float{bits}.",
                "turn NumPy constants into arrays of the type at hand: jnp.asarray(constant, x.dtype); Python numbers "
                "adapt by themselves.",
            )
    for what, value in found[64].items():
        distance = gap(found[32][what], value)
        require(
            distance < 1e-2,
            f"{what} with {subject.noun} differs by {distance:.2g} (relative) between single and double precision.",
            "look for differences of nearly equal numbers, or for powers that leave the range of float32.",
        )


@check(
    *MODELS,
    after="makes options fields sampling sensors reads outputs groups aligned presets broadcasts",
)
def saved(subject: Subject) -> None:
    """A model that is saved and loaded predicts the same."""
    registry, chosen = equipped(subject)
    m = model(subject)
    if subject.kind == "equation":
        chosen["preset"] = list(presets(subject.product))[-1]  # the shortest, as a rule
    elif not isinstance(m.equation, Problem):
        known = subject.registry.of("equation")
        [name] = [n for n in known if subject.registry.load("equation", n) is type(m.equation)][:1]
        chosen |= {"equation": {"name": name}, "embedding": {"name": "pio-bare"}}
    else:
        chosen["equation"] = {"name": "pio-problem", "periodic": m.equation.periodic}
    u = functions(m.equation, 2)
    points = {n: np.asarray(p)[:2] for n, p in m.equation.grid.items()}
    with tempfile.TemporaryDirectory() as directory:
        config = resolve(registry, config=chosen)
        run = create_run(config, registry, Path(directory) / "run")
        dtype = jnp.dtype(f"float{config.train.precision}")
        with jax.enable_x64(config.train.precision == 64):
            params = run.model.init(jax.random.key(0), dtype)
        run.write_model(params, 0)
        again = load_run(run.path, registry)
        before = type(run)(run.path, config, registry)
        before.__dict__["params"] = params
        one, other = (r.predict(u, **points) for r in (before, again))
    for name, value in _named(one).items():
        require(
            np.array_equal(value, _named(other)[name]),
            f"{name} with {subject.noun} changes by {gap(value, _named(other)[name]):.2g} (relative) when a model is "
            "saved and loaded.",
            "let everything that is learned be a parameter, and everything else follow from the options: nothing drawn "
            "at random when it is made.",
        )


def _named(found: Any) -> Mapping[str, Any]:
    return found if isinstance(found, Mapping) else {"s": found}


@check(
    *MODELS,
    "weighting",
    after="makes fields sampling sensors reads outputs groups aligned broadcasts weights state",
)
def trains(subject: Subject) -> None:
    """A few steps of training decrease the loss."""
    if subject.kind == "weighting":
        m, weighting = Model(Problem(), Plain(), Bare()), subject.product
    else:
        m, weighting = model(subject), Ones()
    losses = descent(m, weighting)
    require(
        all(np.isfinite(path).all() for path in losses.values()),
        f"with {subject.noun} the loss or its gradient is not finite after "
        f"{min(int(np.isfinite(p).sum()) for p in losses.values())} steps.",
        "look for a root, a logarithm or a quotient whose derivative is infinite somewhere in the domain.",
    )
    require(
        any(path[-1] < path[0] for path in losses.values()),
        f"five steps of Adam with {subject.noun} do not decrease the loss: "
        + "; ".join(f"rate {r:g}: {p[0]:.6g} to {p[-1]:.6g}" for r, p in losses.items())
        + ".",
        "let the gradient pass: no rounding, comparison, stop_gradient or NumPy function between parameters and "
        "the residual.",
    )


RATES = (1e-2, 1e-3, 1e-5)


def descent(m: Model, weighting: Weighting) -> dict[float, np.ndarray]:
    """The mean squares, all terms together, along five steps with each of some learning rates."""
    loss = Loss(m, weighting)
    batch = block(m.equation, functions(m.equation, 2))
    batches = dict.fromkeys(loss.terms, batch)
    shapes = {name: batch.at(**term.at).shape for name, term in loss.terms.items()}
    rows = {n: jnp.arange(np.prod(s), dtype=jnp.int32).reshape(s) for n, s in shapes.items()}
    counts = {key: rows[owner].size for key, owner in loss.owners.items()}
    transformation = optax.inject_hyperparams(optax.adam)(learning_rate=1e-2)
    started = m.init(jax.random.key(1), jnp.float64)
    state = weighting.init(counts)

    def step(params: Any, optimizer: Any, state: Any, number: Any) -> Any:
        outcome, slope = loss.value_and_grad(params, state, batches, number, rows)
        with jax.numpy_dtype_promotion("standard"):
            updates, optimizer = transformation.update(slope, optimizer, params)
            params = optax.apply_updates(params, updates)
        total = sum(jnp.asarray(s, jnp.float64) for s in outcome.squares.values())
        return total, params, optimizer, outcome.weighting

    advance = compiled(step)
    paths = {}
    for rate in RATES:
        with jax.numpy_dtype_promotion("standard"):
            optimizer = transformation.init(started)
            optimizer.hyperparams["learning_rate"] = jnp.asarray(rate, jnp.float32)
        now, path = (started, optimizer, state), []
        for number in range(6):
            total, *rest = advance(*now, jnp.asarray(number, jnp.int32))
            now = tuple(rest)
            path.append(float(total))
        paths[rate] = np.array(path)
        if path[-1] < path[0]:
            break
    return paths
