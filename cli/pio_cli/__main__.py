"""`python -m pio_cli`, which is `pio`."""

from __future__ import annotations

import contextlib
import os
import sys


def main() -> None:
    from pio_cli._main import run

    code = run(sys.argv[1:])
    if code == 130:
        # Threads may still be compiling. Taking the interpreter down around them can crash, and the
        # shell would then see a segmentation fault where an interruption was reported.
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError):  # closed, or its reader has left
                stream.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
