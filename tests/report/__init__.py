"""Tests of what is said: documents, comment, escaping."""
