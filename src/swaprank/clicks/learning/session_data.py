"""Training data in which every session is a list of its own."""

import numpy as np

from swaprank.clicks.bias.propensities import Propensities
from swaprank.clicks.learning.training_data import features_of
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.data.dataset import Dataset
from swaprank.data.dense_features import DenseFeatures
from swaprank.errors import DataError
from swaprank.parameters import Bounds, check_parameter


def session_data(log: ClickLog, propensities: Propensities, *, clip: float = 0.05) -> Dataset:
    """Training data with one list per session, so that features may differ between sessions: the time, the user.

    `unbiased` gives each document of a query once, with one set of features. Here each page is a list, and the label of
    a document is its click divided by the propensity of its place: right on average, as inverse propensity scores are,
    though a single one is 0 or large. With trust bias, `beta` is subtracted first, and nothing is below 0.

    To read features that differ between sessions, let session and qid be the same column, so that every page is a
    query. Such a log cannot tell the position bias: estimate it from the log with its real queries and `features=[]`.

    Args:
        log: The clicks, with features.
        propensities: The position bias.
        clip: Divide by a propensity of at least this.

    Returns:
        Data for metrics that add up gains: train for "dcg@10(gain=linear)". Sessions without a click teach nothing, and
        are left out.

    >>> import swaprank as sr
    >>> pages = ["s1", "s1", "s2", "s2"]
    >>> log = sr.clicks.ClickLog(
    ...     session=pages, qid=pages, docid=["a", "b", "a", "b"], position=[1, 2, 1, 2], click=[0, 1, 1, 0],
    ...     X=[[5.0, 9], [3.0, 9], [5.0, 23], [3.0, 23]], feature_names=["bm25", "hour"],
    ... )
    >>> data = sr.clicks.session_data(log, sr.clicks.Propensities([1.0, 0.5]))
    >>> data.qids.tolist(), data.labels.tolist(), data.column("hour").tolist()
    (['s1', 's2'], [0.0, 2.0, 1.0, 0.0], [9.0, 9.0, 23.0, 23.0])
    """
    check_parameter("clip", clip, Bounds(False, 0, 1))
    features = features_of(log)
    clicked = np.flatnonzero(np.maximum.reduceat(log.click, log.indptr[:-1]) > 0)
    if len(clicked) == 0:
        raise DataError("no document was clicked: there is nothing to learn from.")
    part = log.subset(clicked)
    alpha, beta = propensities.of_rows(part)
    labels = (part.click - beta) / np.maximum(alpha, clip)
    return Dataset(
        DenseFeatures(part.feature_names, part.categories, features[part.document]),
        np.maximum(labels, 0.0),
        qid=part.session_ids[part.session],
        docid=part.pair_docid[part.document],
    )
