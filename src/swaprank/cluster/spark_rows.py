"""Rows of a Spark data frame: which columns are sent to Python, and which partition has which queries."""

from collections.abc import Collection, Sequence
from functools import reduce
from typing import Any

from swaprank.cluster.arrow_rows import Rows
from swaprank.errors import DataError, did_you_mean, import_extra

SET, ROW = "__swaprank_set", "__swaprank_row"
"""Columns that are added: the number of the data set, and the place of the row in it."""


def is_spark_frame(data: Any) -> bool:
    """True for a data frame of Spark, classic or Connect; found out without importing Spark."""
    return any(
        each.__module__.startswith("pyspark.sql") and each.__name__ == "DataFrame" for each in type(data).__mro__
    )


def check_frame(data: Any) -> None:
    """Raise DataError for what is no data frame of Spark, and MissingExtraError without Spark."""
    import_extra("pyspark", "training and scoring with Spark needs PySpark: pip install 'swaprank[spark]'")
    if not is_spark_frame(data):
        raise DataError(f"expected a Spark data frame, found {type(data).__name__}.")


def column_names(data: Any) -> list[str] | None:
    """The columns of a Spark data frame; None for anything else."""
    return list(data.columns) if is_spark_frame(data) else None


def vector_columns(frame: Any) -> list[str]:
    """The columns with vectors of Spark ML, or arrays of numbers."""
    from pyspark.ml.linalg import VectorUDT
    from pyspark.sql.types import ArrayType, NumericType

    return [
        field.name
        for field in frame.schema.fields
        if isinstance(field.dataType, VectorUDT)
        or (isinstance(field.dataType, ArrayType) and isinstance(field.dataType.elementType, NumericType))
    ]


def entry_names(frame: Any, vector: str) -> tuple[str, ...] | None:
    """The names of a vector's entries, which Spark's VectorAssembler keeps; None if they are not known."""
    about = frame.schema[vector].metadata.get("ml_attr", {})
    named = {
        int(each["idx"]): str(each["name"])
        for of_kind in about.get("attrs", {}).values()
        for each in of_kind
        if "name" in each
    }
    if not named or sorted(named) != list(range(int(about.get("num_attrs", -1)))):
        return None
    return tuple(named[number] for number in range(len(named)))


def features_of(frame: Any, names: Sequence[str], categories: Collection[str | int]) -> list[Any]:
    """Spark's columns of features, in single precision, in which features are stored: half as much is sent.

    Args:
        frame: The data frame.
        names: The columns.
        categories: Those whose values are categories, by name or position; they are sent as they are.
    """
    from pyspark.ml.functions import vector_to_array
    from pyspark.ml.linalg import VectorUDT
    from pyspark.sql.types import ArrayType, DecimalType, DoubleType

    found = []
    for position, name in enumerate(names):
        kind, column = frame.schema[name].dataType, named(frame, name)
        if isinstance(kind, VectorUDT):
            column = vector_to_array(column, "float32")
        elif isinstance(kind, ArrayType):
            column = column.cast("array<float>")
        elif name not in categories and position not in categories:
            if isinstance(kind, DecimalType):
                column = column.cast("double")
            if isinstance(kind, DecimalType | DoubleType):
                column = column.cast("float")
        found.append(column.alias(name))
    return found


def named(frame: Any, name: str) -> Any:
    """The column with this name, which may have dots and other signs in it."""
    if name not in frame.columns:
        raise DataError(f"there is no column '{name}'; {did_you_mean(name, frame.columns)}")
    return frame["`" + name.replace("`", "``") + "`"]


def arranged(sets: Sequence[Rows], n_partitions: int) -> Any:
    """The rows of several data sets in partitions of whole queries, sorted by data set and query.

    Rows of a query keep the order in which Spark collects them. The first data set gives the names of labels and query
    ids.
    """
    from pyspark.sql import functions

    first = sets[0].columns
    selected = []
    for number, (frame, columns) in enumerate(sets):
        ids = named(frame, columns.label).alias(first.label), named(frame, columns.qid).alias(first.qid)
        others = [named(frame, name) for name in dict.fromkeys((*columns.roles.values(), *columns.side))]
        selected.append(
            frame.select(
                functions.lit(number).alias(SET),
                functions.monotonically_increasing_id().alias(ROW),
                *ids,
                *others,
                *features_of(frame, columns.features, columns.categorical),
            )
        )
    together = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), selected)
    qid = named(together, first.qid)
    return together.repartition(n_partitions, qid).sortWithinPartitions(functions.col(SET), qid, functions.col(ROW))
