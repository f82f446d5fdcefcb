"""Tests and explanations of trained rankers: local optimality, effective pairs, lambdas of a query."""
