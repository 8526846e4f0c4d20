"""A run and its life."""
