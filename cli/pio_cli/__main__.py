"""`python -m pio_cli`, which is `pio`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    # JAX borrows SciPy's LAPACK for factorisations. Its threads and XLA's would wait for each other:
    # a QR of 128 × 128 takes 0.2 ms with one of them and 5 ms with two on two busy cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

    from pio_cli._main import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
