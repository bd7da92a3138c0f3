"""Which equation, architecture, embedding and weighting make sense together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pio._errors import PioError, suggestion
from pio._kernels import require_latents
from pio._model import Model
from pio._registry import Registry
from pio._weighting import NEEDS, Weighting

Options = Mapping[str, Mapping[str, Any]]


def compose(
    registry: Registry,
    equation: str,
    architecture: str,
    embedding: str,
    options: Options | None = None,
    *,
    hard: bool = False,
    centred: bool = False,
) -> Model:
    """A model from names; `options` holds those of each kind.

    A combination that makes no sense is refused with the reason, and with those names that
    would do instead.
    """
    given = options or {}
    names = {"equation": equation, "architecture": architecture, "embedding": embedding}
    parts = {kind: registry.make(kind, name, given.get(kind, {})) for kind, name in names.items()}
    try:
        return Model(**parts, hard=hard, centred=centred)
    except PioError as error:
        advice = [
            f"--{flag} {', '.join(others)}"
            for kind, flag in (("architecture", "arch"), ("embedding", "embedding"))
            if (others := _instead(registry, kind, parts))
        ]
        hint = f" With {equation} you may use {'; or '.join(advice)}." if advice else ""
        raise PioError(
            f"architecture {architecture!r} with embedding {embedding!r} does not suit equation "
            f"{equation!r}: {error}{hint}"
        ) from error


def _instead(registry: Registry, kind: str, parts: Mapping[str, Any]) -> list[str]:
    """The names of a kind that would do. Those that need options, or fail, would not."""
    found = []
    for name in registry.of(kind):
        try:
            Model(**{**parts, kind: registry.make(kind, name)})
        except PioError:
            continue
        found.append(name)
    return sorted(found)


def check(model: Model, weighting: Weighting, rows: Mapping[str, int]) -> None:
    """Refuse a weighting that cannot work with this model, or with points drawn in this way.

    `rows` counts the rows of each term's frozen table, 0 where points are drawn afresh.
    """
    unknown = sorted(weighting.needs - NEEDS)
    if unknown:
        raise PioError(
            f"{type(weighting).__name__} needs {unknown[0]!r}, which no loss can give"
            f"{suggestion(unknown[0], NEEDS)}"
        )
    if "ck" in weighting.needs:
        require_latents(model)
    weighting.init(rows)  # which refuses rows it cannot work with
