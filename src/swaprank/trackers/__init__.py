"""Trackers of experiments, as callbacks of `fit`: MLflow, Weights & Biases, TensorBoard, and pruning by Optuna.

Each needs its own library, which is imported when training starts.
"""

import lazy_loader

# The names are in `__init__.pyi`; each is imported on first use.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
