"""The type of the functions that long runs report to."""

from collections.abc import Callable

Log = Callable[[str], object]
"""Called with one line of text after every finished step."""
