"""Learning to rank for the metric you care about.

The names live in `__init__.pyi`, for type checkers and for the loader below alike: each is imported when it is
first used, so that `import swaprank` costs next to nothing.
"""

import lazy_loader

from swaprank.version import __version__ as __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
