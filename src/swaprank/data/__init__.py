"""Data sets of judged documents grouped by query, judgements and runs, generated data."""

import lazy_loader

# The module `sr.posteriors` is imported on first use.
__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["posteriors"])
