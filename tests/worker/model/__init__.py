"""A model of the worker, and tests that hold the worker against it."""
