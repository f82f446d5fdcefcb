"""Results as pandas, Polars or Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from swaprank.errors import MissingExtraError, SwaprankError, did_you_mean

Backend = Literal["pandas", "polars", "pyarrow"]
BACKENDS: tuple[Backend, ...] = ("pandas", "polars", "pyarrow")


def make_frame(columns: Mapping[str, Sequence[Any]], backend: Backend) -> Any:
    """A pandas or Polars data frame, or an Arrow table."""
    if backend not in BACKENDS:
        raise SwaprankError(f"there is no frame backend '{backend}'; {did_you_mean(backend, BACKENDS)}")
    import narwhals

    try:
        return narwhals.from_dict({name: list(values) for name, values in columns.items()}, backend=backend).to_native()
    except ImportError:
        raise MissingExtraError(f"{backend} is not installed: pip install 'swaprank[frames]'.") from None
