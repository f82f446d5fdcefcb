"""Rankers as the papers describe them: each function returns one of our rankers with the settings of its paper.

    ranker = sr.papers.lambdamart2010("ndcg@10", n_trees=500).fit(train, valid=vali)

Any parameter of the ranker can be given, and replaces the paper's. On the command line, the name of a function is the
name of a ranker: `swaprank train --ranker lambdamart2010`. What the papers leave to the user (the metric, the number of
trees or epochs, the learning rate) has a value that they mention, or our default. `docs/papers.md` has what was
checked, equation by equation.
"""

from dataclasses import replace
from typing import Any, TypeVar

from swaprank.metrics.cascade import ReciprocalRank
from swaprank.metrics.metric import Metric
from swaprank.metrics.parse import metric as parse_metric
from swaprank.parameters import own_name
from swaprank.rankers.lambdamart import LambdaMART
from swaprank.rankers.lambdarank import LambdaRank
from swaprank.rankers.mart import MART
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.ranknet import RankNet
from swaprank.rankers.smoothrank import SmoothRank

__all__ = [
    "lambdamart2010",
    "lambdarank2006",
    "lambdarank2009",
    "mart2010",
    "ranknet2005",
    "ranknet2006",
    "smoothrank2010",
]

_AnyRanker = TypeVar("_AnyRanker", bound=Ranker)
_WHOLE_LIST = 10**6
"""A horizon beyond the end of every list."""
_NO_DEPTH_LIMIT = 65_536
"""As many as a tree can have leaves."""
_LAMBDAS = tuple(10.0**power for power in range(3, -7, -1))
"""10³ to 10⁻⁶ [Chapelle2010, section 7]."""

_NETS = {"hidden": (10,), "optimizer": "sgd", "standardize": False}
_TREES = {
    "split": "least_squares", "min_docs_in_leaf": 1, "max_depth": _NO_DEPTH_LIMIT, "document_fraction": 1.0,
    "n_trees": 300, "early_stopping_rounds": None,
}  # fmt: skip

_NDCG_2006 = "ndcg@10(gain=0/3/7/15/31)"
_TRAINING_2006 = {"decay": 0.8, "restart_rounds": 50, "n_epochs": 300}


def ranknet2005(**changes: Any) -> RankNet:
    """RankNet as in the paper of 2005 [Burges2005, sections 4 to 6].

    - A gradient step after every pair (`training="online"`), along the back-propagated Eqs. 12 to 15.
    - Two layers with ten hidden units; first layer 0, second random in ±0.1 (section 5.1, the check that a net learns
      1,000 vectors without error). Table 1 has `hidden=(5,)` and `hidden=()`.
    - Learning rate 0.001, halved after an epoch whose cost (Eq. 3) is above that of the one before; 100 epochs, of
      which the one with the fewest wrong pairs on a validation set is kept (section 5.1). The paper also ends where no
      training pair is wrong, which a callback can do.
    - Features as they are. The counts of section 6.1 are replaced by their logarithms: `log_features`.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((20, 20), n_features=10, random_state=0)
    >>> ranker = sr.papers.ranknet2005(n_epochs=20).fit(train, valid=vali)
    >>> ranker.decay, max(ranker.history_["valid"]["pairwise"]) > 0.8
    (0.5, True)
    """
    settings = {"metric": "pairwise", "training": "online", "decay": 0.5, "initial_weights": "zero_first"}
    return _with(RankNet, changes, **_NETS, **settings, learning_rate=1e-3, n_epochs=100)


def ranknet2006(**changes: Any) -> RankNet:
    """RankNet as LambdaRank's paper compares with it, 2006 [Burges2006, sections 5 and 6.3].

    - A step per query, along the factored gradient of section 5.
    - The rate falls to 0.8 of itself after an epoch whose cost (Eq. 8) is above that of the one before; restart with
      random weights after 50 epochs without a lower cost; 300 epochs, of which NDCG@10 on a validation set keeps one.
    - Gains 0, 3, 7, 15 and 31 of the labels 0 to 4 (section 6.3).
    - The paper tries rates from 1e-7 to 1e-2 and takes the best on validation data; here 1e-4.
    - Features as they are; the texts mention no scaling. Counts need `log_features`, other scales `standardize=True`.

    >>> import swaprank as sr
    >>> sr.papers.ranknet2006(learning_rate=1e-5).restart_rounds
    50
    """
    return _with(RankNet, changes, metric=_NDCG_2006, learning_rate=1e-4, **_NETS, **_TRAINING_2006)


def lambdarank2006(metric: str | Metric = _NDCG_2006, **changes: Any) -> LambdaRank:
    """LambdaRank as in the paper of 2006 [Burges2006, sections 6.2 and 6.3].

    - RankNet's gradient of a pair times the NDCG that its swap gains (Eq. 9), for all ranks of a list; not normalized.
    - A step per query. The rate falls to 0.8 of itself after an epoch with less NDCG@10 on the training data; restart
      with random weights after 50 epochs without more; 300 epochs, of which NDCG@10 on a validation set keeps one.
    - Gains 0, 3, 7, 15 and 31 of the labels 0 to 4 (section 6.3); another metric is given as usual.
    - The paper tries rates from 1e-7 to 1e-2 and takes the best on validation data; here 1e-3.
    - Features as they are; the texts mention no scaling. Counts need `log_features`, other scales `standardize=True`.

    >>> import swaprank as sr
    >>> sr.papers.lambdarank2006("ndcg@10", hidden=()).normalize
    False
    """
    lambdas = {"pair_weight": 0.0, "normalize": False, "horizon": _WHOLE_LIST, "decay_probability": 1.0}
    return _with(LambdaRank, changes, metric=metric, learning_rate=1e-3, **_NETS, **lambdas, **_TRAINING_2006)


def lambdarank2009(metric: str | Metric = "ndcg@10", **changes: Any) -> LambdaRank:
    """LambdaRank as in the paper on its local optimality, 2009 [Donmez2009, sections 4 and 7].

    - Lambdas of NDCG, NDCG@k, MAP (Eq. 10) and MRR (Eq. 11), exact at the cut-off and not normalized. `"mrr"` has the
      pairs of Eq. 11 alone, as `"mrr(swaps=raising)"`; `sr.LambdaRank("mrr")` learns from all swaps that change it.
      Labels from 2 are relevant in the paper: `"map(rel=2)"`, `"mrr(rel=2)"`.
    - A step per query. After an epoch in which the metric fell on the training data, the rate falls to 0.8 of itself
      with a probability of 0.3; restart after 50 epochs without a better metric on the validation set, which `fit`
      needs; 700 epochs.
    - `hidden=()` and `hidden=(10,)`. The paper tries rates from 1e-7 to 1e-3; here 1e-4.
    - Features as they are; the texts mention no scaling. Counts need `log_features`, other scales `standardize=True`.

    >>> import swaprank as sr
    >>> str(sr.papers.lambdarank2009("mrr").metric)
    'mrr(swaps=raising)'
    """
    parsed = parse_metric(metric)
    if isinstance(parsed, ReciprocalRank) and "swaps" not in str(metric):
        metric = replace(parsed, swaps="raising")
    decay = {"decay": 0.8, "decay_probability": 0.3, "restart_rounds": 50, "restart_watch": "valid"}
    settings = {"pair_weight": 0.0, "normalize": False, "learning_rate": 1e-4, "n_epochs": 700}
    return _with(LambdaRank, changes, metric=metric, **_NETS, **settings, **decay)


def mart2010(**changes: Any) -> MART:
    """MART as in the overview of 2010 [Burges2010, sections 5 and 6].

    - Regression trees whose splits minimize the squared error of the gradients (Eqs. 11 and 12), down to one document a
      leaf.
    - Leaf values: the mean residual for `objective="squared"`, a Newton step for `"logistic"` (section 6, the loss is
      Eq. 14) and `"balanced_logistic"` (Eq. 15). All documents and features for every tree.
    - Leaves, trees and learning rate are the user's; here 31, 300 and 0.1.

    >>> import swaprank as sr
    >>> sr.papers.mart2010(objective="logistic").split
    'least_squares'
    """
    return _with(MART, changes, **_TREES)


def lambdamart2010(metric: str | Metric = "ndcg@10", **changes: Any) -> LambdaMART:
    """LambdaMART as in the overview of 2010 [Burges2010, section 7].

    - The lambdas of any metric, not normalized, to the cut-off of the metric.
    - Trees whose splits minimize the squared error of the lambdas, down to one document a leaf, on all documents.
    - Leaf values: the Newton step, sum of the gradients over the sum of the hessians as they are, times learning rate.
    - `base_ranker` is the model to start from (model adaptation): any fitted ranker.
    - Leaves, trees and learning rate are the user's; here 31, 300 and 0.1.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((20, 20), n_features=10, random_state=0)
    >>> ranker = sr.papers.lambdamart2010("ndcg@10", n_trees=10).fit(train, valid=vali)
    >>> ranker.horizon, ranker.hessian_floor
    (10, 0.0)
    """
    settings = {
        "normalize": False, "hessian_floor": 0.0, "score_noise": 0.0, "leaf_smoothing": 0.0, "split_noise": 0.0,
        "squared_error": 0.0, "grow_policy": "leafwise",
    }  # fmt: skip
    return _with(LambdaMART, changes, metric=metric, horizon=parse_metric(metric).k, **_TREES, **settings)


def smoothrank2010(metric: str | Metric = "ndcg@50", **changes: Any) -> SmoothRank:
    """SmoothRank as in the paper of 2010 [Chapelle2010, Algorithm 1 and section 7].

    - A linear model of the features as they are, trained for NDCG@50.
    - w0 is the least squares fit of the gains (section 4.4.1), the start and the center of the regularization.
    - Annealing of the smoothing factor from 2⁶ to 2⁻⁶ (section 4.4.2); each step is a nonlinear conjugate gradient
      minimization with the Polak-Ribière update, to the minimum (section 4.4).
    - lambda from 10⁻⁶ to 10³, the one with the best NDCG@50 on the validation set (section 7).

    >>> import swaprank as sr
    >>> ranker = sr.papers.smoothrank2010()
    >>> ranker.start, len(ranker.regularization), len(ranker.annealing)
    ('least_squares', 10, 13)
    """
    settings = {"start": "least_squares", "standardize": False, "average": False, "max_iterations": 10_000}
    return _with(SmoothRank, changes, metric=metric, regularization=_LAMBDAS, **settings)


def _with(kind: type[_AnyRanker], changes: dict[str, Any], **settings: Any) -> _AnyRanker:
    """A ranker with the settings of a paper; changes may have the names of other libraries."""
    given = {own_name(kind, name, kind.kind): value for name, value in changes.items()}
    usual = kind.declared["objective"].default if "objective" in kind.declared else None
    if given.get("objective", usual) != usual:  # Another objective has settings of its own.
        settings = {name: value for name, value in settings.items() if not kind.declared[name].of_objective}
    return kind(**{**settings, **given})
