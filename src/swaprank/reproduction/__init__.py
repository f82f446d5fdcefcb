"""Reproduces the experiments of the papers: published numbers next to ours."""
