"""Tests of the log viewer."""
