"""Linear optimization: minimizers, ridge regression, and the annealing of SmoothRank from its start."""
