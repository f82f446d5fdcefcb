"""Click models, and whether the position-based one holds."""
