"""The equation is right: everything that `pio plugin check fisher` looks at, a test each."""

import pio.testing

test_fisher = pio.testing.suite("equation", "fisher")
