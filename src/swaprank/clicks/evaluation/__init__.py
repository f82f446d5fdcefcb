"""Metrics of rankings that were never shown, with intervals."""
