"""Compiled programs, kept from one command to the next."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import warnings
import zlib
from pathlib import Path
from typing import Any

UNREADABLE = r"Error reading persistent compilation cache entry for '([^']+)'"
"""What JAX says of a program that it cannot read, and compiles again."""

UNWRITABLE = r"Error writing persistent compilation cache entry"
"""What JAX says of a program that it cannot keep, on a full disk for one. It works all the same."""

WORTH = "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"
"""JAX's own variable: how many seconds a program must take to compile to be worth keeping."""


def use_compilation_cache() -> None:
    """Keep compiled programs, so that the same command starts sooner the next time."""
    import jax

    from pio._solutions import cache_directory

    if getattr(jax.config, "jax_compilation_cache_dir", None) is not None:
        return
    directory = cache_directory().parent / "compiled"
    with contextlib.suppress(OSError):
        directory.mkdir(parents=True, exist_ok=True)
        jax.config.update("jax_compilation_cache_dir", str(directory))
        if WORTH not in os.environ:
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
        _mend(directory)


def _mend(directory: Path) -> None:
    """Forget a program that cannot be read, or kept, without a word.

    JAX writes programs in place, so one that was killed meanwhile leaves half of one, and of two that
    begin together one may read what the other is writing. JAX would warn, compile, and not replace it.
    """
    show = warnings.showwarning

    def forget(message: Any, *rest: Any, **more: Any) -> None:
        if re.match(UNWRITABLE, str(message)):
            return
        found = re.match(UNREADABLE, str(message))
        if found is None:
            show(message, *rest, **more)
            return
        # JAX says the program's name, which others share, and not which of them it was.
        alike = [*directory.glob(f"{glob.escape(found[1])}-*")]
        for path in [path for path in alike if not _is_whole(path)] or alike:
            path.unlink(missing_ok=True)

    warnings.showwarning = forget
    for known in (UNREADABLE, UNWRITABLE):
        warnings.filterwarnings("always", message=known)


def _is_whole(path: Path) -> bool:
    """Whether it can be unpacked. What JAX packs another way (zstandard) counts as not whole."""
    try:
        zlib.decompress(path.read_bytes())
    except (OSError, zlib.error):
        return False
    return True
