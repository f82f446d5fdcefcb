"""Learners of weights: regression, pairs, and the annealed ascent of a smooth metric."""
