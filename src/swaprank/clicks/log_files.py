"""Read and write click logs: CSV, TSV and Parquet."""

import os
from collections.abc import Sequence
from typing import Any

from swaprank.clicks.click_log import ClickLog
from swaprank.clicks.log_columns import table_roles, with_qid
from swaprank.clicks.table_files import check_is_table, file_columns, naming, write_columns
from swaprank.errors import DataError
from swaprank.files import existing_file


def read_clicks(
    path: str | os.PathLike[str],
    *,
    session: str = "session",
    qid: str = "qid",
    docid: str = "docid",
    position: str = "position",
    click: str = "click",
    propensity: str | None = None,
    features: Sequence[str] | None = None,
    context: Sequence[str] = (),
    binary: bool = False,
) -> ClickLog:
    r"""Read a click log from a CSV, TSV or Parquet file, given the names of its columns.

    Args:
        path: The file. Its name ends in `.csv` or `.tsv`, maybe followed by `.gz`, `.xz` or `.zst`; or in `.parquet`.
        session: The column of session ids: one id per page of results.
        qid: The column of query ids.
        docid: The column of document ids.
        position: The column of positions, from 1.
        click: The column of clicks: 0 or 1, or grades from 0 to 1.
        propensity: The column of logged propensities.
        features: The feature columns. The default is all columns without another role; [] for none.
        context: Columns that describe the session, such as the device: one value per session.
        binary: Any number above 0 in the column of clicks is one click: for logs with numbers of clicks.

    >>> import pathlib, tempfile, swaprank as sr
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = path.write_text("page,qid,docid,position,click\np1,shoes,a,1,0\np1,shoes,b,2,1\n")
    >>> sr.clicks.read_clicks(path, session="page")
    ClickLog(1 session, 2 rows, 1 query, 2 documents, positions 1 to 2, 50.0% clicked)
    """
    file = existing_file(path)
    check_is_table(file)
    names = {"session": session, "qid": qid, "docid": docid, "position": position, "click": click}
    with naming(file):
        columns = with_qid(file_columns(file, table_roles(names, propensity, features, context)))
        return ClickLog(**columns, binary=binary)


def write_clicks(log: ClickLog, path: str | os.PathLike[str]) -> None:
    """Write a click log to a CSV, TSV or Parquet file, with its context and the features in every row.

    >>> import pathlib, tempfile, swaprank as sr
    >>> log = sr.clicks.ClickLog(session=[1, 1], qid=[7, 7], docid=["a", "b"], position=[1, 2], click=[1, 0])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> sr.clicks.write_clicks(log, path)
    >>> path.read_text().splitlines()
    ['session,qid,docid,position,click', '1,7,a,1,1.0', '1,7,b,2,0.0']
    """
    columns: dict[str, Any] = {
        "session": log.session_ids[log.session],
        "qid": log.qids[log.pair_query[log.document]],
        "docid": log.pair_docid[log.document],
        "position": log.position,
        "click": log.click,
    }
    if log.propensity is not None:
        columns["propensity"] = log.propensity
    columns |= {name: values[log.session] for name, values in log.context.items()}
    for number, name in enumerate(log.feature_names):
        if name in columns:
            raise DataError(f"a feature is called '{name}', like a column of the log: rename it.")
        columns[name] = _feature_values(log, log.features, number)
    write_columns(columns, path)


def _feature_values(log: ClickLog, features: Any, number: int) -> Any:
    """One feature of every row: numbers, or the text of its categories."""
    values = features[:, number][log.document]
    categories = log.categories.get(log.feature_names[number])
    if categories is None:
        return values
    return [None if value != value else categories[int(value)] for value in values.tolist()]
