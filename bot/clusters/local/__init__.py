"""The cluster that is this machine."""
