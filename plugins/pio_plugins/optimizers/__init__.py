"""Optimisers, one a file."""
