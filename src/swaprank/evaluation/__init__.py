"""Evaluate rankings, and compare them with statistical tests."""
