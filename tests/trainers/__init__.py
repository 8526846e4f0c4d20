"""Real trainers, run to see what they really print: `make trainers`."""
