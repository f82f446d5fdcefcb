"""One page about one ranker: what it is worth, where, why, and what it was made of."""
