"""Fitted rankers in services that answer requests."""
