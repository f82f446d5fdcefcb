"""Which trees suit the data: some trees of each kind are tried on queries that they do not learn from.

    symmetric    one cut splits all leaves of a level: little room for noise, and for interactions
    leafwise     every leaf has its own cut: on data with many interactions, or many documents, by far the better ones

No number of documents tells which: on real data of ten thousand documents symmetric trees are usually better, and on
others leafwise ones are ahead by a tenth. A third of the queries, chosen by their ids, is held out. Trees are grown on
the others, and give scores to all documents as they grow. Leafwise trees are chosen if they rank more of the held-out
queries better than symmetric ones, and more so than chance explains: one standard deviation of a fair coin.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from swaprank.arrays import Bools, Floats
from swaprank.collective import Collective
from swaprank.data.dataset import Dataset
from swaprank.data.document_places import random_fractions
from swaprank.metrics.metric import Metric, bind_metric, measure_each
from swaprank.objectives.objective import BoundObjective
from swaprank.trees.boosting import Booster
from swaprank.trees.tree_rules import GrowPolicy, TreeRules, of_round

MOST_DOCUMENTS = 100_000
"""Beyond, trees grow leafwise: there are enough documents for interactions, and trials would take long."""
FEWEST_TREES = 50
"""Fewer trees are not worth a trial, and leafwise ones learn faster at first."""
_HELD_OUT = 1 / 3
_TREES = 30
_LEARNING_RATE = 0.3
"""Few trees must show where many lead: leafwise trees learn faster at first, and symmetric ones may overtake them."""


def better_policy(
    booster: Booster,
    objective: BoundObjective,
    metric: Metric,
    data: Dataset,
    rules: Mapping[GrowPolicy, TreeRules],
    collective: Collective,
) -> GrowPolicy:
    """Try "symmetric" and "leafwise", each with its rules, from the booster's scores, which stay as they are."""
    held_out = random_fractions(data.places.keys, booster.random_state) < _HELD_OUT
    start, booster_rules = booster.scores.copy(), booster.rules
    # Ties by document id would need ids, which training does not.
    bound = bind_metric(replace(metric, ties="expected") if metric.ties == "docid" else metric, data)
    booster.learn_from(~held_out)
    values = {}
    for policy, of_policy in rules.items():
        booster.rules = of_policy
        for number in range(1, _TREES + 1):
            booster.add_tree(objective, number, _LEARNING_RATE, int(of_round(of_policy.n_leaves, number)))
        values[policy] = measure_each([bound], booster.scores, booster.n_threads)[0]
        booster.scores[:] = start
    booster.learn_from(None)
    booster.rules = booster_rules
    counts = _compared(values["leafwise"], values["symmetric"], held_out)
    collective.add(counts)
    better, worse = counts.tolist()
    return "leafwise" if better - worse > math.sqrt(better + worse) else "symmetric"


def _compared(values: Floats, others: Floats, queries: Bools) -> np.ndarray:
    """The number of queries with a larger value, and with a smaller one; those left out (NaN) are neither."""
    return np.array([np.sum(queries & (values > others)), np.sum(queries & (values < others))], np.int64)
