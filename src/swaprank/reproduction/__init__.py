"""The papers' experiments, run again: their figures beside ours."""
