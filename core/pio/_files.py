"""Files that are whole or absent, whatever happens while they are written."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from pio._errors import PioError, RunError

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def write(path: Path, content: str | bytes) -> None:
    """Replace a file at once: a reader, or a crash, finds the old one or the new one."""
    data = content.encode() if isinstance(content, str) else content
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        sync(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def sync(directory: Path) -> None:
    """Make renames in a directory survive a power cut."""
    if os.name == "nt":  # there, directories cannot be opened
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def writing(directory: Path, *, begun: bool = True) -> Iterator[None]:
    """Turn a failure to write into a sentence: of a run that has begun, or of a command that cannot begin."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        if error.errno in FULL:
            todo = "make room"
        else:
            todo = "make it writable" if begun else "choose another with --out"
        if begun:
            todo += f", then continue with `pio resume {directory}`"
        kind = RunError if begun else PioError
        raise kind(f"cannot write to {directory}: {why}; {todo}.") from error


def flat(tree: Any) -> dict[str, np.ndarray]:
    """The arrays of a pytree by path, `branch/layer_0/w`, on the host."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    names = [name(path) for path, _ in leaves]
    return dict(zip(names, map(np.asarray, jax.device_get([a for _, a in leaves])), strict=True))


def name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator="/")


def unflat(arrays: Mapping[str, np.ndarray], like: Any) -> Any:
    """The pytree `like` (whose leaves have shapes and types) with arrays by path. Raises `KeyError`."""

    def take(path: Any, leaf: Any) -> Any:
        if leaf.size == 0:
            return np.zeros(leaf.shape, leaf.dtype)
        found = arrays[name(path)]
        if found.shape != leaf.shape or found.dtype != leaf.dtype:
            raise KeyError(name(path))
        return found

    return jax.tree_util.tree_map_with_path(take, like)


def checksum(arrays: Mapping[str, np.ndarray], *more: str) -> str:
    """A digest of names, shapes, types and every bit."""
    digest = hashlib.sha256()
    for text in more:
        digest.update(text.encode() + b"\0")
    for key in sorted(arrays):
        array = arrays[key]
        digest.update(f"{key} {array.shape} {array.dtype.str}\0".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
