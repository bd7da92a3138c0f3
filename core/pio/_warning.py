"""A warning meant for the person at the terminal."""

from __future__ import annotations


class PioWarning(UserWarning):
    """Something that went wrong and does no harm to what was asked for."""
