"""Tests of who may see what."""
