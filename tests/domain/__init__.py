"""Tests of bot.domain."""
