"""Tests of bot.webhooks."""
