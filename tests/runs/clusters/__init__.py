"""Tests of bot.runs.clusters."""
