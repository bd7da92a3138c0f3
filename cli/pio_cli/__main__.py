"""`python -m pio_cli`, which is `pio`."""

from __future__ import annotations

import sys


def main() -> None:
    from pio_cli._main import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
