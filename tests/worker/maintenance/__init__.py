"""Tests of what is done by the clock."""
