"""What is evaluated, as scores: a fitted ranker, a column of the data, a TREC run, or the scores themselves."""

from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Floats
from swaprank.data.dataset import Dataset
from swaprank.data.judgements import Run
from swaprank.data.row_values import check_scores
from swaprank.errors import DataError, did_you_mean


def scores_of(data: Dataset, given: Any) -> Floats:
    """One score per row of the data, in row order.

    Args:
        data: The documents.
        given: A fitted ranker, or anything with a method `predict`; the name of a side column or of a feature, with a
            minus in front for smallest first; a TREC run; or one number per row.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[3.0], [4.0]], [0, 1], qid=[1, 1], feature_names=["price"], columns={"bm25": [7, 2]})
    >>> scores_of(data, "bm25").tolist(), scores_of(data, "-price").tolist()
    ([7.0, 2.0], [-3.0, -4.0])
    """
    if isinstance(given, str):
        return column_scores(data, given)
    if isinstance(given, Run):
        return given.scores_for(data)
    if hasattr(given, "predict") and not isinstance(given, type):
        given = given.predict(data if _takes_datasets(given) else data.features)
    return check_scores(given, len(data))


def column_scores(data: Dataset, name: str) -> Floats:
    """A side column or a feature as scores; missing values come last.

    >>> import swaprank as sr
    >>> from swaprank.evaluation.given_scores import column_scores
    >>> column_scores(sr.Dataset([[1.0], [float("nan")]], [0, 1], qid=[1, 1]), "1").tolist()
    [1.0, 0.0]
    """
    known = (*data.columns, *data.feature_names)
    is_reversed = name not in known and name[:1] == "-" and name[1:] in known
    column = name[1:] if is_reversed else name
    if column not in known:
        raise DataError(f"there is no column or feature '{name}' to rank by; {did_you_mean(name, known)}")
    if column in data.categories or (column in data.columns and data.columns[column].dtype.kind not in "iufb"):
        raise DataError(f"'{column}' holds no numbers: documents cannot be ranked by it.")
    values = data.columns[column] if column in data.columns else data.column(column)
    return value_scores(values, is_reversed=is_reversed)


def value_scores(values: AnyArray, *, is_reversed: bool = False) -> Floats:
    """Numbers as scores, largest first, or smallest first if reversed; missing values come last.

    >>> import numpy as np
    >>> from swaprank.evaluation.given_scores import value_scores
    >>> value_scores(np.array([3.0, np.nan, 1.0]), is_reversed=True).tolist()
    [-3.0, -4.0, -1.0]
    """
    scores = np.asarray((-1.0 if is_reversed else 1.0) * values.astype(np.float64))
    missing = np.isnan(scores)
    if missing.any():
        scores[missing] = (np.nanmin(scores) if not missing.all() else 0.0) - 1.0
    return scores


def _takes_datasets(predictor: Any) -> bool:
    """True for rankers of ours; models of other libraries, such as scikit-learn's, take a matrix."""
    return type(predictor).__module__.partition(".")[0] == "swaprank" or hasattr(predictor, "learned_")
