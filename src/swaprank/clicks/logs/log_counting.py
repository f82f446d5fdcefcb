"""Count the clicks of a log, or of files that are larger than memory, block by block."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from swaprank.clicks.logs.click_log import ClickLog
from swaprank.clicks.logs.log_columns import checked_clicks
from swaprank.clicks.logs.log_counts import LogCounts, sum_of_counts
from swaprank.clicks.logs.table_files import TableRoles, block_columns, check_is_table, counting_from, naming
from swaprank.errors import DataError
from swaprank.reading.formats import Paths, part_files

_CELLS_AT_ONCE = 2**18
"""Rows of counts that are kept before they are added up."""


def count_clicks(
    source: ClickLog | Paths,
    *,
    qid: str = "qid",
    docid: str = "docid",
    position: str = "position",
    click: str = "click",
    context: Sequence[str] = (),
    binary: bool = False,
) -> LogCounts:
    r"""Count how often each document was shown and clicked at each position.

    Files are read in blocks. So memory grows with the number of different (query, document, position), and not with
    the number of rows or files. Sessions are not read: a page may be divided between files, but a page that contradicts
    itself, with two documents at one place, is not found.

    Args:
        source: A log; or the name of a file, CSV, TSV or Parquet; of a folder of such files; or a list of names.
        qid: The column of query ids, in files.
        docid: The column of document ids.
        position: The column of positions, from 1.
        click: The column of clicks: 0 or 1, or grades from 0 to 1.
        context: Columns such as the device: their values are counted apart.
        binary: Any number above 0 is one click.

    >>> import pathlib, tempfile, swaprank as sr
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "monday.csv").write_text("qid,docid,position,click\nshoes,a,1,0\nshoes,b,2,1\n")
    >>> _ = (folder / "tuesday.csv").write_text("qid,docid,position,click\nshoes,a,1,1\n")
    >>> counts = sr.clicks.count_clicks(folder)
    >>> counts.pair_docid.tolist(), counts.shown.tolist(), counts.clicks.tolist()
    (['a', 'b'], [2, 1], [1.0, 1.0])
    """
    if isinstance(source, ClickLog):
        return _count_log(source, context, binary)
    roles = TableRoles({"qid": qid, "docid": docid}, {"position": position, "click": click}, (), context)
    return _summed(_counted_blocks(part_files(source), roles, binary))


def _count_log(log: ClickLog, context: Sequence[str], binary: bool) -> LogCounts:
    for name in context:
        if name not in log.context:
            raise DataError(f"the log has no context '{name}'; it has {', '.join(log.context) or 'none'}.")
    return LogCounts(
        qid=log.qids[log.pair_query[log.document]],
        docid=log.pair_docid[log.document],
        position=log.position,
        shown=np.ones(log.n_rows),
        clicks=checked_clicks(log.click, log.n_rows, binary),
        context={name: log.context[name][log.session] for name in context},
    )


def _counted_blocks(files: Sequence[Path], roles: TableRoles, binary: bool) -> Iterator[LogCounts]:
    for file in files:
        check_is_table(file)
        with naming(file):
            for start, columns in block_columns(file, roles):
                clicks = columns.pop("click")
                n_rows = len(clicks)
                with counting_from(start):
                    part = LogCounts(**columns, shown=np.ones(n_rows), clicks=checked_clicks(clicks, n_rows, binary))
                yield part


def _summed(parts: Iterator[LogCounts]) -> LogCounts:
    """The sum. Parts are added up when they are as many as what they are added to: each row is added a few times."""
    total, pending, n_pending = list[LogCounts](), list[LogCounts](), 0
    for part in parts:
        pending.append(part)
        n_pending += len(part.document)
        if n_pending > max(_CELLS_AT_ONCE, sum(len(each.document) for each in total)):
            total, pending, n_pending = [sum_of_counts(total + pending)], [], 0
    if not total + pending:
        raise DataError("there is nothing to count: the files have no rows.")
    return sum_of_counts(total + pending)
