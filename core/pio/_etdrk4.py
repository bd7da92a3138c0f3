"""Conservation laws on a circle, solved by Fourier modes and exponential time differencing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import scipy.fft

from pio._domain import Coordinate

Evaluate = Callable[[np.ndarray], np.ndarray]


def etdrk4(
    initial: Evaluate,
    points: Mapping[str, np.ndarray],
    coordinate: Coordinate,
    *,
    symbol: Evaluate,
    flux: Evaluate,
    cells: np.ndarray,
    steps: np.ndarray,
) -> np.ndarray:
    """Solve s_t + ∂ₓ F(s) = L s on a circle, for many initial functions at once.

    `initial(x)` gives s at t = 0 for every function, `(f, x)`; `symbol(k)` is what L multiplies the
    mode of wavenumber k by; `flux` is F, at most quadratic (a third of the modes is kept free of
    aliases). Each function has its own number of grid `cells` and of time `steps` per unit of time;
    functions with the same are solved together. The answer, on any `points`, is the trigonometric
    interpolant; it is aligned on `(f, x, t)`.

    The scheme is of fourth order: Cox and Matthews (J. Comput. Phys. 176, 2002), its coefficients
    evaluated as in Kassam and Trefethen (SIAM J. Sci. Comput. 26, 2005).
    """
    x, t = np.asarray(points[coordinate.name], float), np.asarray(points["t"], float)
    s = np.empty((len(cells), len(x), len(t)))
    for n, per_unit in np.unique(np.stack([cells, steps], 1), axis=0):
        rows = (cells == n) & (steps == per_unit)
        grid = coordinate.low + coordinate.length * np.arange(n) / n
        # A quadratic flux of modes below n/3 throws its aliases onto modes that are dropped.
        modes = np.arange((n - 1) // 3 + 1)
        k = 2 * np.pi * modes / coordinate.length
        v = scipy.fft.rfft(initial(grid)[rows])[:, modes]
        waves = np.exp(1j * k[:, None] * (x - coordinate.low)) * (2 / n)
        waves[0] /= 2
        basis = np.concatenate([waves.real, -waves.imag])

        def derivative(v: np.ndarray, n: int = n, k: np.ndarray = k) -> np.ndarray:
            f = scipy.fft.rfft(flux(scipy.fft.irfft(v, n)), overwrite_x=True)[:, : len(k)]
            f *= -1j * k
            return np.asarray(f)

        for i, at in enumerate(_march(v, symbol(k), derivative, t, int(per_unit))):
            s[rows, :, i] = np.concatenate([at.real, at.imag], 1) @ basis
    return s


def _march(
    v: np.ndarray, symbol: np.ndarray, n: Evaluate, times: np.ndarray, per_unit: int
) -> Iterator[np.ndarray]:
    """The modes at each of the times, from t = 0 on. `n` is the nonlinear part of v_t."""
    now, table = 0.0, {}
    for time in times:
        substeps = int(np.ceil((time - now) * per_unit - 1e-9))
        # Times such as 0.29 and 0.30 are a rounding error off their spacing: share coefficients.
        dt = round((time - now) / substeps, 14) if substeps else 0.0
        if substeps and dt not in table:
            table[dt] = _coefficients(symbol, dt)
        for _ in range(substeps):
            e, e2, q, f1, f2, f3 = table[dt]
            nv = n(v)
            half = e2 * v
            a = half + q * nv
            na = n(a)
            nb = n(half + q * na)
            nc = n(e2 * a + q * (2 * nb - nv))
            na += nb
            v = e * v + f1 * nv + f2 * na + f3 * nc
        now = time
        yield v


def _coefficients(symbol: np.ndarray, dt: float, circle: int = 64) -> tuple[np.ndarray, ...]:
    """Weights of the scheme, each a mean over a circle around dt·L where no digits cancel."""
    c = dt * np.asarray(symbol)
    z = c[:, None] + np.exp(2j * np.pi * (np.arange(circle) + 0.5) / circle)

    def mean(values: np.ndarray) -> Any:
        weights = dt * values.mean(1)
        return weights if np.iscomplexobj(c) else weights.real

    ez = np.exp(z)
    return (
        np.exp(c),
        np.exp(c / 2),
        mean((np.exp(z / 2) - 1) / z),
        mean((-4 - z + ez * (4 - 3 * z + z**2)) / z**3),
        2 * mean((2 + z + ez * (z - 2)) / z**3),
        mean((-4 - 3 * z - z**2 + ez * (4 - z)) / z**3),
    )
