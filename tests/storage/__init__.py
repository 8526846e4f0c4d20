"""Tests of bot.storage."""
