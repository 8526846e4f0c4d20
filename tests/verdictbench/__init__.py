"""VerdictBench: how often a rule cries wolf, and what it misses, on made logs whose truth is known."""
