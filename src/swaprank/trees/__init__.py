"""Boosted regression trees: binning, histograms, splits, growth, scoring."""
