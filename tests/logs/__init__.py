"""Tests of the log reader."""
