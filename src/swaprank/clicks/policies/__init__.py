"""Policies that were never used, from logged propensities."""
