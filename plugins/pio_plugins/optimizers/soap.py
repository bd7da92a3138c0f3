"""SOAP (Vyas et al., 2024): Adam in the eigenbasis of Shampoo's preconditioner.

For a matrix W with gradient G, two moving averages

    L ← β L + (1 − β) G Gᵀ        R ← β R + (1 − β) Gᵀ G

have eigenvectors Q_L and Q_R. In these coordinates the gradient is G' = Q_Lᵀ G Q_R, and its entries
are nearly uncorrelated; that is where Adam's entry-by-entry scaling makes sense. The step is
Adam's there, turned back:

    M ← β₁ M + (1 − β₁) G         V ← β₂ V + (1 − β₂) G'²
    ΔW = −η Q_L [ (Q_Lᵀ M Q_R) / (√V + ε) ] Q_Rᵀ        (M and V without their bias)

Every few steps, one step of power iteration, Q ← qr(L Q), follows the eigenvectors as they move;
columns are first sorted by their eigenvalue estimates, and V with them, because QR keeps an order.
The very first gradient only sets up L and R, whose eigenvectors are then computed in full, and moves
nothing: in its own eigenbasis it is diagonal, and what Adam would divide elsewhere is rounding.

Vectors, and sides of a matrix longer than `largest`, are left in their own coordinates: Adam.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

import pio
from pio_plugins.optimizers._bounds import require_decay, require_positive, require_weight_decay

Side = Literal["left", "right"]


class SOAPState(NamedTuple):
    """Steps taken, Adam's moments, and for each side of a matrix, `path left`, a gram matrix and its basis."""

    taken: Int[Array, ""]
    mean: Any
    square: Any
    gram: dict[str, Float[Array, "n n"]]
    basis: dict[str, Float[Array, "n n"]]


@dataclass(frozen=True)
class SOAP:
    """Adam in a rotated basis that follows the gradient's correlations; the best we know for PDE residuals."""

    learning_rate: float = pio.option(3e-3, "peak learning rate")
    decay: Literal["cosine", "exponential", "constant"] = pio.option(
        "cosine", "how the rate falls; cosine ends with the run"
    )
    factor: float = pio.option(0.95, "exponential: the rate is multiplied by this…")
    every: float = pio.option(200.0, "…every so many steps, continuously")
    warmup: float = pio.option(0.02, "steps of linear rise, or a share of the run if below one")
    floor: float = pio.option(0.0, "least rate, as a share of the peak")
    b1: float = pio.option(0.95, "decay of the mean gradient")
    b2: float = pio.option(0.95, "decay of the mean square, and of the gram matrices")
    eps: float = pio.option(1e-8, "added to the root mean square")
    precondition_frequency: int = pio.option(5, "steps between refreshments of the basis")
    largest: int = pio.option(1024, "longest side of a matrix that gets a basis")
    weight_decay: float = pio.option(0.0, "decoupled; times the learning rate")
    clip: float | None = pio.option(None, "bound on the gradient's norm, or none")

    def __post_init__(self) -> None:
        _ = self._schedule
        require_decay(b1=self.b1, b2=self.b2)
        require_positive(eps=self.eps, largest=self.largest)
        require_weight_decay(self.weight_decay)
        if self.precondition_frequency < 1:
            raise pio.PioError(
                "SOAP refreshes its basis every 1 step or more "
                f"(got precondition_frequency = {self.precondition_frequency})."
            )

    @property
    def _schedule(self) -> pio.Schedule:
        return pio.Schedule(
            self.learning_rate, self.warmup, self.decay, self.factor, self.every, self.floor
        )

    def transform(self, steps: int) -> optax.GradientTransformationExtraArgs:
        soap = optax.chain(
            scale_by_soap(self.b1, self.b2, self.eps, self.precondition_frequency, self.largest),
            optax.add_decayed_weights(self.weight_decay),
            optax.scale_by_learning_rate(self._schedule.over(steps)),
        )
        return pio.clipped(soap, self.clip)

    def rate(self, step: Any, steps: int) -> Float[Array, ""]:
        return self._schedule.rate(step, steps)


def scale_by_soap(
    b1: float = 0.95,
    b2: float = 0.95,
    eps: float = 1e-8,
    every: int = 10,
    largest: int = 1024,
) -> optax.GradientTransformation:
    """The direction of SOAP, without learning rate and weight decay."""

    def init(params: Any) -> SOAPState:
        sides = {
            f"{path} {side}": jnp.zeros((n, n), leaf.dtype)
            for path, leaf in _named(params)
            for side, n in _sides(leaf, largest).items()
        }
        return SOAPState(
            taken=jnp.zeros((), jnp.int32),
            mean=jax.tree.map(jnp.zeros_like, params),
            square=jax.tree.map(jnp.zeros_like, params),
            gram=sides,
            basis={name: jnp.eye(len(gram), dtype=gram.dtype) for name, gram in sides.items()},
        )

    def update(grads: Any, state: SOAPState, params: Any = None) -> tuple[Any, SOAPState]:
        del params
        with jax.default_matmul_precision("highest"):  # a basis is orthogonal, also on accelerators
            return _update(grads, state, b1, b2, eps, every, largest)

    return optax.GradientTransformation(init, update)


def _update(
    grads: Any, state: SOAPState, b1: float, b2: float, eps: float, every: int, largest: int
) -> tuple[Any, SOAPState]:
    named = dict(_named(grads))
    sides = {path: tuple(_sides(g, largest)) for path, g in named.items()}
    gram = {
        f"{path} {side}": b2 * state.gram[f"{path} {side}"] + (1 - b2) * _gram(g, side)
        for path, g in named.items()
        for side in sides[path]
    }
    moves = state.taken > 0

    def adam(path: Any, g: Array, mean: Array, square: Array) -> tuple[Array, Array, Array]:
        name = _name(path)
        basis = {side: state.basis[f"{name} {side}"] for side in sides[name]}
        n = jnp.maximum(state.taken, 1).astype(g.dtype)
        mean = jnp.where(moves, b1 * mean + (1 - b1) * g, mean)
        square = jnp.where(moves, b2 * square + (1 - b2) * _into(g, basis) ** 2, square)
        unbiased = _into(mean, basis) / (1 - b1**n)
        step = unbiased / (jnp.sqrt(square / (1 - b2**n)) + eps)
        return jnp.where(moves, _out_of(step, basis), jnp.zeros_like(g)), mean, square

    found = jax.tree_util.tree_map_with_path(adam, grads, state.mean, state.square)
    updates, mean, square = jax.tree.transpose(
        jax.tree.structure(grads), jax.tree.structure((0, 0, 0)), found
    )
    basis, square = _follow(state, gram, square, every)
    return updates, SOAPState(state.taken + 1, mean, square, gram, basis)


def _follow(
    state: SOAPState, gram: dict[str, Array], square: Any, every: int
) -> tuple[dict[str, Array], Any]:
    """The next basis: as it was, refreshed, or made; and the mean squares in the order of its columns."""
    keep, refresh, make = 0, 1, 2
    now = jnp.where(state.taken % every == 0, refresh, keep)
    now = jnp.where(state.taken == 0, make, now)

    def kept(basis: dict[str, Array], square: Any) -> tuple[dict[str, Array], Any]:
        return basis, square

    def refreshed(basis: dict[str, Array], square: Any) -> tuple[dict[str, Array], Any]:
        own = now == refresh
        order = {name: _order(gram[name], q) for name, q in basis.items()}
        turned = {
            name: jnp.where(own, _power(gram[name], q[:, order[name]]), q)
            for name, q in basis.items()
        }

        def sort(path: Any, v: Array) -> Array:
            for axis, side in enumerate(("left", "right")):
                if (name := f"{_name(path)} {side}") in order:
                    v = jnp.where(own, jnp.take(v, order[name], axis), v)
            return v

        return turned, jax.tree_util.tree_map_with_path(sort, square)

    def made(basis: dict[str, Array], square: Any) -> tuple[dict[str, Array], Any]:
        own = now == make
        return {n: jnp.where(own, _eigenvectors(gram[n]), q) for n, q in basis.items()}, square

    found: tuple[dict[str, Array], Any]
    found = jax.lax.switch(_together(now), (kept, refreshed, made), state.basis, square)
    return found


@jax.custom_batching.custom_vmap
def _together(now: Int[Array, ""]) -> Int[Array, ""]:
    """What is due now; under `vmap`, what is due for any, so that a switch on it stays a switch.

    Otherwise `vmap` over seeds would turn it into a choice between results, all of them computed
    at every step.
    """
    return now


@_together.def_vmap
def _(size: int, batched: Any, now: Array) -> tuple[Array, bool]:
    del size, batched
    return jnp.max(now), False


def _named(tree: Any) -> Iterator[tuple[str, Array]]:
    return ((_name(path), leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(tree))


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator="/")


def _sides(leaf: Array, largest: int) -> dict[str, int]:
    """The sides of a matrix that get a basis, with their lengths."""
    if leaf.ndim != 2:
        return {}
    lengths = zip(("left", "right"), leaf.shape, strict=True)
    return {side: n for side, n in lengths if 1 < n <= largest}


def _gram(g: Float[Array, "i j"], side: str) -> Float[Array, "n n"]:
    return g @ g.T if side == "left" else g.T @ g


def _into(m: Array, basis: dict[str, Array]) -> Array:
    m = basis["left"].T @ m if "left" in basis else m
    return m @ basis["right"] if "right" in basis else m


def _out_of(m: Array, basis: dict[str, Array]) -> Array:
    m = basis["left"] @ m if "left" in basis else m
    return m @ basis["right"].T if "right" in basis else m


def _eigenvectors(gram: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """From the largest eigenvalue down."""
    _, vectors = jnp.linalg.eigh(_scaled(gram))
    return jnp.flip(vectors, 1)


def _order(gram: Float[Array, "n n"], q: Float[Array, "n n"]) -> Int[Array, " n"]:
    """Columns by Rayleigh quotient, the largest first."""
    return jnp.argsort(-jnp.einsum("ij,ij->j", q, gram @ q))


def _power(gram: Float[Array, "n n"], q: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """One step of orthogonal iteration."""
    return jnp.linalg.qr(_scaled(gram) @ q).Q


def _scaled(gram: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """With trace one: squares of small gradients would sink below the smallest float."""
    return gram / jnp.maximum(jnp.trace(gram), float(np.finfo(gram.dtype).tiny))
