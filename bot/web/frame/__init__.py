"""What pages and JSON answers are made with, and what they say when something is missing."""
