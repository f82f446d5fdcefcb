"""Experiments: repeatable training runs, cross-validation and hyperparameter tuning."""
