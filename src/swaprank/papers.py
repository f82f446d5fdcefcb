"""Rankers as the papers describe them: each function returns one of our rankers with the settings of its paper.

    ranker = sr.papers.lambdamart2010("ndcg@10", n_trees=500).fit(train, valid=vali)

Any parameter of the ranker can be given, and replaces the paper's. On the command line, the name of a function is the
name of a ranker: `swaprank train --ranker lambdamart2010`. What the papers leave to the user (the metric, the number of
trees or epochs, the learning rate) has a value that they mention, or our default. `docs/papers.md` has what was
checked, equation by equation.
"""

from typing import Any, TypeVar

from swaprank.metrics.metric import Metric
from swaprank.metrics.parse import metric as parsed
from swaprank.parameters import own_name
from swaprank.rankers.lambdamart import LambdaMART
from swaprank.rankers.lambdarank import LambdaRank
from swaprank.rankers.mart import MART
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.ranknet import RankNet
from swaprank.rankers.smoothrank import SmoothRank

_AnyRanker = TypeVar("_AnyRanker", bound=Ranker)

_NO_DEPTH_LIMIT = 65_536
"""As many as a tree can have leaves."""
_PAPER_TREES = {
    "min_docs_in_leaf": 1,
    "max_depth": _NO_DEPTH_LIMIT,
    "document_fraction": 1.0,
    "leaf_smoothing": 0.0,
}


def ranknet2005(**changes: Any) -> RankNet:
    """RankNet as in [Burges2005]: one step per pair, the learning rate is halved when the cost rises.

    >>> import swaprank as sr
    >>> sr.papers.ranknet2005(n_epochs=20).optimizer
    'sgd'
    """
    return _with(RankNet, changes, optimizer="sgd", training="online", decay=0.5)


def ranknet2006(**changes: Any) -> RankNet:
    """RankNet as in [Burges2006, section 6.3], beside LambdaRank.

    >>> import swaprank as sr
    >>> sr.papers.ranknet2006().n_epochs
    300
    """
    return _with(RankNet, changes, optimizer="sgd", n_epochs=300, decay=0.8, restart_rounds=50)


def lambdarank2006(metric: str | Metric = "ndcg@10", **changes: Any) -> LambdaRank:
    """LambdaRank as in [Burges2006, section 6.3].

    >>> import swaprank as sr
    >>> sr.papers.lambdarank2006().normalize
    False
    """
    return _with(
        LambdaRank, changes, metric=metric, normalize=False, optimizer="sgd", n_epochs=300, decay=0.8, restart_rounds=50
    )


def lambdarank2009(metric: str | Metric = "ndcg@10", **changes: Any) -> LambdaRank:
    """LambdaRank as in [Donmez2009, section 6].

    >>> import swaprank as sr
    >>> sr.papers.lambdarank2009("map").n_epochs
    700
    """
    return _with(
        LambdaRank, changes, metric=metric, normalize=False, optimizer="sgd", n_epochs=700, decay=0.8, restart_rounds=50
    )


def mart2010(**changes: Any) -> MART:
    """MART as in [Burges2010, sections 5 and 6]: least-squares regression trees.

    >>> import swaprank as sr
    >>> sr.papers.mart2010(objective="logistic").min_docs_in_leaf
    1
    """
    return _with(MART, changes, **_PAPER_TREES)


def lambdamart2010(metric: str | Metric = "ndcg@10", **changes: Any) -> LambdaMART:
    """LambdaMART as in [Burges2010, section 7].

    >>> import swaprank as sr
    >>> sr.papers.lambdamart2010("ndcg@10").horizon
    10
    """
    settings = {**_PAPER_TREES, "score_noise": 0.0, "normalize": False, "horizon": parsed(metric).k}
    return _with(LambdaMART, changes, metric=metric, **settings)


def smoothrank2010(metric: str | Metric = "ndcg@50", **changes: Any) -> SmoothRank:
    """SmoothRank as in [Chapelle2010, Algorithm 1].

    >>> import swaprank as sr
    >>> sr.papers.smoothrank2010().standardize
    False
    """
    return _with(SmoothRank, changes, metric=metric, standardize=False)


def _with(kind: type[_AnyRanker], changes: dict[str, Any], **settings: Any) -> _AnyRanker:
    """A ranker with the settings of a paper; changes may have the names of other libraries."""
    return kind(**{**settings, **{own_name(kind, name, kind.kind): value for name, value in changes.items()}})
