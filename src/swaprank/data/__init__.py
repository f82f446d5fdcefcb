"""Data sets of judged documents grouped by query, judgements and runs, generated data."""

import lazy_loader

# The modules `sr.datasets` and `sr.posteriors` are imported on first use.
__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["datasets", "posteriors"])
