"""Functions that work point by point: what they make of fields, and what to say if they raise or return something odd."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from pio._fields import asked
from pio.testing._built import model
from pio.testing._check import Failure, blame, culprit, require
from pio.testing._subject import Subject
from pio.testing._try import parts

ELEMENTWISE = (
    "fields are aligned on the domain's axes, of length one where they do not vary; use arithmetic that broadcasts, "
    "point by point, and no index, sum or matrix product."
)


def evaluated(
    who: str, function: Callable[..., Any], given: Mapping[str, Any], unknowns: int = 1
) -> dict[str, Any]:
    """What a function makes of fields, as it does in training; or a failure that tells why not."""
    fields = {name: given[name] for name in asked(function)}
    try:
        jax.eval_shape(lambda **traced: _kept(function(**traced)), **fields)
        found = function(**fields)
    except Exception as error:
        raise _raised(who, error, fields) from error
    require(
        found is not None,
        f"{who} returned None; is a `return` missing?",
        "return the equation, all on one side: return s_t - self.alpha * s_xx.",
    )
    require(
        not isinstance(found, tuple | list),
        f"{who} returned a {type(found).__name__}; "
        + ("one unknown returns an array." if unknowns == 1 else "a system returns a mapping."),
        "leave out the brackets, or a comma at the end of the line."
        if unknowns == 1
        else 'give each residual a name: {"first": p_t - q, "second": q_t + p}.',
    )
    return parts(found)


def _kept(found: Any) -> Any:
    """Arrays alone, which is what can be traced."""
    return [leaf for leaf in jax.tree.leaves(found) if hasattr(leaf, "dtype")]


def _raised(who: str, error: Exception, fields: Mapping[str, Any]) -> Failure:
    """An exception, with the mend for what it is."""
    text, what = str(error).lower(), f"{who} raised {blame(error)}"
    if isinstance(error, jax.errors.TracerBoolConversionError) or "truth value" in text:
        return Failure(
            f"{what}.",
            "use jnp.where(s > 1, this, that) in place of `if`, `and` and `or`: s is an array.",
        )
    if isinstance(error, jax.errors.TracerArrayConversionError):
        return Failure(
            f"{what}.",
            "use jax.numpy in place of NumPy's functions: JAX differentiates what it sees.",
        )
    if isinstance(error, jax.errors.ConcretizationTypeError):
        return Failure(
            f"{what}.", "use jax.numpy, and no float(s) or int(s): s is an array that JAX traces."
        )
    if any(word in text for word in ("shape", "broadcast", "dimension", "index", "axis")):
        shapes = ", ".join(f"{n} {jnp.shape(v)}" for n, v in fields.items())
        return Failure(f"{what} with fields of shapes {shapes}.", ELEMENTWISE)
    return Failure(
        f"{what}.", "look at that line." if culprit(error) else "look at what it computes."
    )


def require_ansatz(subject: Subject) -> None:
    """The ansatz takes as many outputs of the network as there are unknowns, and gives one of each back."""
    equation = subject.product
    if not hasattr(equation, "ansatz"):
        return
    m, names = model(subject), equation.unknowns
    one = jnp.zeros((1,) * len(equation.domain.axes))
    points = {c.name: one + c.low for c in equation.domain.coordinates}
    u = jnp.zeros((1, len(equation.inputs.sensors)))
    listed = ", ".join(f"n[{k}]" for k in range(len(names)))
    mend = (
        f"with {len(names)} unknowns n is a tuple, {listed}: return one form for each of {', '.join(names)}, with its own."
        if len(names) > 1
        else "return one array, made of n, coordinates and u."
    )

    def form(u: Any) -> Any:
        return m.constrain((one,) * len(names), {**points, **m.consult(u)(points, m.consults)})

    try:
        found = jax.eval_shape(form, u)
    except Exception as error:
        line = "" if len(names) > 1 or not culprit(error) else "look at that line; "
        raise Failure(f"{subject.noun}.ansatz raised {blame(error)}.", line + mend) from error
    kind = f"a tuple of {len(found)}" if len(found) > 1 else "one array"
    require(len(found) == len(names), f"{subject.noun}.ansatz returned {kind}.", mend)
