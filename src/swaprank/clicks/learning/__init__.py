"""Training data from clicks, and rankers that learn from it."""
