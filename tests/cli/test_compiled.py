import os
import subprocess
import sys
from pathlib import Path

SMALL = ("--set", "arch.width=8", "--set", "arch.depth=1", "--steps", "4")
TRAIN = ("train", "--equation", "advection", "--arch", "vanilla", "--preset", "smoke", *SMALL)


def test_a_program_cut_short_is_made_again_without_a_word(shell, tmp_path, monkeypatch):
    monkeypatch.setenv("PIO_CACHE_DIR", str(tmp_path))
    # Every program is kept, so that how long one takes to compile decides nothing here.
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    monkeypatch.chdir(tmp_path)
    assert shell(*TRAIN, "--out", "first").code == 0
    for path in _programs(tmp_path):  # those that made the test set are not asked for again
        path.unlink()
    assert shell(*TRAIN, "--out", "second").code == 0
    sizes = {path: path.stat().st_size for path in _programs(tmp_path)}
    assert sizes
    for path, size in sizes.items():  # as a process leaves it that was killed while it wrote
        path.write_bytes(path.read_bytes()[: size // 2])
    third = shell(*TRAIN, "--out", "third")
    assert third.code == 0, third.err
    assert "persistent compilation cache" not in third.err
    assert _programs(tmp_path) == [*sizes]
    assert all(path.stat().st_size > 0.9 * size for path, size in sizes.items())


def test_a_program_that_cannot_be_kept_is_no_news(tmp_path):
    code = (
        "import warnings; from pio_cli._compiled import use_compilation_cache as use; use()\n"
        "warnings.warn(\"Error writing persistent compilation cache entry for 'jit_f': OSError\")\n"
        "warnings.warn('something else')"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PIO_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "persistent compilation cache" not in found.stderr
    assert "something else" in found.stderr


def _programs(home: Path) -> list[Path]:
    return sorted((home / "compiled").glob("*-cache"))
