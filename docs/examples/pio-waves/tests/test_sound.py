"""The equation is right: everything that `pio plugin check sound` looks at, a test each."""

import pio.testing

test_sound = pio.testing.suite("equation", "sound")
