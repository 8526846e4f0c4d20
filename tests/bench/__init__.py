"""How fast the program is, as ratios against programs that other people wrote."""
