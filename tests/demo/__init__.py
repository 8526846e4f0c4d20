"""Tests of bot.demo."""
