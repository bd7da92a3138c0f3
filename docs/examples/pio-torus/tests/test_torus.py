"""The equation is right: everything that `pio plugin check torus` looks at, a test each."""

import pio.testing

test_torus = pio.testing.suite("equation", "torus")
