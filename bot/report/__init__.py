"""What we say: verdicts in, one Report out, and its renderings."""
