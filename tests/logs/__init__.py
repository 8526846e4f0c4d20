"""Tests of what a log says."""
