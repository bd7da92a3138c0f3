"""Trackers, one a file: thin, and imported only when asked for."""
