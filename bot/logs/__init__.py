"""What a log says: bytes in, facts out."""
