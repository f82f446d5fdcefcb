"""What users hand to `fit` and `score`, as data sets: our own arguments, and those of LightGBM and XGBoost."""

from collections.abc import Mapping, Sequence
from typing import Any

from swaprank.data.categories import Categories
from swaprank.data.dataset import Dataset
from swaprank.data.features import model_features
from swaprank.data.frames import split_column
from swaprank.errors import DataError


def as_dataset(
    X: Any,
    y: Any,
    names: Sequence[str] | None = None,
    whose: str = "the model",
    categories: Mapping[str, Categories] | None = None,
    **others: Any,
) -> Dataset:
    """A Dataset as it is, or one made of X, y and the other arguments of `Dataset` that are not None.

    qid may be the name of a column of X. If the names and categories of a model are given, only these features are
    taken, see data/matching.py, with the codes of these categories.
    """
    given = {name: value for name, value in others.items() if value is not None}
    if isinstance(X, Dataset):
        if y is not None or given:
            found = ", ".join(["y"] * (y is not None) + list(given))
            raise DataError(f"a Dataset has its own labels, query ids and weights: give it without {found}.")
        return X if names is None else X.with_features(names, categories=categories or {}, whose=whose)
    needed = "documents are given as a Dataset, or as X with y and qid: one label and one query id for every row."
    if y is None:
        # The words that people search for, and that scikit-learn's checks want.
        raise DataError(f"this requires y to be passed, but the target y is None: {needed}")
    if "qid" not in given and "group" not in given:
        raise DataError(f"query ids are missing: {needed}")
    if isinstance(given.get("qid"), str):
        X, given["qid"] = split_column(X, given["qid"])
    if names is not None:
        X = model_features(X, names, whose, categories or {})
    return Dataset(X, y, **given)


def validation_sets(valid: Any, eval_set: Any, eval_group: Any, eval_qid: Any, train: Dataset) -> dict[str, Dataset]:
    """The validation sets by name, with the features of the training data and the codes of its categories.

    Args:
        valid: A Dataset, a tuple (X, y, qid), or a mapping of such.
        eval_set: Pairs (X, y), as LightGBM and XGBoost want them, with `eval_group` or `eval_qid`.
        eval_group: The group sizes of each pair.
        eval_qid: The query ids of each pair.
        train: The training data.
    """
    if eval_set is None:
        if eval_group is not None or eval_qid is not None:
            raise DataError("eval_group and eval_qid belong to eval_set, which is missing.")
        named = {} if valid is None else dict(valid) if isinstance(valid, Mapping) else {"valid": valid}
    elif valid is not None:
        raise DataError("give the validation data as valid or as eval_set, not as both.")
    else:
        named = _named_pairs(eval_set, eval_group, eval_qid)
    return {str(name): _validation_set(str(name), each, train) for name, each in named.items()}


def _named_pairs(eval_set: Any, eval_group: Any, eval_qid: Any) -> dict[str, Any]:
    """The arguments of `as_dataset` for each set, under LightGBM's names: valid_0, valid_1 and so on."""
    sets = [eval_set] if isinstance(eval_set, tuple | Dataset) else eval_set
    if not isinstance(sets, Sequence):
        raise DataError(f"eval_set must be a list of tuples (X, y), found {type(eval_set).__name__}.")
    is_pair = [isinstance(each, tuple | list) and len(each) == len(("X", "y")) for each in sets]
    if eval_group is not None and eval_qid is not None:
        raise DataError("give eval_group or eval_qid, not both.")
    queries, name, by = (eval_group, "eval_group", "group") if eval_qid is None else (eval_qid, "eval_qid", "qid")
    n_found = 0 if queries is None else len(queries)
    if n_found != sum(is_pair):
        what = "query ids" if by == "qid" else "group sizes"
        raise DataError(f"{name} must have the {what} of the {sum(is_pair)} pairs (X, y) in eval_set, found {n_found}.")
    of_pairs = iter(() if queries is None else queries)
    return {
        f"valid_{number}": {"X": each[0], "y": each[1], by: next(of_pairs)} if pair else each
        for number, (each, pair) in enumerate(zip(sets, is_pair, strict=True))
    }


def _validation_set(name: str, given: Any, train: Dataset) -> Dataset:
    where, names, categories = f"the set '{name}'", train.feature_names, train.categories
    if isinstance(given, Dataset):
        given.stored.check_same_cuts(train.stored, where)
        return given.with_features(names, categories=categories, whose="the training data", where=where)
    if isinstance(given, tuple) and len(given) == len(("X", "y", "qid")):
        given = dict(zip(("X", "y", "qid"), given, strict=True))
    if not isinstance(given, Mapping):
        raise DataError(f"{where} must be a Dataset or a tuple (X, y, qid); found {type(given).__name__}.")
    return as_dataset(**given, names=names, whose="the training data", categories=categories)
