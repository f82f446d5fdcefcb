"""Measures of ranked lists: values, expected values over ties, and the change that every swap would make."""
