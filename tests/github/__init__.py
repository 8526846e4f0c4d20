"""Tests of `bot.github`."""
