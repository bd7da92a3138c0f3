"""Numbers that others published of an architecture."""

from __future__ import annotations

from typing import NamedTuple


class Published(NamedTuple):
    """What a publication reports of one architecture: errors as fractions, 0.01 is 1 %.

    `mean` and `std` are of the relative L2 error over the test functions, then its quartiles, then
    the seconds of a step. From `verdict` on it is beside the published baseline: equivalent, better or
    worse, and the statistics of that. What was not published is none.
    """

    mean: float | None = None
    std: float | None = None
    q1: float | None = None
    median: float | None = None
    q3: float | None = None
    seconds: float | None = None
    verdict: str | None = None
    share: float | None = None
    median_difference: float | None = None
    glass: float | None = None
    spearman: float | None = None

    @property
    def alone(self) -> Published:
        """Without what is beside the published baseline."""
        beside = ("verdict", "share", "median_difference", "glass", "spearman")
        return self._replace(**dict.fromkeys(beside))
