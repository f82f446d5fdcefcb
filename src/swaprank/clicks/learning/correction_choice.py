"""Does correcting for position bias help this ranker on this log? Held-out queries tell.

Click rates are biased, but they vary less, and repeat what the production ranker knows. If it knows more than the
features say, or sessions are few, training on them may be better than on corrected labels, whatever the position bias.
So both are tried on two thirds of the queries each time. On the other third, corrected labels are right on average for
every ranking, also for those of the naive ranker: they tell which of the two ranks better. The fewer examinations a
document has, the more clearly they must say so: its corrected label is then mostly noise.
"""

from typing import Any

import numpy as np

from swaprank.clicks.bias.propensities import Propensities
from swaprank.clicks.learning.relevance_estimates import relevance_of_pairs, row_shares
from swaprank.clicks.learning.training_data import unbiased
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.data.dataset import Dataset
from swaprank.evaluation.evaluate import evaluate
from swaprank.rankers.training import TrainableRanker
from swaprank.seeds import random_generator

_N_FOLDS = 3
_CLEAR = 2.0
"""The gain in standard errors that is clear if documents were examined once each; less if they were more often."""
_FEWEST_QUERIES = 30
"""With fewer queries, differences between them are too uncertain to choose by."""


def correction_helps(ranker: TrainableRanker, log: ClickLog, known: Propensities, valid: ClickLog | None) -> bool:
    """Whether training with the bias ranks held-out queries better than training on click rates."""
    flat = Propensities(np.ones(known.n_positions))
    corrected, naive = unbiased(log, known), unbiased(log, flat)
    if corrected.n_queries < _FEWEST_QUERIES:
        return True
    watched = [None if valid is None else unbiased(valid, each) for each in (known, flat)]
    fold = random_generator(0).permutation(corrected.n_queries) % _N_FOLDS
    relevance, chance = relevance_of_pairs(log, row_shares(log, known))
    # Estimates beyond 1 are not cut off here: on average, they are right.
    truth = corrected.replace(labels=relevance[chance > 0])
    sessions = np.bincount(log.query, minlength=log.n_queries)
    weight = sessions[sessions > 0].astype(np.float64)
    gain = np.empty(corrected.n_queries)
    for number in range(_N_FOLDS):
        ours, theirs = (
            _held_out(ranker, data, truth, fold == number, stop)
            for data, stop in zip((corrected, naive), watched, strict=True)
        )
        gain[fold == number] = weight[fold == number] * (ours - theirs)
    examinations = float(np.mean(chance[chance > 0]))
    error = float(np.std(gain)) / len(gain) ** 0.5
    return bool(float(np.mean(gain)) > _CLEAR * error / examinations)


def _held_out(ranker: TrainableRanker, data: Dataset, truth: Dataset, held: Any, watched: Dataset | None) -> Any:
    """The DCG of each held-out query."""
    from sklearn.base import clone

    k = ranker.training_metric().k
    learner: TrainableRanker = clone(ranker)
    scores = learner.fit(data.subset(~held), valid=watched).predict(truth.subset(held))
    metric = f"dcg{'' if k is None else f'@{k}'}(gain=linear)"
    return evaluate(truth.subset(held), scores, metric, n_threads=1).results[0].per_query
