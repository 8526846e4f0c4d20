"""Launched runs in a world in which everything goes wrong."""
