"""Tests of `bot.intake`."""
