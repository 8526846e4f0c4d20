"""Text from outside: redacted, in pieces, escaped."""
