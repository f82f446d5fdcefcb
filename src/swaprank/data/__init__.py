"""Judged documents grouped by query, and everything else that is data."""

import lazy_loader

# `sr.datasets` and `sr.posteriors` are modules, imported when they are first used.
__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["datasets", "posteriors"])
