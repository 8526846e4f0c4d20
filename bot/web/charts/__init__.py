"""Charts as SVG shapes: curves and bars of runs, histories, sparklines. Pure; templates only place them."""
