"""Interleaving, A/B tests and learning online."""
