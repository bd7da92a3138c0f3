"""Access to files: what cannot be looked at, read or written, said in a sentence."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from os import PathLike, fspath

from pio._errors import PioError, RunError


@contextlib.contextmanager
def reading(path: str | PathLike[str]) -> Iterator[None]:
    """Turn a failure to read, or merely to look, into a sentence."""
    try:
        yield
    except OSError as error:
        raise PioError(f"cannot read {fspath(path)}: {error.strerror or error}.") from error


def unwritable(path: str | PathLike[str], error: OSError) -> PioError:
    """A sentence on a result that could not be written. A full disk is no mistake in the command."""
    from pio._files import FULL  # not at the top: it brings JAX, and `pio runs` lists without

    full = error.errno in FULL
    kind, todo = (RunError, "make room") if full else (PioError, "choose another place")
    return kind(f"cannot write {fspath(path)}: {error.strerror or error}; {todo}.")
