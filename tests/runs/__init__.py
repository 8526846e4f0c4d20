"""Tests of bot.runs."""
