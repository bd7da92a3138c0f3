"""A weighting: how much each residual counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Array, Float

Residuals = Mapping[str, Float[Array, "..."]]
"""For each term of the loss, `residual` and the names of conditions, its residuals at the batch."""

NEEDS = frozenset({"residuals", "ck", "ntk", "rows", "points", "inputs", "norms"})
"""What a weighting may ask for."""


@runtime_checkable
class Weighting(Protocol):
    """A pair of pure functions, after `optax.GradientTransformation`.

    The loss is the sum over terms of mean(w r²), with w held constant. `update` returns the weights
    of each term, of a shape that broadcasts with its residuals, and the next state. It receives the
    residuals and, as keywords, what `needs` names:

    - `kernels`: with `"ck"` or `"ntk"` in `needs`, the diagonal of that kernel at each residual, or a
      function without arguments that computes it;
    - `rows`: with `"rows"`, which row of its frozen table each residual belongs to;
    - `points`: with `"points"`, the coordinates of each residual, aligned;
    - `inputs`: with `"inputs"`, the functions u of each term's batch; alone it promises that weights do not
      depend on residuals;
    - `norms`: with `"norms"`, a function without arguments that computes the norm of each term's gradient;

    and always `step`. If `needs` is empty, only the shapes and dtypes of residuals are meant: weights
    that depend on their values need at least `"residuals"`. `init` is told the terms, and how
    many rows each one's table has (0 where points are drawn afresh); it refuses with a
    `pio.PioError` what it cannot work with. Weights have to be finite and positive whatever the residuals are.
    """

    @property
    def needs(self) -> frozenset[str]: ...

    def init(self, rows: Mapping[str, int]) -> Any: ...

    def update(
        self, state: Any, residuals: Residuals, **given: Any
    ) -> tuple[Mapping[str, Float[Array, "..."]], Any]: ...
