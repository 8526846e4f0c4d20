"""Tests of the operator's policy."""
