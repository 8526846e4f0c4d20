"""Claims about MaxView, one sentence each."""
