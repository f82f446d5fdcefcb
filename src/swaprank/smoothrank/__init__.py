"""How SmoothRank learns: regression to start from, then ascent of the smooth metric."""
