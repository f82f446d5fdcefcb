"""Rankers: parameters, fit and predict; the work is done by objectives and learners."""
