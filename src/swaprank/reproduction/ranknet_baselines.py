"""[Burges2005, Tables 4 to 6]: RankNet and the learners that it was compared with, on data like that of the paper.

The paper has 17,004 queries of a web search engine. Of about 960 documents of a query, some 15 have a rating from 1 to
5, and the others count as 0. Training takes the rated documents and 2% of the others: 34 per query. Here the queries
and the features are a tenth, and a query has 100 documents. A random net of 100 features rates them, and the learners
see 57 of these: judges, too, see more in a web page than its features say. As in the paper, results on the training
queries (Table 5) are of all their documents.
"""

from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

import numpy as np
from scipy.stats import ttest_rel

import swaprank as sr
from swaprank.arrays import Floats, Ints
from swaprank.data.grouping import query_of_row
from swaprank.rendering.tables import probability, text_table
from swaprank.reproduction.experiment import Chart, Experiment, Log, Outcome, Series, Settings

METRIC = "ndcg@15"
QUERIES, QUICK_QUERIES = (1133, 283, 283), (283, 71, 71)
EPOCHS, QUICK_EPOCHS, DATA_SETS = 100, 30, 5
DOCUMENTS, RATED, UNRATED_IN_TRAINING = 100, 15, 19
SHARES = (0.85, 0.06, 0.04, 0.027, 0.015, 0.008)
"""Shares of the ratings 0 to 5."""
FEATURES, SEEN = 100, 57


class Learner(NamedTuple):
    """One row of the table."""

    make: Callable[..., sr.Ranker]
    """Creates the learner, given the parameters that all have."""
    vali: float
    test: float
    error: float
    time: str
    """The time of 100 epochs in the paper."""
    train: tuple[float, float] | None = None
    """The mean and the interval on the training queries, if the paper has them (Table 5)."""


LEARNERS = {
    "quadratic PRank": Learner(lambda **same: sr.baselines.PRank(degree=2, **same), 0.379, 0.327, 0.011, "39 h 52 min"),
    "linear PRank": Learner(lambda **same: sr.baselines.PRank(**same), 0.410, 0.412, 0.010, "11 min"),
    "OAP-BPM": Learner(
        lambda **same: sr.baselines.OAPBPM(n_learners=100, probability=0.3, **same), 0.455, 0.454, 0.011, "10 h 23 min"
    ),
    "RankProp": Learner(lambda **same: sr.baselines.RankProp(hidden=(), **same), 0.459, 0.460, 0.011, "23 min"),
    "RankNet, one layer": Learner(
        lambda **same: sr.RankNet(hidden=(), **same), 0.479, 0.477, 0.010, "1 h 7 min", (0.479, 0.005)
    ),
    "RankNet, two layers": Learner(
        lambda **same: sr.RankNet(hidden=(10,), **same), 0.489, 0.488, 0.010, "5 h 51 min", (0.500, 0.005)
    ),
}


class Found(NamedTuple):
    """The result of one learner on one data set."""

    train: Floats
    """The metric of each query, on all of its documents."""
    vali: float
    test: Floats
    """The metric of each query."""
    seconds: float


def run(settings: Settings, log: Log) -> Outcome:
    """Five data sets of a tenth of the queries of the paper; quick: one of a fortieth, and fewer epochs."""
    seeds = range(settings.random_state, settings.random_state + (1 if settings.quick else DATA_SETS))
    sizes, n_epochs = (QUICK_QUERIES, QUICK_EPOCHS) if settings.quick else (QUERIES, EPOCHS)
    found: dict[str, list[Found]] = {name: [] for name in LEARNERS}
    for seed in seeds:
        parts = web_like(sizes, seed)
        for name, learner in LEARNERS.items():
            found[name].append(_learn(learner.make(metric=METRIC, n_epochs=n_epochs, random_state=seed), *parts))
            log(f"data set {seed}, {name}: {found[name][-1].test.mean():.4f} (paper {learner.test:.3f})")
    return Outcome(_table(found, sizes), _chart(found))


def web_like(sizes: tuple[int, ...], seed: int) -> tuple[sr.Dataset, ...]:
    """Training, validation and test data, and the training queries with all documents.

    Only training data lacks most of the documents without a rating.
    """
    train, *others = sr.datasets.random_net(
        sizes, n_features=FEATURES, n_documents=DOCUMENTS, levels=SHARES, random_state=seed
    )
    chance = np.random.default_rng(seed).random(len(train))
    kept = (train.labels > 0) | (chance < UNRATED_IN_TRAINING / (DOCUMENTS - RATED))
    return _seen(train, np.flatnonzero(kept)), *(_seen(part, np.arange(len(part))) for part in (*others, train))


def _seen(data: sr.Dataset, rows: Ints) -> sr.Dataset:
    return sr.Dataset(data.features[rows, :SEEN], data.labels[rows], qid=query_of_row(data.indptr)[rows])


def _learn(ranker: sr.Ranker, train: sr.Dataset, vali: sr.Dataset, test: sr.Dataset, whole: sr.Dataset) -> Found:
    """The best epoch on vali, as in the paper."""
    began = perf_counter()
    ranker.fit(train, valid=vali)
    seconds = perf_counter() - began
    on_train, on_test = (
        sr.metric(METRIC).per_query(part.labels, ranker.predict(part), part.indptr) for part in (whole, test)
    )
    return Found(on_train, max(ranker.history_["valid"][METRIC]), on_test, seconds)


def _table(found: dict[str, list[Found]], sizes: tuple[int, ...]) -> str:
    rows, before = [], None
    for name, learner in LEARNERS.items():
        vali, by_query, seconds = (np.mean([each.vali for each in found[name]]), _all_queries(found[name]),
                                   np.mean([each.seconds for each in found[name]]))  # fmt: skip
        p = "" if before is None else probability(float(ttest_rel(by_query, before).pvalue))
        published = "" if learner.train is None else _value(*learner.train)
        on_train = np.concatenate([each.train for each in found[name]])
        rows.append(
            [name, published, f"{learner.vali:.3f}", _value(learner.test, learner.error), learner.time,
             _value(float(on_train.mean()), _error(on_train)), f"{vali:.3f}",
             _value(float(by_query.mean()), _error(by_query)), p, f"{seconds:.1f} s"]
        )  # fmt: skip
        before = by_query
    header = ["NDCG@15", "paper, train", "paper, vali", "paper, test", "time"]
    header += ["ours, train", "ours, vali", "ours, test", "p", "time"]
    n_data_sets = len(next(iter(found.values())))
    return (
        f"[Burges2005, Tables 4 to 6]; ours: generated data, {n_data_sets} x {sizes[0]:,} training, {sizes[1]:,} "
        f"validation and {sizes[2]:,} test queries;\n95% intervals, paired t-tests against the row above\n\n"
        f"{text_table(header, rows, left=1)}"
    )


def _value(mean: float, error: float) -> str:
    return f"{mean:.3f} ± {error:.3f}"


def _chart(found: dict[str, list[Found]]) -> Chart:
    places = range(1, len(LEARNERS) + 1)
    ours = [_all_queries(runs) for runs in found.values()]
    lines = [
        Series("ours", places, [float(values.mean()) for values in ours], [_error(values) for values in ours]),
        Series("paper", places, [learner.test for learner in LEARNERS.values()],
               [learner.error for learner in LEARNERS.values()], published=True),
    ]  # fmt: skip
    return Chart("RankNet and its baselines", "learner, in the order of the table", "NDCG@15 on test queries", lines)


def _all_queries(runs: list[Found]) -> Floats:
    return np.concatenate([each.test for each in runs])


def _error(by_query: Floats) -> float:
    return 1.96 * float(by_query.std(ddof=1)) / float(np.sqrt(len(by_query)))


EXPERIMENT = Experiment("ranknet-table4", "[Burges2005, Tables 4 to 6]", run)
