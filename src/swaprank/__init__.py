"""Learning to rank for the metric you care about.

The names live in `__init__.pyi`, for type checkers and for the loader below alike: each is imported when it is
first used, so that `import swaprank` costs next to nothing.
"""

import sys

from swaprank.version import __version__ as __version__


def __getattr__(name: str) -> object:
    _attach_names()
    return getattr(sys.modules[__name__], name)


def __dir__() -> list[str]:
    _attach_names()
    return dir(sys.modules[__name__])


def _attach_names() -> None:
    """Replace the two functions above by those of the loader, which reads the names when the first is asked for."""
    import lazy_loader

    names = ("__getattr__", "__dir__", "__all__")
    globals().update(zip(names, lazy_loader.attach_stub(__name__, __file__), strict=True))
