"""Whole experiments: a run that can be repeated, cross-validation, and the search for good parameters."""
