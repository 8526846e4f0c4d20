"""Tests of bot.clusters."""
