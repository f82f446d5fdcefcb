"""The data that `fit` and `score` are given, as a Dataset or Parts: our arguments, and those of other libraries."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from swaprank.arrays import Floats
from swaprank.cluster.parts import NAMED_COLUMNS, Parts, as_parts
from swaprank.data.categories import Categories
from swaprank.data.dataset import Dataset
from swaprank.data.features import model_features
from swaprank.data.frames import column_names, split_columns
from swaprank.data.grouping import Grouping
from swaprank.data.row_values import row_weights
from swaprank.errors import DataError, Wording


def as_data(X: Any, **columns: Any) -> Dataset | Parts:
    """Judged documents: data on a cluster as Parts, everything else as a Dataset; `columns` are arguments of `fit`."""
    data = as_parts(X, **columns)
    return data if isinstance(data, Parts) else as_dataset(X, **columns)


def as_dataset(
    X: Any,
    y: Any = None,
    names: Sequence[str] | None = None,
    whose: str = "the model",
    categories: Mapping[str, Categories] | None = None,
    **others: Any,
) -> Dataset:
    """A Dataset as it is, or one made of X, y and the other arguments of `Dataset` that are not None.

    y, qid, weights and base_score may be names of columns of X; by default, these are label and qid. If the names
    and categories of a model are given, only these features are taken, see data/matching.py, with the codes of these
    categories.

    >>> import pandas as pd
    >>> from swaprank.rankers.given_data import as_dataset
    >>> frame = pd.DataFrame({"query": [1, 1], "clicked": [0, 1], "bm25": [3.2, 8.1]})
    >>> as_dataset(frame, "clicked", qid="query").feature_names
    ('bm25',)
    """
    given = {name: value for name, value in {"y": y, **others}.items() if value is not None}
    if isinstance(X, Dataset):
        if isinstance(column := given.get("query_weight"), str):
            del given["query_weight"]
            data = _weighted(X, column)
        else:
            data = X
        if given:
            raise DataError(
                f"a data set has its own labels, query ids and weights: give it without {', '.join(given)}."
            )
        return data if names is None else data.with_features(names, categories=categories or {}, whose=whose)
    if y is None and "label" in column_names(X):
        given["y"] = "label"
    if isinstance(given.get("y"), str) and "group" not in given:
        given.setdefault("qid", "qid")
    needed = "documents are given as a Dataset, or as X with y and qid: one label and one query id for every row."
    if "y" not in given:
        # The words that people search for, and that scikit-learn's checks want.
        raise DataError(f"this requires y to be passed, but the target y is None: {needed}")
    if "qid" not in given and "group" not in given:
        raise DataError(
            f"query ids are missing: {needed}",
            Wording(
                " In searches of scikit-learn, such as GridSearchCV, qid reaches fit and score with "
                "sklearn.set_config(enable_metadata_routing=True); without it, let the query ids be a column of X and "
                "give scoring=sr.evaluation.RankingScorer('ndcg@10', qid='COLUMN').",
                "",
            ),
        )
    if named := {name: given[name] for name in NAMED_COLUMNS if isinstance(given.get(name), str)}:
        X, columns = split_columns(X, named)
        given |= columns
        if "query_weight" in named:
            # One value per row until queries are known.
            weight = named["query_weight"]
            given |= {"query_weight": weight, "columns": {weight: columns["query_weight"]}}
    if names is not None:
        X = model_features(X, names, whose, categories or {})
    return Dataset(X, **given)


def _weighted(data: Dataset, column: str) -> Dataset:
    """The data with a side column as weights of queries, beside the weights of its rows."""
    grouping = Grouping(data.qids, data.indptr, data.order)
    return data.replace(sample_weight=row_weights(data.sample_weight, data.of_queries(column), grouping, len(data)))


def named_sets(valid: Any, eval_set: Any, eval_group: Any, eval_qid: Any) -> dict[str, Any]:
    """The validation sets by name, as they are given.

    Args:
        valid: A data set, or a mapping of such.
        eval_set: Pairs (X, y), as LightGBM and XGBoost want them, with `eval_group` or `eval_qid`.
        eval_group: The group sizes of each pair.
        eval_qid: The query ids of each pair.
    """
    if eval_set is None:
        if eval_group is not None or eval_qid is not None:
            raise DataError("eval_group and eval_qid belong to eval_set, which is missing.")
        named = {} if valid is None else dict(valid) if isinstance(valid, Mapping) else {"valid": valid}
    elif valid is not None:
        raise DataError("give the validation data as valid or as eval_set, not as both.")
    else:
        named = _named_pairs(eval_set, eval_group, eval_qid)
    return {str(name): each for name, each in named.items()}


def _named_pairs(eval_set: Any, eval_group: Any, eval_qid: Any) -> dict[str, Any]:
    """The arguments of `as_dataset` for each set, under LightGBM's names: valid_0, valid_1 and so on."""
    sets = [eval_set] if isinstance(eval_set, tuple | Dataset) else eval_set
    if not isinstance(sets, Sequence):
        raise DataError(f"eval_set must be a list of tuples (X, y), found {type(eval_set).__name__}.")
    is_pair = [isinstance(each, tuple | list) and len(each) == len(("X", "y")) for each in sets]
    if eval_group is not None and eval_qid is not None:
        raise DataError("give eval_group or eval_qid, not both.")
    queries, name, by = (eval_group, "eval_group", "group") if eval_qid is None else (eval_qid, "eval_qid", "qid")
    n_found = 0 if queries is None else len(queries) if hasattr(queries, "__len__") else repr(queries)
    if n_found != sum(is_pair):
        what = "query ids" if by == "qid" else "group sizes"
        raise DataError(
            f"{name} must be a list with the {what} of each pair in eval_set, {sum(is_pair)} in all; found {n_found}."
        )
    of_pairs = iter(() if queries is None else queries)
    return {
        f"valid_{number}": {"X": each[0], "y": each[1], by: next(of_pairs)} if pair else each
        for number, (each, pair) in enumerate(zip(sets, is_pair, strict=True))
    }


def validation_sets(
    given: Mapping[str, Any], train: Dataset, columns: Mapping[str, Any] | None = None
) -> dict[str, Dataset]:
    """Validation sets with the features of the training data and the codes of its categories.

    Args:
        given: The sets by name: each a Dataset, a tuple (X, y, qid), arguments of `as_dataset`, or a table.
        train: The training data.
        columns: Arguments of `fit`, of which a table takes the names of columns.
    """
    sets = {}
    for name, each in given.items():
        where, names, categories = f"the set '{name}'", train.feature_names, train.categories
        if isinstance(each, Dataset):
            each.stored.check_same_cuts(train.stored, where)
            sets[name] = each.with_features(names, categories=categories, whose="the training data", where=where)
        else:
            arguments = _set_arguments(where, each, columns or {})
            sets[name] = as_dataset(**arguments, names=names, whose="the training data", categories=categories)
    return sets


def validation_data(name: str, given: Any, columns: Mapping[str, Any]) -> Dataset | Parts:
    """A validation set for training data on a cluster: in parts, or a Dataset, which is divided among the workers."""
    if not (isinstance(given, tuple) and isinstance(given[-1], str)):
        # Columns of the training data that are no names belong to it alone.
        named = {column: value for column, value in columns.items() if isinstance(value, str | None)}
        data = as_parts(given, **(named if column_names(given) else {}))
        if isinstance(data, Parts | Dataset):
            return data
    return as_data(**_set_arguments(f"the set '{name}'", given, columns))


def _set_arguments(where: str, given: Any, columns: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of `as_dataset` for a validation set that is no Dataset."""
    if isinstance(given, tuple) and len(given) == len(("X", "y", "qid")):
        return dict(zip(("X", "y", "qid"), given, strict=True))
    if isinstance(given, Mapping):
        return given
    named = {name: columns[name] for name in NAMED_COLUMNS if isinstance(columns.get(name), str)}
    if named.get("y", "label") not in column_names(given):
        raise DataError(f"{where} must be a Dataset or a tuple (X, y, qid); found {type(given).__name__}.")
    return {"X": given, **named}


def plus_base_score(scores: Floats, X: Any) -> Floats:
    """Scores plus those that the data set brings along; DataError if one is not finite.

    >>> import numpy as np
    >>> import swaprank as sr
    >>> from swaprank.rankers.given_data import plus_base_score
    >>> plus_base_score(np.array([0.5]), sr.Dataset([[1.0]], [0], qid=[7], base_score=[2.0])).tolist()
    [2.5]
    """
    total = scores + X.base_score if isinstance(X, Dataset) and X.base_score is not None else scores
    finite = np.isfinite(total)
    if np.count_nonzero(finite) < len(finite):  # much faster than `all` for a few rows
        row = int(np.argmin(finite))
        raise DataError(
            f"the score of row {row} is {total[row]}: its features or its base score are too large for the model. "
            "Scale them, or remove the row."
        )
    return total
