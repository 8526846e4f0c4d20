"""One case of two sides: its verdict in words, its figures, its failure, its runs."""
