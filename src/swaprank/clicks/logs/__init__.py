"""The click log: rows, files and counts."""
