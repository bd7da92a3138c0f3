"""Embeddings of coordinates, one a file."""
