"""How long `pio --help` and `pio plugins` take, beside an interpreter that does nothing; and a first step.

    python benchmarks/startup.py [REPEATS]

Each row is a process of its own; the median and the extremes of several repeats, in seconds.
Importing JAX is timed for comparison: it is what the two must avoid. The last rows are from `pio train` to
its first step, the first time, and again with the test set and the compiled program that were kept.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "pio --version": ["-m", "pio_cli", "--version"],
    "pio --help": ["-m", "pio_cli", "--help"],
    "pio plugins": ["-m", "pio_cli", "plugins"],
    "pio plugins --json": ["-m", "pio_cli", "plugins", "--json"],
    "python -c 'import jax'": ["-c", "import jax"],
}


def seconds(arguments: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def first_step(equation: str, arch: str, home: str) -> float:
    """From the command to the record of its first step."""
    run = tempfile.mkdtemp(dir=home)
    command = ["-m", "pio_cli", "train", "--equation", equation, "--arch", arch]
    command += ["--set", "evaluations=1", "--steps", "1", "--json", "--out", f"{run}/run"]
    environment = {**os.environ, "PIO_CACHE_DIR": f"{home}/cache"}
    start = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        spent = time.perf_counter() - start
        process.stdout.read()
    return spent


def main(repeats: int = 15) -> None:
    print(f"{'':24}{'median':>8}{'least':>8}{'most':>8}")
    for name, arguments in COMMANDS.items():
        seconds(arguments)  # the first run reads the disk and writes bytecode
        times = [seconds(arguments) for _ in range(repeats)]
        print(f"{name:24}{statistics.median(times):8.3f}{min(times):8.3f}{max(times):8.3f}")
    for equation, arch in (("diffusion-reaction", "tl"), ("kdv", "bxtg")):
        with tempfile.TemporaryDirectory() as home:
            print(f"{f'{equation} {arch}, at first':34}{first_step(equation, arch, home):6.1f}")
            print(f"{f'{equation} {arch}, again':34}{first_step(equation, arch, home):6.1f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
