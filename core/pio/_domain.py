"""A domain: the coordinates a solution depends on."""

from __future__ import annotations

from dataclasses import dataclass

from pio._errors import PioError


@dataclass(frozen=True)
class Coordinate:
    """An interval of one coordinate, named by a single letter.

    Derivatives are named by these letters (`s_xxt`), hence the limit to one.
    """

    name: str
    low: float = 0.0
    high: float = 1.0
    periodic: bool = False

    def __post_init__(self) -> None:
        if len(self.name) != 1 or not self.name.isalpha() or self.name in "fu":
            raise PioError(
                f"a coordinate is named by one letter other than 'f' and 'u' (got {self.name!r}); "
                "fields such as s_xt spell derivatives with these letters."
            )
        if not self.low < self.high:
            raise PioError(
                f"coordinate {self.name!r} runs from {self.low} to {self.high}; "
                "give a low end below the high one."
            )

    @property
    def length(self) -> float:
        return self.high - self.low


@dataclass(frozen=True)
class Domain:
    """A box of coordinates, in the order in which arrays are aligned.

    `Domain(Coordinate("x"), Coordinate("t"))` aligns every array on the axes
    `(f, x, t)`, where `f` counts input functions. Further space coordinates
    are further arguments.
    """

    coordinates: tuple[Coordinate, ...]

    def __init__(self, *coordinates: Coordinate) -> None:
        names = [c.name for c in coordinates]
        if not names or len(set(names)) < len(names):
            raise PioError(f"a domain needs coordinates with distinct names (got {names}).")
        object.__setattr__(self, "coordinates", coordinates)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.coordinates)

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes every array is aligned on: `f`, then the coordinates."""
        return ("f", *self.names)

    @property
    def periodic(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.coordinates if c.periodic)

    def __getitem__(self, name: str) -> Coordinate:
        for coordinate in self.coordinates:
            if coordinate.name == name:
                return coordinate
        raise PioError(f"no coordinate named {name!r}; the domain has {', '.join(self.names)}.")
