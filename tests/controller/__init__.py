"""Tests of bot.controller."""
