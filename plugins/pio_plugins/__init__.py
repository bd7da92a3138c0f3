"""The plugins that come with `pio`, written as a stranger would write them."""
