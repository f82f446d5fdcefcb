"""Array types that the whole project uses, and helpers for them."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Features: TypeAlias = NDArray[np.float32]
"""Documents x features, in single precision: half the memory, and what other libraries train on."""

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Bytes: TypeAlias = NDArray[np.uint8]
AnyArray: TypeAlias = NDArray[Any]
Reals: TypeAlias = NDArray[np.floating[Any]]
"""float32 to train and score nets, float64 to check gradients: kernels accept both."""


def row_blocks(n_rows: int, size: int) -> Iterator[slice]:
    """Slices of at most `size` rows, to process a large matrix without temporary arrays of its whole size.

    >>> from swaprank.arrays import row_blocks
    >>> list(row_blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 6, None)]
    """
    return (slice(start, start + size) for start in range(0, n_rows, size))


def contiguous_floats(values: ArrayLike) -> Floats:
    """As float64, writable and contiguous; copied only if needed. Numba compiles a kernel again for other layouts."""
    return np.require(values, np.float64, ["C", "A", "W"])


def contiguous_ints(values: ArrayLike) -> Ints:
    """As int64, writable and contiguous; copied only if needed."""
    return np.require(values, np.int64, ["C", "A", "W"])


def read_only(array: AnyArray) -> AnyArray:
    """A read-only view, as in data sets: Numba compiles a kernel again for a writeable array."""
    view = array.view()
    view.flags.writeable = False
    return view


def frozen(value: Any) -> Any:
    """An array, or the arrays of a named tuple or a dictionary, as read-only views; any other value as it is."""
    if isinstance(value, np.ndarray):
        return read_only(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(frozen, value))
    if isinstance(value, dict):
        return {name: frozen(each) for name, each in value.items()}
    return value


class ReadOnly:
    """The base of frozen dataclasses whose arrays are read-only, also after they were pickled or copied."""

    __slots__ = ()

    def _fill(self, **values: Any) -> None:
        """Set fields, which are not checked."""
        for name, value in values.items():
            object.__setattr__(self, name, frozen(value))

    def _with(self, **changes: Any) -> Self:
        """The same object with other values of fields, which are not checked."""
        return _remade(type(self), self._fields() | changes)

    def _fields(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self), self._fields())


Kind = TypeVar("Kind", bound=ReadOnly)


def _remade(kind: type[Kind], values: dict[str, Any]) -> Kind:
    made = object.__new__(kind)
    made._fill(**values)
    return made
