"""Equations, one a file."""
