"""Two rankings mixed, at every share of the one: a learner of a single number."""
