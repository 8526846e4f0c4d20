"""Tests of the JSON answers and their description."""
