"""How long `pio --help` and `pio plugins` take, beside an interpreter that does nothing.

    python benchmarks/startup.py [REPEATS]

Each row is a process of its own; the median and the extremes of several repeats, in seconds.
Importing JAX is timed for comparison: it is what the two must avoid.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
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


def main(repeats: int = 15) -> None:
    print(f"{'':24}{'median':>8}{'least':>8}{'most':>8}")
    for name, arguments in COMMANDS.items():
        seconds(arguments)  # the first run reads the disk and writes bytecode
        times = [seconds(arguments) for _ in range(repeats)]
        print(f"{name:24}{statistics.median(times):8.3f}{min(times):8.3f}{max(times):8.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
