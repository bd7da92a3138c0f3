"""The tables of Wei, Chen and Stinis (2025), as studies that `pio reproduce` sets ours beside."""

from __future__ import annotations

from collections.abc import Mapping

from pio import Published, Study

SOURCE = "Wei, Chen and Stinis (2025), arXiv:2509.01679"

# architecture: mean and standard deviation of the error in percent, seconds of an iteration; and the
# quartiles in percent of those that the paper shows as violins.
Row = tuple[float, float, float] | tuple[float, float, float, float, float, float]

# architecture: beside `modified`, the share of functions and the median difference in percent, Glass's Δ if it is
# not equivalent, and Spearman's ρ.
Test = tuple[str, float, float, float | None, float]


def _rows(table: Mapping[str, Row], tests: Mapping[str, Test]) -> dict[str, Published]:
    found = {}
    for name, (mean, std, seconds, *quartiles) in table.items():
        q1, median, q3 = (value / 100 for value in quartiles) if quartiles else (None,) * 3
        found[name] = Published(mean / 100, std / 100, q1, median, q3, seconds)
    for name, (verdict, share, difference, glass, spearman) in tests.items():
        found[name] = found[name]._replace(
            verdict=verdict,
            share=share / 100,
            median_difference=difference / 100,
            glass=glass,
            spearman=spearman,
        )
    return found


ADVECTION = {
    # Against the box scheme (docs/equations.md), which is itself 0.89 % from the exact solution.
    "advection": Study(
        _rows(
            {
                "vanilla": (2.096, 0.569, 0.0089),
                "bx": (1.089, 0.256, 0.0097),
                "tl": (1.513, 0.409, 0.0092),
                "bxtl": (1.002, 0.244, 0.0100),
                "bxtg": (0.925, 0.322, 0.0101, 0.68, 0.85, 1.08),
                "modified": (0.926, 0.315, 0.0181, 0.67, 0.88, 1.10),
            },
            {"bxtg": ("equivalent", 57.0, -0.0063, None, 0.993)},
        ),
        SOURCE,
        reference="box",
    )
}

DIFFUSION_REACTION = {
    # Against the scheme on 101 × 101 points, 0.023 % from the one on 801 × 801.
    "diffusion-reaction": Study(
        _rows(
            {
                "vanilla": (0.224, 0.097, 0.0096),
                "bx": (0.231, 0.115, 0.0118),
                "tl": (0.190, 0.091, 0.0099, 0.14, 0.17, 0.22),
                "bxtl": (0.262, 0.133, 0.0136),
                "bxtg": (0.277, 0.134, 0.0116),
                "modified": (0.205, 0.099, 0.0171, 0.15, 0.18, 0.24),
            },
            {"tl": ("equivalent", 64.9, -0.0127, None, 0.769)},
        ),
        SOURCE,
        reference="published",
    )
}

BURGERS = {
    "burgers-1e-2": Study(
        _rows(
            {
                "vanilla": (1.170, 1.123, 0.0140),
                "bx": (0.504, 0.358, 0.0182),
                "tl": (0.782, 0.571, 0.0144),
                "bxtl": (0.437, 0.329, 0.0193),
                "bxtg": (0.304, 0.187, 0.0195),
                "tf": (0.220, 0.137, 0.0142, 0.15, 0.19, 0.24),
                "bxtf": (0.298, 0.181, 0.0188),
                "modified": (0.190, 0.116, 0.0311, 0.13, 0.16, 0.22),
            },
            {"tf": ("worse", 20.4, 0.0248, 0.397, 0.858)},
        ),
        SOURCE,
        {"nu": 1e-2},
    ),
    "burgers-1e-3": Study(
        _rows(
            {
                "vanilla": (23.012, 14.192, 0.0131),
                "bx": (5.392, 3.815, 0.0176),
                "tl": (9.566, 7.151, 0.0136),
                "bxtl": (5.486, 4.748, 0.0181),
                "bxtg": (2.764, 2.507, 0.0181),
                "tf": (1.038, 1.116, 0.0133, 0.54, 0.72, 1.13),
                "bxtf": (1.244, 1.187, 0.0178),
                "modified": (0.962, 0.920, 0.0299, 0.54, 0.72, 1.10),
            },
            {"tf": ("equivalent", 47.8, 0.0115, None, 0.869)},
        ),
        SOURCE,
        {"nu": 1e-3},
    ),
    "burgers-1e-4": Study(
        _rows(
            {
                "vanilla": (28.773, 12.005, 0.0133),
                "bx": (27.163, 10.892, 0.0178),
                "tl": (24.128, 8.487, 0.0137),
                "bxtl": (23.427, 11.986, 0.0182),
                "bxtg": (13.541, 6.654, 0.0181),
                "tf": (13.715, 6.805, 0.0134, 9.52, 13.00, 16.77),
                "bxtf": (12.094, 6.060, 0.0180, 8.70, 11.75, 15.04),
                "modified": (18.119, 10.371, 0.0301, 11.89, 17.23, 23.64),
            },
            {
                "tf": ("better", 68.8, -3.3255, -0.393, 0.515),
                "bxtf": ("better", 83.0, -4.7989, -0.568, 0.542),
            },
        ),
        SOURCE,
        {"nu": 1e-4},
    ),
}

KDV = {
    "kdv": Study(
        _rows(
            {
                "vanilla": (15.606, 17.957, 0.0223),
                "bx": (6.671, 16.192, 0.0367),
                "tl": (9.216, 15.194, 0.0234),
                "bxtl": (6.837, 16.372, 0.0389),
                "bxtg": (3.554, 12.292, 0.0319, 0.35, 0.45, 1.16),
                "tf": (7.525, 17.463, 0.0251),
                "bxtf": (5.367, 14.556, 0.0371),
                "modified": (4.203, 12.405, 0.0814, 0.31, 0.44, 1.87),
            },
            {"bxtg": ("better", 56.0, -0.0152, -0.054, 0.860)},
        ),
        SOURCE,
    )
}
