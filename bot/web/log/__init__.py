"""Reading a log where it is kept: bytes, lines, colours, marks, and what strangers may not read of it."""
