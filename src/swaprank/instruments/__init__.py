"""Looking at lambdas and rankers: what they are the gradient of, what they learn from, what they reached."""
