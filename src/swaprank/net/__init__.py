"""Nets: feed-forward scorers of documents, their gradients, and the steps that train them."""
