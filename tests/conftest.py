"""What every test relies on: 64 bits, strict dtypes, checked shapes, and plugins to install."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

# Set before JAX is imported. Tests compare numbers, so they run where everyone has the same ones.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import hypothesis
import jax
from jaxtyping import install_import_hook

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")

# Annotations of ours become checks: a shape in a signature is tested wherever it is used.
install_import_hook(["pio", "pio_plugins"], "beartype.beartype")

# The deadline would time JAX's compiler. CI draws the same examples every time.
hypothesis.settings.register_profile("pio", deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.load_profile("pio")

# Tests see the plugins of this project and those they install, whatever the shell says.
for variable in ("PIO_PLUGINS", "PIO_STRICT_PLUGINS"):
    os.environ.pop(variable, None)

Install = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Iterator[Callable[[str, str], Path]]:
    """Write a file, `write("heat.py", source)`; modules imported from it are forgotten afterwards."""

    def write(name: str, source: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(source), encoding="utf-8")
        return path

    yield write
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def install(
    write: Callable[[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Install:
    """Install a distribution of one module, as an installer leaves it on disk.

    `install("pio-heat", source)` is seen by this process and by those it starts.
    """
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("PYTHONPATH", str(site))

    def install(distribution: str, source: str, version: str = "1.0") -> Path:
        module = distribution.replace("-", "_")
        info = f"site/{module}-{version}.dist-info"
        write(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
        )
        write(f"{info}/entry_points.txt", f"[pio]\n{module} = {module}\n")
        write(f"{info}/RECORD", "")
        return write(f"site/{module}.py", source)

    return install


HEAT = '''
    """The heat equation, s_t = α s_xx."""

    from dataclasses import dataclass
    from typing import Any

    import pio


    @dataclass(frozen=True)
    class Heat:
        """Heat on a rod, s_t = α s_xx.

        Warmth flows from warm to cold.
        """

        alpha: float = pio.option(0.1, "diffusivity α")
        modes: tuple[int, ...] = pio.option((1, 2), "harmonics of u")
        limit: int | None = pio.option(None, "a bound, or none")

        domain = pio.Domain(pio.Coordinate("x"), pio.Coordinate("t"))
        unknowns = ("s",)
        inputs: Any = None
        grid: Any = None

        @property
        def references(self):
            return {}

        def residual(self, s_t, s_xx):
            return s_t - self.alpha * s_xx

        def conditions(self):
            return (pio.Condition("initial", {"t": 0.0}, lambda s, u: s - u),)


    @pio.hookimpl
    def pio_equations():
        return {"heat": Heat}
'''
"""A plugin in one file."""


@pytest.fixture
def heat() -> str:
    return HEAT
