"""Results as pandas, Polars or Arrow tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from swaprank.errors import MissingExtraError, SwaprankError, did_you_mean

Backend = Literal["pandas", "polars", "pyarrow"]
BACKENDS: tuple[Backend, ...] = ("pandas", "polars", "pyarrow")


def make_frame(columns: Mapping[str, Iterable[Any]], backend: Backend) -> Any:
    """A pandas or Polars data frame, or an Arrow table.

    >>> from swaprank.rendering.result_frames import make_frame
    >>> make_frame({"n_leaves": [7, 31], "hidden": [(10,), (5, 5)]}, "pandas")
       n_leaves  hidden
    0         7   (10,)
    1        31  (5, 5)
    """
    if backend not in BACKENDS:
        raise SwaprankError(f"there is no frame backend '{backend}'; {did_you_mean(backend, BACKENDS)}")
    import narwhals

    given = {name: _of_one_type(list(values)) for name, values in columns.items()}
    try:
        return narwhals.from_dict(given, backend=backend).to_native()
    except ImportError:
        raise MissingExtraError(f"{backend} is not installed: pip install 'swaprank[frames]'.") from None


def _of_one_type(values: Sequence[Any]) -> Sequence[Any]:
    """A column as Polars and Arrow accept it: numbers, or texts for values of several types and for tuples."""
    types = {type(value) for value in values if value is not None}
    if types <= {int, float} or (len(types) == 1 and types <= {bool, str}):
        return [float(value) if float in types and value is not None else value for value in values]
    return [None if value is None else str(value) for value in values]


def rows_as_columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Rows with the same names as columns."""
    return {name: [row[name] for row in rows] for name in rows[0]}
