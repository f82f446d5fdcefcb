"""Position bias: how likely documents are examined at each place."""
