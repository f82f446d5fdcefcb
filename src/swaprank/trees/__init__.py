"""Boosted regression trees: binning, document sampling, histograms, splits, growth, leaf values."""
