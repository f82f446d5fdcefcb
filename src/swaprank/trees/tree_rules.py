"""The parameters of growing trees that all rankers made of trees share, each declared once.

Some are chosen by the number of documents if the user does not say: the fewer documents, the more regularization; the
more documents, the smaller the share of them that splits are found on. All of it changes gradually. How trees grow is
chosen by the data itself, see `rankers/growth_trial.py`.
`benchmarks/quality.py` compares these defaults with other values.
"""

import math
from collections.abc import Sequence
from typing import Literal, final

import numpy as np

from swaprank.parameters import Parameters, parameter

GrowPolicy = Literal["leafwise", "symmetric"]
GROW_POLICIES: tuple[GrowPolicy, ...] = ("leafwise", "symmetric")
Split = Literal["newton", "least_squares"]
SPLITS: tuple[Split, ...] = ("newton", "least_squares")


class GrowthRules(Parameters):
    """The size of a tree, and the documents, queries and features that it is grown on."""

    n_leaves: int | Sequence[int] = parameter(
        default=31,
        low=2,
        high=65_536,
        by_round=True,
        tune=(4, 255),
        also="num_leaves max_leaves max_leaf_nodes num_leaf",
        text="Maximum number of leaves per tree. A sequence has one for each round of this training, and the last one "
        "is kept for all later rounds.",
    )
    min_docs_in_leaf: int = parameter(
        default=20,
        low=1,
        tune=(5, 500),
        also="min_child_samples min_data_in_leaf min_data min_samples_leaf",
        text="Minimum number of documents per leaf. It is reduced in proportion if splits are found on a fraction of "
        "the queries or documents.",
    )
    max_depth: int | None = parameter(
        default=None,
        low=1,
        whole=True,
        also="depth",
        text="Maximum depth of a tree. If None, only `n_leaves` limits it.",
    )
    grow_policy: GrowPolicy | None = parameter(
        default="leafwise",
        words=GROW_POLICIES,
        text='How a tree grows: "leafwise", the leaf with the largest gain is split by its own best cut; "symmetric", '
        "one cut splits all leaves of a level, the best for all of them together. Symmetric trees follow noise less, "
        "and learn fewer interactions. They take neither categories nor constraints.",
    )
    split_noise: float | None = parameter(
        default=0.0,
        low=0,
        high=1e6,
        tune=(0.0, 3.0),
        text="Random splits: the best splits of features are compared with noise in the root of their gains, in units "
        "of what gradients without any signal would have.",
    )
    max_bins: int = parameter(
        default=255,
        low=2,
        high=255,
        also="max_bin",
        text="Maximum number of bins per feature, at most 255. Categories are not merged: each has its own.",
    )
    feature_fraction: float = parameter(
        default=1.0,
        above=0,
        high=1,
        tune=(0.3, 1.0),
        also="colsample_bytree sub_feature rsm",
        text="Fraction of the features that each tree may use.",
    )
    query_fraction: float = parameter(
        default=1.0,
        above=0,
        high=1,
        text="Fraction of the queries that each tree learns from. Successive trees take turns.",
    )
    document_fraction: float | None = parameter(
        default=None,
        above=0,
        high=1,
        text="Fraction of the documents on which splits are found. Large gradients are preferred. If None: 1 for up to "
        "65,000 documents, and falling gradually for more: 0.3 for 720,000 documents.",
    )


class LeafRules(Parameters):
    """What splits minimize, and the size of leaf values: how far they follow the gradients."""

    split: Split = parameter(
        default="newton",
        words=SPLITS,
        text='What a split minimizes: "newton", the cost after one Newton step in each leaf; "least_squares", the '
        "squared error of a tree that predicts the gradients, as in the paper. Leaf values are Newton steps in either "
        "case.",
    )
    learning_rate: float | Sequence[float] = parameter(
        default=0.1,
        above=0,
        by_round=True,
        tune=(0.01, 0.3),
        also="eta shrinkage_rate lr",
        text="Shrinkage: each leaf value is multiplied by it. A sequence has one for each round of this training, and "
        "the last one is kept for all later rounds.",
    )
    leaf_smoothing: float | None = parameter(
        default=0.0,
        low=0,
        high=1e12,
        tune=(0.0, 1000.0),
        text="Leaf values shrink as if each leaf had so many more documents, of mean hessian and no gradient: L2 "
        "regularization that does not depend on the scale of the gradients.",
    )
    l2: float = parameter(
        default=0.0,
        low=0,
        also="reg_lambda lambda_l2 l2_leaf_reg l2_regularization",
        text="L2 regularization: a number that is added to the hessian of each leaf, too.",
    )
    min_gain: float = parameter(
        default=0.0,
        low=0,
        also="min_split_gain min_gain_to_split",
        text="A split must have a gain larger than this.",
    )


class RandomRanks(Parameters):
    """Noise in the ranks that the gradients are computed from."""

    score_noise: float | None = parameter(
        default=0.0,
        low=0,
        high=1e6,
        text="Random ranks: the scale of the Gumbel noise that is added to the scores before each round's gradients "
        "are computed. 0: the ranks as they are.",
    )


@final
class TreeRules(GrowthRules, LeafRules, RandomRanks):
    """All of them together, with a value wherever a ranker leaves the choice to the data."""

    grow_policy: GrowPolicy = parameter(default="leafwise")
    document_fraction: float = parameter(default=1.0)
    split_noise: float = parameter(default=0.0)
    leaf_smoothing: float = parameter(default=0.0)
    score_noise: float = parameter(default=0.0)


def of_round(values: float | Sequence[float], number: int) -> float:
    """The value of a round, from 1; the last one of a sequence is kept for all later rounds.

    >>> from swaprank.trees.tree_rules import of_round
    >>> [of_round(7, 2), *(of_round([31, 15], number) for number in (1, 2, 3))]
    [7, 31, 15, 15]
    """
    return values[min(number, len(values)) - 1] if isinstance(values, Sequence | np.ndarray) else values


def default_document_fraction(n_documents: int) -> float:
    """1 up to 65,000 documents; beyond, the sample grows with the square root of their number.

    The best split of a leaf is found from a sample of its documents as long as the sample is large, whatever share it
    is of all documents.

    >>> from swaprank.trees.tree_rules import default_document_fraction
    >>> [default_document_fraction(n) for n in (10_000, 100_000, 1_000_000, 10_000_000)]
    [1.0, 0.806, 0.255, 0.081]
    """
    return min(1.0, round(math.sqrt(65_000 / n_documents), 3))


def default_randomness(n_documents: int) -> float:
    """The noise of splits and the weight of the squared error: 1 up to 30,000 documents, then 30,000 / n, to 0.05.

    >>> from swaprank.trees.tree_rules import default_randomness
    >>> [default_randomness(n) for n in (1500, 12_000, 100_000, 1_000_000)]
    [1.0, 1.0, 0.3, 0.0]
    """
    share = round(min(1.0, 30_000 / n_documents), 3)
    return share if share >= 0.05 else 0.0


def default_score_noise(n_documents: int) -> float:
    """0.2 up to 60,000 documents; beyond, it falls in proportion to 1 / n, and is 0 for more than about 400,000.

    >>> from swaprank.trees.tree_rules import default_score_noise
    >>> [default_score_noise(n) for n in (10_000, 100_000, 1_000_000)]
    [0.2, 0.12, 0.0]
    """
    noise = round(min(0.2, 0.2 * 60_000 / n_documents), 4)
    return noise if noise >= 0.03 else 0.0


def default_max_depth(n_documents: int) -> int:
    """4 up to 8,000 documents, and two more whenever their number doubles.

    Leaf by leaf, trees of few documents otherwise grow long branches that follow single lists.

    >>> from swaprank.trees.tree_rules import default_max_depth
    >>> [default_max_depth(n) for n in (1000, 10_000, 100_000, 1_000_000)]
    [4, 5, 12, 18]
    """
    return max(4, round(2 * math.log2(n_documents / 1700)))
