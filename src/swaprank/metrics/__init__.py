"""Metrics of ranked lists: values, expected values over ties, and swap gains."""
