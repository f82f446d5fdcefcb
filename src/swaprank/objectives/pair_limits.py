"""Bounds that keep the gradients of pairs inside double precision, shared by all pairwise kernels."""

LONGEST_STEP = 100.0
"""A document's hessian is at least sigma |grad| over this. Where all its pairs are wrong by far, their cost is nearly
linear, and a Newton step, gradient over hessian, would have no bound."""

WIDEST_RANGE = 300.0
"""Beyond this range of sigma * score, the product of two exp leaves double precision, and pairs take the slower way."""

LEAST_DISTANCE = 0.01
"""Added to the score difference that a pair's weight is divided by when lambdas are normalized."""
