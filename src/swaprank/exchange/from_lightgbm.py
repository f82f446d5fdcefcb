"""Read LightGBM's model text.

Its thresholds are double precision, and categories of a set go left; missing values and unknown categories go right at
a set. A node says what is missing: nothing (NaN is read as 0), NaN, or NaN and 0.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Bools
from swaprank.data.categories import Categories
from swaprank.errors import ModelFileError, ParameterError
from swaprank.exchange.pandas_columns import COLUMNS, pandas_columns
from swaprank.exchange.peer_categories import named_categories, numbered_categories
from swaprank.exchange.tree_building import (
    DoubleThresholds,
    PeerModel,
    PeerTree,
    at_most,
    forest_and_thresholds,
    tree_by_tree,
)
from swaprank.models.category_sets import MAX_WORDS, set_members, set_words

_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_NO_MISSING, _ZERO_IS_MISSING, _NAN_IS_MISSING = 0, 1, 2
_ZERO = np.float32(1e-35)
"""Values from -1e-35 to 1e-35 are read as 0."""
_VERSIONS = ("v2", "v3", "v4")


def content_of(model: Any) -> bytes:
    """The text of a Booster, or of the Booster of an LGBMModel, with the trees that its predict uses."""
    booster = getattr(model, "booster_", model)
    if hasattr(booster, "fit"):
        raise ParameterError(f"the {type(model).__name__} is not fitted.")
    if not hasattr(booster, "model_to_string"):
        raise ParameterError(f"a model of LightGBM is a Booster or an LGBMRanker; found {type(model).__name__}.")
    text: str = booster.model_to_string()
    return text.encode()


def read(content: bytes, pandas_categories: Sequence[str] | None = None) -> PeerModel:
    """The model in a text; `pandas_categories` are the columns of pandas categories, if the file does not tell."""
    # Names may have other characters at which splitlines would split.
    lines = content.decode().replace("\r", "").split("\n")
    header, first = _entries(lines, 0)
    _check_header(header)
    n_features = int(header["max_feature_idx"]) + 1
    names = tuple(name for name in header["feature_names"].split(" ") if name)
    if len(names) != n_features:
        raise ModelFileError(f"it has {n_features:,} features, but {len(names):,} names.")
    entries = list(_tree_entries(lines, first))
    if len(entries) != len(header.get("tree_sizes", "").split()):
        raise ModelFileError("it is truncated: there are fewer trees than the file says.")
    share = 1 / len(entries) if "average_output" in header and entries else 1.0
    trees = list(tree_by_tree(lambda _, tree: _tree(tree, share), entries))
    named: dict[int, Categories] = {}
    infos = header.get("feature_infos", "").split(" ")
    if lists := _pandas_lists(lines):
        columns = pandas_columns([len(each) for each in lists], infos, names, pandas_categories)
        named = {column: named_categories(each) for column, each in zip(columns, lists, strict=True)}
        trees = [_with_sets(tree, named) for tree in trees]
    elif pandas_categories is not None:
        raise ParameterError(COLUMNS, ": no column of the training data had pandas categories.")
    forest, exact = forest_and_thresholds(trees, n_features)
    doubles = DoubleThresholds(exact, [_range(info) for info in infos] if len(infos) == n_features else None)
    has_names = names != tuple(f"Column_{at}" for at in range(n_features))
    objective = header.get("objective", "").partition(" ")[0] or None
    categories = _numbered(trees) | named
    return PeerModel("LightGBM", forest, names if has_names else None, categories, objective, doubles)


def _check_header(header: Mapping[str, str]) -> None:
    if header.get("version") not in _VERSIONS:
        raise ModelFileError(
            f"its version is {header.get('version')}; known are {', '.join(_VERSIONS)}. Save it with another LightGBM."
        )
    for key in ("num_class", "num_tree_per_iteration"):
        if int(header.get(key, "1")) != 1:
            raise ModelFileError(
                f"it has several scores per document ({key}={header[key]}): a ranker has one. Train with a ranking, "
                "regression or binary objective."
            )


def _entries(lines: Sequence[str], at: int) -> tuple[dict[str, str], int]:
    """The lines key=value from a line on, and the first line that is of the next tree, or the end of the trees."""
    found = {}
    while at < len(lines) and not lines[at].startswith(("Tree=", "end of trees", "feature importances:")):
        key, _, value = lines[at].partition("=")
        found[key] = value
        at += 1
    return found, at


def _tree_entries(lines: Sequence[str], at: int) -> Iterator[dict[str, str]]:
    while at < len(lines) and lines[at].startswith("Tree="):
        found, at = _entries(lines, at + 1)
        yield found
    if at == len(lines):
        raise ModelFileError("it is truncated: the end of the trees is missing.")


def _tree(entries: Mapping[str, str], share: float) -> PeerTree:
    if int(entries.get("is_linear", "0")):
        raise ModelFileError("its leaves are linear models (linear_tree): train without linear_tree.")
    n_leaves = int(entries["num_leaves"])

    def numbers(key: str, dtype: type, n_values: int) -> AnyArray:
        found: AnyArray = np.array(entries[key].split(), dtype)
        if len(found) != n_values:
            raise ModelFileError(f"{key} has {len(found):,} values, not {n_values:,}.")
        return found

    def optional(key: str, n_values: int) -> AnyArray | None:
        return numbers(key, np.float64, n_values) if key in entries else None

    leaf_value = numbers("leaf_value", np.float64, n_leaves) * share
    if n_leaves <= 1:
        return PeerTree(leaf_value=leaf_value.tolist())
    n_nodes = n_leaves - 1
    decision = (
        numbers("decision_type", np.int64, n_nodes) if "decision_type" in entries else np.zeros(n_nodes, np.int64)
    )
    threshold = numbers("threshold", np.float64, n_nodes)
    is_set = (decision & _CATEGORICAL) > 0
    limits, missing_left = _tests(threshold, (decision >> 2) & 3, (decision & _DEFAULT_LEFT) > 0, is_set)
    gain = optional("split_gain", n_nodes)
    return PeerTree(
        feature=numbers("split_feature", np.int64, n_nodes).tolist(),
        threshold=limits,
        missing_left=missing_left.tolist(),
        left=numbers("left_child", np.int64, n_nodes).tolist(),
        right=numbers("right_child", np.int64, n_nodes).tolist(),
        leaf_value=leaf_value.tolist(),
        leaf_weight=optional("leaf_count", n_leaves),
        gain=None if gain is None else np.nan_to_num(gain, posinf=0, neginf=0).tolist(),
        sets=_sets(threshold, is_set, entries),
    )


def _tests(threshold: AnyArray, missing: AnyArray, default_left: Bools, is_set: Bools) -> tuple[AnyArray, Bools]:
    """The thresholds, and where missing values go."""
    if (missing > _NAN_IS_MISSING).any():
        raise ModelFileError("decision_type has a value that LightGBM does not write.")
    limits = np.where(is_set, 0.0, threshold)
    # All values that are read as 0 are on the side of 0.
    is_zero = np.abs(at_most(limits)) <= _ZERO
    zero_left = threshold >= 0
    if (has_zero := ~is_set & (missing == _ZERO_IS_MISSING)).any():
        if (has_zero & ~is_zero & (default_left != zero_left)).any():
            raise ModelFileError(
                "it was trained with zero_as_missing, and sends 0 to the other side than the numbers around it, which "
                "our trees cannot. Train with NaN for missing values instead."
            )
        zero_left = np.where(has_zero, default_left, zero_left)
    limits = np.where(is_zero, np.where(zero_left, _ZERO, np.nextafter(-_ZERO, np.float32(-1))), limits)
    missing_left = np.where(missing == _NAN_IS_MISSING, default_left, zero_left) & ~is_set
    return limits, missing_left


def _sets(threshold: AnyArray, is_set: Bools, entries: Mapping[str, str]) -> dict[int, AnyArray]:
    """The words of the sets by node; the threshold of such a node is the number of its set."""
    if not is_set.any():
        return {}
    nodes, which = np.flatnonzero(is_set).tolist(), threshold[is_set].astype(np.int64).tolist()
    starts = np.array(entries["cat_boundaries"].split(), np.int64)
    words = np.array(entries["cat_threshold"].split(), np.uint32)
    sizes = np.diff(starts)
    if len(set(which)) < len(which) or min(which) < 0 or max(which) >= len(sizes):
        raise ModelFileError("a node has a set of categories that does not exist, or that of another node.")
    if starts[0] != 0 or (sizes < 0).any() or starts[-1] != len(words) or sizes.max() > MAX_WORDS:
        raise ModelFileError("cat_boundaries do not fit to cat_threshold.")
    # A set without words has no categories, and a node without words would have a threshold.
    own = [words[starts[at] : starts[at + 1]] for at in which]
    return {node: found if len(found) else np.zeros(1, np.uint32) for node, found in zip(nodes, own, strict=True)}


def _range(info: str) -> tuple[float, float]:
    """The smallest and the largest value of a number in training."""
    if not info.startswith("["):
        return -np.inf, np.inf
    low, _, high = info.strip("[]").partition(":")
    return float(low), float(high)


def _pandas_lists(lines: Sequence[str]) -> list[Any]:
    """The categories of the columns that were pandas categories, in the order of the columns."""
    named = next((line for line in reversed(lines) if line.startswith("pandas_categorical:")), "pandas_categorical:[]")
    lists = json.loads(named.partition(":")[2]) or []
    if not isinstance(lists, list):
        raise ModelFileError("pandas_categorical is not a list.")
    return lists


def _numbered(trees: Sequence[PeerTree]) -> dict[int, Categories]:
    """The numbers of the categories as far as the sets go."""
    largest: dict[int, int] = {}
    for tree in trees:
        for node, words in tree.sets.items():
            feature = tree.feature[node]
            members = np.flatnonzero(set_members(words))
            largest[feature] = max(largest.get(feature, 0), int(members[-1]) if len(members) else 0)
    return {feature: numbered_categories(last + 1) for feature, last in largest.items()}


def _with_sets(tree: PeerTree, named: Mapping[int, Categories]) -> PeerTree:
    """The tree with sets of codes in place of thresholds for them: pandas categories that were read as numbers."""
    for node, (feature, threshold) in enumerate(zip(tree.feature, tree.threshold, strict=True)):
        if feature in named and node not in tree.sets:
            codes = np.arange(max(1, len(named[feature])))
            tree.sets[node] = set_words(codes <= threshold, others=bool(tree.missing_left[node]))
    return tree
