"""The same training on many machines: what workers share, and what runs them, such as `Dask`."""

import lazy_loader

# The names are in `__init__.pyi`; each is imported on first use.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
