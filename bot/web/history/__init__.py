"""The histories of cases on a branch: drawings, levels, JSON, CSV."""
