"""Tests of finding and reading runs."""
