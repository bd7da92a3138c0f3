"""What every test relies on: 64 bits, strict dtypes, checked shapes, and plugins to install."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
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

# Programs that several tests compile are compiled once, in each process.
programs = tempfile.TemporaryDirectory(prefix="pio-compiled-")
jax.config.update("jax_compilation_cache_dir", programs.name)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)

# Annotations of ours become checks: a shape in a signature is tested wherever it is used.
install_import_hook(["pio", "pio_plugins"], "beartype.beartype")

# The deadline would time JAX's compiler. CI draws the same examples every time.
hypothesis.settings.register_profile("pio", deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.load_profile("pio")

# Tests see the plugins of this project and those they install, whatever the shell says.
for variable in ("PIO_PLUGINS", "PIO_STRICT_PLUGINS"):
    os.environ.pop(variable, None)

# A shell that runs tests in the background has them ignore Ctrl-C, and with them the processes they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

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


@pytest.fixture
def forged(tmp_path: Path) -> Callable[..., Path]:
    """A run that has ended, written and not trained: `forged("tl", seed=1, errors=errors)`.

    It has no parameters. Settings are given as `--set` has them, `{"arch.width": 8}`.
    """
    import json

    import numpy as np

    import pio
    from pio._errors_file import ErrorsFile

    registry = pio.discover()

    def forged(
        arch: str = "tl",
        seed: int = 0,
        errors: object = None,
        *,
        equation: str = "diffusion-reaction",
        settings: dict[str, object] | None = None,
        seconds: float = 100.0,
        test_seed: int = 0,
        fingerprint: str = "same",
        reference: str = "fine",
        version: int = 1,
        state: str = "done",
        path: str | None = None,
    ) -> Path:
        flags = {"equation.name": equation, "arch.name": arch, "preset": "smoke"}
        config = pio.resolve(
            registry, settings=settings, flags={**flags, "train.steps": 1000, "train.seed": seed}
        )
        home = tmp_path / (path or f"{arch}-{seed}")
        home.mkdir(parents=True)
        (home / "config.toml").write_text(config.toml())
        (home / "environment.json").write_text(
            json.dumps({"platform": "a machine", "devices": ["cpu: cpu"], "python": "3.11.0"})
        )
        values = np.linspace(0.01, 0.02, 30) if errors is None else np.asarray(errors, float)
        ErrorsFile({reference: values}, test_seed, fingerprint, {reference: version}).write(home)
        final = float(np.nanmean(values))
        about = {"state": state, "steps": 1000, "step": 1000, "seconds": seconds, "error": final}
        (home / "status.json").write_text(json.dumps(about))
        lines = [
            {"step": 50 * k, "seconds": seconds * k / 20, "error": final * (1 + 3 * (1 - k / 20))}
            for k in range(1, 21)
        ]
        (home / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return home

    return forged
