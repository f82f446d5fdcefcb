"""Fitted models: linear models, kernel machines, nets, forests and ensembles of them."""
