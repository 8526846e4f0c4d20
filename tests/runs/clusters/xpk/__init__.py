"""Tests of bot.runs.clusters.xpk."""
