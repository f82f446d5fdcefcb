"""A tree as readable text."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from swaprank.errors import SwaprankError
from swaprank.models.category_sets import set_members

if TYPE_CHECKING:
    from swaprank.models.forest import Forest

_CATEGORIES_SHOWN = 5
_CATEGORY_LENGTH = 40


def tree_text(
    forest: "Forest", tree: int, feature_names: Sequence[str], categories: Mapping[str, Sequence[str]] | None = None
) -> str:
    """One tree as nested conditions, with the documents and gain of every split and the number and value of every leaf.

    Categorical features are shown with their categories, by the name of the feature; without, with the numbers of the
    categories. A category that the model does not know goes where missing values go.

    >>> import numpy as np
    >>> from dataclasses import replace
    >>> from swaprank.models.forest import Forest
    >>> from swaprank.models.tree_text import tree_text
    >>> stump = Forest(
    ...     n_features=1, base_score=0.0, tree_nodes=np.array([0, 1]), tree_leaves=np.array([0, 2]),
    ...     feature=np.array([0], np.int32), threshold=np.array([3.5], np.float32), missing_left=np.array([True]),
    ...     left=np.array([~0], np.int32), right=np.array([~1], np.int32), gain=np.array([12.5]),
    ...     node_count=np.array([100]), leaf_value=np.array([-0.25, 0.5]), leaf_count=np.array([60, 40]),
    ...     n_words=np.array([0], np.int32), words=np.empty(0, np.uint32))
    >>> print(tree_text(stump, 0, ["bm25"]))
    if bm25 ≤ 3.5 or missing:  (100 documents, gain 12.5)
        leaf 0: -0.25  (60 documents)
    else:
        leaf 1: +0.5  (40 documents)
    >>> stump = replace(stump, threshold=np.zeros(1, np.float32), n_words=np.ones(1, np.int32), words=np.array([0b110]))
    >>> print(tree_text(stump, 0, ["brand"], {"brand": ["acme", "bolt", "cobalt", "delta"]}).splitlines()[0])
    if brand in {bolt, cobalt} or missing:  (100 documents, gain 12.5)
    """
    if not 0 <= tree < forest.n_trees:
        raise SwaprankError(f"there is no tree {tree}: there are {forest.n_trees}, numbered from 0.")
    nodes, leaves = int(forest.tree_nodes[tree]), int(forest.tree_leaves[tree])
    only_leaf = nodes == forest.tree_nodes[tree + 1]
    word_stops = np.cumsum(forest.n_words, dtype=np.int64)
    lines = []
    # A stack instead of recursion: a tree may be as deep as its number of nodes.
    pending: list[tuple[int, int] | str] = [(~0 if only_leaf else 0, 0)]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            lines.append(item)
            continue
        child, depth = item
        indent = "    " * depth
        if child < 0:
            leaf = leaves + ~child
            value, count = forest.leaf_value[leaf], forest.leaf_count[leaf]
            lines.append(f"{indent}leaf {~child}: {value:+.6g}  ({_documents(count)})")
            continue
        node = nodes + child
        missing_left, name = bool(forest.missing_left[node]), feature_names[forest.feature[node]]
        if forest.n_words[node]:
            words = forest.words[word_stops[node] - forest.n_words[node] : word_stops[node]]
            condition = f"if {name} {_membership(words, missing_left, (categories or {}).get(name))}"
        else:
            condition = f"if {name} ≤ {forest.threshold[node]!s}"
        details = f"({_documents(forest.node_count[node])}, gain {forest.gain[node]:.6g})"
        lines.append(f"{indent}{condition}{' or missing' if missing_left else ''}:  {details}")
        pending.append((int(forest.right[node]), depth + 1))
        pending.append(f"{indent}{'else:' if missing_left else 'else, or missing:'}")
        pending.append((int(forest.left[node]), depth + 1))
    return "\n".join(lines)


def _membership(words: NDArray[np.uint32], missing_left: bool, names: Sequence[str] | None) -> str:
    """The categories that go left, or the others if they are fewer, such as "in {acme, bolt}" and "not in {acme}"."""
    in_set = set_members(words)
    if names is None:
        return f"in {_listed(np.flatnonzero(in_set).tolist())}"
    left = np.full(max(len(names), len(in_set)), missing_left)
    left[: len(in_set)] = in_set
    left = left[: len(names)]
    are_most = 2 * np.count_nonzero(left) > len(left)
    fewer = [names[number] for number in np.flatnonzero(left != are_most).tolist()]
    return f"{'not in' if are_most else 'in'} {_listed(fewer)}"


def _listed(values: Sequence[object]) -> str:
    """The first values in braces."""
    shown = [_shortened(str(value)) for value in values[:_CATEGORIES_SHOWN]]
    if len(values) > len(shown):
        shown.append(f"… {len(values) - len(shown):,} more")
    return f"{{{', '.join(shown)}}}"


def _shortened(name: str) -> str:
    """The beginning of a name, in quotes if it is not plain."""
    short = name if len(name) <= _CATEGORY_LENGTH else f"{name[:_CATEGORY_LENGTH]}…"
    is_plain = short.isprintable() and short != "" and not set(short) & set(",{}'\"")
    return short if is_plain else repr(short)


def _documents(count: int) -> str:
    return f"{count:,} document{'' if count == 1 else 's'}"
