"""Tests of bot.planning."""
