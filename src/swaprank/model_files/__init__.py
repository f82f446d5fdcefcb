"""Model files: one file per model, without code, and checked completely when it is read."""
