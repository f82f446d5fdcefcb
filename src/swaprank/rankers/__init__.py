"""Rankers: scikit-learn estimators with parameters, fit and predict."""
