"""Read CSV, TSV and Parquet tables with Polars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from swaprank.data.categories import categorical_positions, not_numbers_advice
from swaprank.data.dataset import Dataset
from swaprank.data.frames import columns_of
from swaprank.data.ids import integers_or_text
from swaprank.errors import DataError, Hint, Part, Row, Wording, by_line, did_you_mean, import_extra
from swaprank.files import compression, content_suffix
from swaprank.reading.separated_lines import check_lengths, check_names
from swaprank.reading.text_files import NoDocumentsError, check_is_text, is_stream, opened_unchanged, text_blocks

if TYPE_CHECKING:
    import polars

_PARQUET_AND_ARROW = (".parquet", ".arrow")
_MISSING = ("", "nan", "null", "na", "n/a", "none")
"""Spellings of a missing number, in lower case."""


NO_FEATURES = "(not read)"
"""The name of the feature of a table of which only the judgements are read."""


class Roles(NamedTuple):
    """The roles of the columns of a table, as in `read`."""

    label: str = "label"
    qid: str = "qid"
    docid: str | None = None
    sample_weight: str | None = None
    query_weight: str | None = None
    columns: Sequence[str] = ()
    features: Sequence[str] | None = None
    ignore: Sequence[str] = ()
    categorical_features: Sequence[str] = ()
    unlabeled: bool = False
    judgements_only: bool = False
    """The features are not read: there is one that is 0 everywhere."""

    @property
    def side(self) -> tuple[str, ...]:
        """The side columns: those that are named, and that of the weights of queries."""
        weight = [] if self.query_weight is None else [self.query_weight]
        return tuple(dict.fromkeys((*_names("columns", self.columns), *weight)))


def read_table(file: Path, **columns: Any) -> Dataset:
    """Read a data set from a table, given its `Roles`; a number beyond single precision is missing, as in LETOR text.

    Text is categorical in a Parquet file; in a CSV or TSV file, columns of categories must be declared.
    """
    roles = Roles(**columns)
    if roles.judgements_only:
        roles = roles._replace(categorical_features=())
    categorical = _names("categorical_features", roles.categorical_features)
    table = polars_table(file, [name for name in (roles.qid, roles.docid, *categorical) if name is not None])
    if len(table) == 0:
        raise no_rows(file)
    roles = without_index(stored_index(file), roles)
    try:
        return table_dataset(table, roles, is_text=is_separated(file))
    except DataError as error:
        # The names of the columns are in line 1.
        raise DataError(f"{file}: ", by_line(error, 2) if is_separated(file) else error) from None


def no_rows(file: Path) -> NoDocumentsError:
    """The error about a file without rows."""
    return NoDocumentsError(f"{file}: it has no documents: expected rows below the column names.")


def without_index(index: Sequence[str], roles: Roles) -> Roles:
    """The roles, where columns of an index are no features unless they are named as such."""
    if roles.features is not None:
        return roles
    named = {*roles.ignore, roles.label, roles.qid, roles.docid, roles.sample_weight, *roles.side}
    named |= {*roles.categorical_features}
    unnamed = [name for name in index if name not in named]
    return roles._replace(ignore=(*_names("ignore", roles.ignore), *unnamed)) if unnamed else roles


def stored_index(file: Path) -> list[str]:
    """The columns of a Parquet or Arrow file that are the index of the pandas table it was made from."""
    if is_separated(file):
        return []
    import_extra("pyarrow", f"{file}: this needs PyArrow: pip install 'swaprank[frames]'")
    with readable(file):
        if content_suffix(file) == ".parquet":
            from pyarrow.parquet import read_schema

            schema = read_schema(file)
        else:
            from pyarrow import OSFile, ipc

            with OSFile(str(file)) as stream, ipc.open_file(stream) as opened:
                schema = opened.schema
    known = schema.pandas_metadata or {}
    # A range is no column.
    return [name for name in known.get("index_columns", []) if isinstance(name, str)]


def is_separated(file: Path) -> bool:
    """True if a table is text, in which all values but ids and categories are numbers."""
    return content_suffix(file) in (".csv", ".tsv")


def table_dataset(table: polars.DataFrame, roles: Roles, *, is_text: bool, is_part: bool = False) -> Dataset:
    """A data set from a table that was read from a file; all weights of a part of one may be 0."""
    import polars

    label, features = roles.label, roles.features
    _check_roles(table, roles)
    table = table.drop(roles.ignore)
    categorical_positions(roles.categorical_features, table.columns if features is None else features)
    if roles.unlabeled:
        table = table.with_columns(polars.lit(0.0).alias(label))
    if roles.judgements_only:
        table, features = table.with_columns(polars.lit(0.0).alias(NO_FEATURES)), [NO_FEATURES]
    if is_text:
        needed = {*table.columns} if features is None else {*features, label, roles.sample_weight}
        declared = table.select([*dict.fromkeys(roles.categorical_features)])
        table = table.with_columns([_category_text(column) for column in declared])
        needed -= {roles.qid, roles.docid, *roles.categorical_features, *roles.side}
        table = with_numbers(table, [label] if label in needed else [], (".",))
        table = with_numbers(table, [name for name in table.columns if name in needed])
    others = {"docid": roles.docid, "sample_weight": roles.sample_weight}
    columns = columns_of(
        table, label, roles.qid, features, others, roles.categorical_features, huge_is_missing=True, side=roles.side
    )
    qids = integers_or_text(columns.qid) if columns.qid.dtype.kind == "U" else columns.qid
    if not is_part:
        weight = roles.query_weight
        return Dataset(columns.X, columns.label, qid=qids, query_weight=weight, columns=columns.side, **columns.roles)
    # All weights of a part may be 0.
    part = Dataset(columns.X, columns.label, qid=qids, docid=columns.roles["docid"], columns=columns.side)
    return part.replace(sample_weight=columns.roles["sample_weight"])


def _check_roles(table: polars.DataFrame, roles: Roles) -> None:
    known = {*table.columns}
    by_role = {"label": roles.label, "qid": roles.qid, "docid": roles.docid, "sample_weight": roles.sample_weight}
    by_role |= {"query_weight": roles.query_weight}
    if roles.unlabeled:
        del by_role["label"]
    for role, name in by_role.items():
        if name is not None and name not in known:
            choose = Hint(role, ..., f"--{role.replace('_', '-')} COLUMN")
            raise DataError(
                f"there is no column '{name}': choose one by ", choose, f"; {did_you_mean(name, table.columns)}"
            )
        if name in roles.ignore:
            raise DataError(f"column '{name}' is given as {role} and to be ignored: a column has one role.")
        if name in roles.categorical_features:
            raise DataError(f"column '{name}' is given as {role} and as categorical: a column has one role.")
    for name in roles.side:
        if name not in known:
            raise DataError(f"there is no column '{name}' to keep; {did_you_mean(name, table.columns)}")
        if name in roles.ignore:
            raise DataError(f"column '{name}' is given as a side column and to be ignored: a column has one role.")
    for name in () if roles.judgements_only else roles.features or ():
        if name not in known:
            raise DataError(f"there is no column '{name}'; {did_you_mean(name, table.columns)}")
    for name in roles.ignore:
        if name not in known:
            raise DataError(f"there is no column '{name}' to ignore; {did_you_mean(name, table.columns)}")


def polars_table(file: Path, ids: list[str], wanted: Sequence[str] | None = None) -> polars.DataFrame:
    """A file as a table; in CSV and TSV, the columns of ids are text. Of Parquet, only wanted columns are read."""
    with readable(file):
        import polars

        if content_suffix(file) in _PARQUET_AND_ARROW:
            with opened_unchanged(file) as opened:
                content = opened.read()
            if content_suffix(file) == ".arrow":
                return polars.read_ipc(content)
            if wanted is None:
                return polars.read_parquet(content)
            known = polars.read_parquet_schema(content)
            return polars.read_parquet(content, columns=[name for name in known if name in wanted])
        return _separated(file, ids)


@contextmanager
def readable(file: Path) -> Iterator[None]:
    """Errors of Polars and Arrow about a file as DataErrors."""
    polars = import_extra("polars", f"{file}: tables need Polars: pip install 'swaprank[frames]'")
    try:
        yield
    except (polars.exceptions.PolarsError, OSError) as error:
        # The next lines give advice about options of Polars.
        raise DataError(f"{file} cannot be read: {str(error).splitlines()[0]}.") from None
    except BaseException as error:
        # Polars panics over some damaged files: not an Exception, so that it would end the program. Arrow has errors of
        # its own.
        if type(error).__name__ != "PanicException" and not type(error).__module__.startswith("pyarrow"):
            raise
        raise DataError(f"{file} cannot be read: it is damaged.") from None


def _separated(file: Path, ids: list[str]) -> polars.DataFrame:
    # Polars would memory-map a file, and the process would die if it were truncated meanwhile.
    if compression(file) or is_stream(file):
        source = b"".join(text_blocks(file))
    else:
        with opened_unchanged(file) as opened:
            source = opened.read()
        check_is_text(source[:4096], file)
    if not source:
        raise no_rows(file)
    return parsed_text(source, file, ids)


def parsed_text(source: bytes, file: Path, ids: list[str], n_before: int = 0) -> polars.DataFrame:
    """A table from text of a file, whose first line has the names of the columns; `n_before` lines are left out."""
    import polars

    separator = "\t" if content_suffix(file) == ".tsv" else ","
    check_names(source, separator, file)
    try:
        # Ids are read as text, so that 007 does not become 7. Other columns with non-numbers are also text.
        overrides = dict.fromkeys(ids, polars.String)
        table = polars.read_csv(source, separator=separator, infer_schema_length=None, schema_overrides=overrides)
    except polars.exceptions.ComputeError:
        check_lengths(source, separator, file, n_before)
        # A whole number beyond 128 bits, for instance.
        table = polars.read_csv(source, separator=separator, infer_schema=False)
    if table.width > 1 and table.to_series(-1).null_count():
        # Polars fills short rows.
        check_lengths(source, separator, file, n_before)
    if table.width == 1:
        name = table.columns[0]
        other = next((mark for mark in (";", "\t", "|", ",") if mark in name), None)
        if other is not None:
            raise DataError(
                f"{file} has one column, '{name[:40]}': it seems to be separated by {other!r}, not {separator!r}. "
                "Save it with the right separator",
                Wording(", or read it with Polars or pandas and use Dataset.from_frame", ""),
                ".",
            )
    return table


def with_numbers(table: polars.DataFrame, names: list[str], advice: tuple[Part, ...] | None = None) -> polars.DataFrame:
    """Convert text columns to numbers; raises DataError, which ends in advice, for the first text that is not one."""
    import polars

    converted = []
    for column in table.select(names):
        if column.dtype != polars.String:
            continue
        words, name = _without_missing(column), column.name
        numbers = words.cast(polars.Float64, strict=False)
        bad = (words.is_not_null() & numbers.is_null()).arg_true()
        if len(bad):
            ending = advice or (": ", *not_numbers_advice(name, from_all=True))
            found = f": '{words[bad[0]][:40]}' is not a number"
            raise DataError(f"column '{name}', ", Row(int(bad[0])), found, *ending)
        converted.append(numbers)
    return table.with_columns(converted)


def _names(what: str, given: Sequence[str]) -> list[str]:
    if isinstance(given, str) or not all(isinstance(name, str) for name in given):
        raise DataError(f"{what} of a file must be a list of column names; found {given!r}.")
    return list(given)


def _category_text(column: polars.Series) -> polars.Series:
    """Text without surrounding blanks; 7.0, which pandas writes for a 7 next to missing values, as 7."""
    return _without_missing(column).str.replace(r"^(-?\d+)\.0+$", "$1")


def _without_missing(column: polars.Series) -> polars.Series:
    """Text without surrounding blanks, null if it means a missing value."""
    import polars

    text = polars.col(column.name).str.strip_chars()
    is_missing = text.str.to_lowercase().is_in(_MISSING)
    return column.to_frame().select(polars.when(~is_missing).then(text)).to_series()
