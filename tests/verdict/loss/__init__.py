"""The loss verdict."""
