"""The command line of `pio`: the only package that prints."""
