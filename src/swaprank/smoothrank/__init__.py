"""How SmoothRank learns: a regression gives the first weights, then gradient ascent on the smooth metric."""
