"""Query and document ids: integers or text, without loss."""

from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Ints
from swaprank.errors import THE_DATA, DataError, Row


def query_ids(qid: Any, n_rows: int) -> AnyArray:
    """Query ids as an array of integers or text; integers beyond 64 bits are Python objects."""
    if qid is None:
        raise DataError("qid is needed: one query id per row of ", THE_DATA, ".")
    ids = _array(qid, "query id")
    if ids.ndim != 1:
        raise DataError(f"qid must have one id per row, found an array of shape {ids.shape}.")
    if len(ids) != n_rows:
        raise DataError(f"qid has {len(ids):,} values, but ", THE_DATA, f" has {n_rows:,} rows.")
    return _checked(ids, "query id")


def document_ids(docid: Any, n_rows: int, name: str = "docid") -> AnyArray:
    """Document ids as integers or text; empty text means no id."""
    return checked_document_ids(docid, n_rows, name).copy()


def checked_document_ids(docid: Any, n_rows: int, name: str = "docid") -> AnyArray:
    """Document ids as integers or text, without a copy if possible."""
    ids = _array(docid, "document id")
    if ids.shape != (n_rows,):
        raise DataError(f"{name} must have one id for each of the {n_rows:,} rows, found shape {ids.shape}.")
    ids = _checked(ids, "document id")
    if ids.dtype.kind in "OS":
        return np.array([id_text(each) for each in ids.tolist()], dtype=str)
    return ids


def id_text(identifier: object) -> str:
    """An id as text, for files."""
    if isinstance(identifier, bytes):
        try:
            return identifier.decode()
        except UnicodeDecodeError:
            raise DataError(f"the id {identifier!r} is not UTF-8: give text.") from None
    return str(identifier)


def integers_or_text(texts: AnyArray) -> AnyArray:
    """Ids from a file: integers if all of them are plain integers, else text."""
    try:
        numbers = texts.astype(np.int64)
    except (ValueError, OverflowError):
        return decoded(texts)
    # Leading zeros and signs would be lost: 007 and 7 are different ids.
    same = numbers.astype(f"{texts.dtype.kind}20") == texts
    return numbers if same.all() else decoded(texts)


def decoded(texts: AnyArray) -> AnyArray:
    """Text from UTF-8 bytes."""
    try:
        return texts.astype(np.str_)  # works for ASCII, and is much faster
    except UnicodeDecodeError:
        return np.char.decode(texts, "utf-8")


def _array(values: Any, what: str) -> AnyArray:
    if np.ma.isMaskedArray(values) and np.ma.getmaskarray(values).any():
        row = int(np.argmax(np.ma.getmaskarray(values)))
        raise DataError(Row(row), f": the {what} is masked: give integers or text.")
    try:
        ids = np.asarray(values)
    except Exception:
        # For example 128-bit integers of Polars, which NumPy does not have, or ragged nested lists.
        return _as_objects(values)
    if ids.dtype.kind == "f" and ids.ndim == 1 and not hasattr(values, "dtype"):
        # NumPy has no integer type for [2**63, -1] and converts them to floats.
        objects = _as_objects(values)
        if all(isinstance(each, int | np.integer) for each in objects):
            return objects
    return ids


def _as_objects(values: Any) -> AnyArray:
    given = list(values)
    objects = np.empty(len(given), dtype=object)
    objects[:] = given
    return objects


def _checked(ids: AnyArray, what: str) -> AnyArray:
    if ids.dtype.kind == "f":
        return _whole_numbers(ids, what)
    if ids.dtype.kind == "O":
        return _objects(ids, what)
    if ids.dtype.kind not in "iubUST":
        raise DataError(f"{what}s must be integers or text, found {ids.dtype}.")
    return ids


def _whole_numbers(ids: AnyArray, what: str) -> Ints:
    bad = np.flatnonzero(~np.isfinite(ids) | (ids != np.round(ids)))
    if len(bad):
        raise DataError(Row(int(bad[0])), f": {ids[bad[0]]} is not a {what}: give integers or text.")
    # Beyond this, neighbouring integers are the same float, and different queries would be merged.
    bits = np.finfo(ids.dtype).nmant + 1
    large = np.flatnonzero(np.abs(ids) >= 2.0 ** min(bits, 63))
    if len(large):
        raise DataError(
            Row(int(large[0])),
            f": the {what} {ids[large[0]]} is too large to be exact as {ids.dtype} (2**{bits} or more): give integers "
            "or text.",
        )
    return ids.astype(np.int64)


def _objects(ids: AnyArray, what: str) -> AnyArray:
    """Ids from Python objects: integers beyond 64 bits stay Python integers."""
    kinds = {type(each) for each in ids}
    if not all(issubclass(kind, str | bytes | int | np.integer) for kind in kinds):
        row, found = next(
            (row, each) for row, each in enumerate(ids) if not isinstance(each, str | bytes | int | np.integer)
        )
        raise DataError(Row(row), f": {found!r} is not a {what}: give integers or text.")
    if kinds <= {str}:
        return ids.astype(str)
    if all(issubclass(kind, int | np.integer) for kind in kinds):
        try:
            return ids.astype(np.int64)
        except OverflowError:
            return ids
    return ids
