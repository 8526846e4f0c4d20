"""Tests of bot.clusters.xpk."""
