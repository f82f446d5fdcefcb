"""Rankers that combine other, fitted rankers."""
