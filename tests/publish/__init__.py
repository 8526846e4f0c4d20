"""Tests of what is written to GitHub."""
