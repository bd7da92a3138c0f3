"""Loss weightings, one a file."""
