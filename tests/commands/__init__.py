"""Tests of commands and labels."""
