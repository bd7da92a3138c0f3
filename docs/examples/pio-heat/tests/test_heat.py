"""The equation is right: everything that `pio plugin check heat` looks at, a test each."""

import pio.testing

test_heat = pio.testing.suite("equation", "heat")
