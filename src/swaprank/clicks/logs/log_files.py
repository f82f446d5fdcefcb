"""Read and write click logs: tables of shown documents or of pages, and User Behavior Insights."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from swaprank.clicks.logs.click_log import ClickLog
from swaprank.clicks.logs.log_columns import table_roles, with_qid
from swaprank.clicks.logs.table_files import check_is_table, file_columns, naming, write_columns
from swaprank.clicks.logs.ubi_files import ubi_columns
from swaprank.clicks.logs.wide_files import wide_columns
from swaprank.errors import DataError, Hint, ParameterError, Wording
from swaprank.files import existing_file
from swaprank.parameters import check_word
from swaprank.reading.formats import Paths

Schema = Literal["rows", "wide", "ubi"]


def read_clicks(
    path: Paths,
    *,
    schema: Schema = "rows",
    session: str = "session",
    qid: str = "qid",
    docid: str = "docid",
    position: str = "position",
    click: str = "click",
    propensity: str | None = None,
    features: Sequence[str] | None = None,
    context: Sequence[str] = (),
    binary: bool = False,
    actions: Sequence[str] = ("click",),
) -> ClickLog:
    r"""Read a click log from a CSV, TSV or Parquet file, given the names of its columns; or in another form.

    Args:
        path: The file. Its name ends in `.csv` or `.tsv`, maybe followed by `.gz`, `.xz` or `.zst`; or in `.parquet`.
            For "ubi", one or several files, or a folder.
        schema: "rows": one row for each document that was shown. "wide": one row for each page, with the documents in
            their order as a list or as text with spaces, in the column `documents` or that of docid; and the clicks in
            `clicks` or that of click: clicked documents or positions, or a number from 0 to 1 for each document. The
            session may be left out. "ubi": User Behavior Insights, as OpenSearch stores it: queries and events in JSON
            lines (`.jsonl`, `.ndjson`) or Parquet, in any order. A page is a query_id. Documents are the logged
            results, else impressions with their ordinals. Case and spaces make no difference between queries.
        session: The column of session ids: one id per page of results. If it is that of qid, every page is a query.
        qid: The column of query ids.
        docid: The column of document ids.
        position: The column of positions, from 1.
        click: The column of clicks: 0 or 1, or grades from 0 to 1.
        propensity: The column of logged propensities.
        features: The feature columns. The default is all columns without another role; [] for none.
        context: Columns that describe the session, such as the device: one value per session. For "ubi", fields of
            queries or of their query_attributes.
        binary: Any number above 0 in the column of clicks is one click: for logs with numbers of clicks.
        actions: For "ubi": the actions of events that are clicks, such as ["click", "add_to_cart"].

    >>> import pathlib, tempfile, swaprank as sr
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = path.write_text("page,qid,docid,position,click\np1,shoes,a,1,0\np1,shoes,b,2,1\n")
    >>> sr.clicks.read_clicks(path, session="page")
    ClickLog(1 session, 2 rows, 1 query, 2 documents, positions 1 to 2, 50.0% clicked)
    >>> _ = path.write_text("qid,documents,clicks\nshoes,a b c,b\nshoes,b a c,\n")
    >>> sr.clicks.read_clicks(path, schema="wide")
    ClickLog(2 sessions, 6 rows, 1 query, 3 documents, positions 1 to 3, 16.7% clicked)
    """
    check_word("schema", schema, get_args(Schema))
    _check_used(schema, propensity, features, binary, actions)
    if schema == "ubi":
        words = [actions] if isinstance(actions, str) else list(actions)
        return ClickLog(**ubi_columns(_files(path), words, context))
    if not isinstance(path, str | os.PathLike):
        raise DataError(
            "a click log is one file", Wording("; sr.clicks.count_clicks counts the clicks of several.", ".")
        )
    file = existing_file(path)
    check_is_table(file)
    with naming(file):
        if schema == "wide":
            documents = "documents" if docid == "docid" else docid
            clicks = "clicks" if click == "click" else click
            return ClickLog(**with_qid(wide_columns(file, session, qid, documents, clicks, context)))
        names = {"session": session, "qid": qid, "docid": docid, "position": position, "click": click}
        columns = with_qid(file_columns(file, table_roles(names, propensity, features, context)))
        return ClickLog(**columns, binary=binary)


def _check_used(
    schema: Schema, propensity: str | None, features: Sequence[str] | None, binary: bool, actions: Sequence[str]
) -> None:
    """Raise ParameterError for an argument that this form of a log has no use for: it would be forgotten in silence."""
    rows_only = {"propensity": propensity is not None, "features": bool(features), "binary": binary}
    given = rows_only if schema != "rows" else {}
    given = given | {"actions": list(actions) != ["click"] and schema != "ubi"}
    for name, is_given in given.items():
        if is_given:
            raise ParameterError(Hint(name), " has no use for ", Hint("schema", schema), ".")


def _files(path: Paths) -> list[Path]:
    """Files of UBI data: given by name, or all of a folder."""
    given = [Path(each) for each in ([path] if isinstance(path, str | os.PathLike) else path)]
    inside = [sorted(each.iterdir()) if each.is_dir() else [existing_file(each)] for each in given]
    return [file for files in inside for file in files if not file.name.startswith((".", "_"))]


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
