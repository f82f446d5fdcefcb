"""What the SmoothRank experiments share: the folds of a LETOR folder or generated data, and the paper's procedure."""

from typing import Any

import numpy as np

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.experiments.folds import Fold, FoldData, find_folds
from swaprank.reproduction.experiment import Settings

QUERIES, QUICK_QUERIES = (60, 20, 100), (30, 10, 30)
DOCUMENTS, FEATURES, LEVELS = 50, 45, (0.7, 0.15, 0.15)
"""Sizes of the generated data: few queries and many features, as in OHSUMED."""

FULL: dict[str, Any] = {}
QUICK: dict[str, Any] = {"regularization": (10.0, 1.0, 0.1), "max_iterations": 20}
"""Settings that replace those of the paper."""


def letor_folds(settings: Settings) -> list[Fold]:
    """The folds in the folder of the data; quick: only the first."""
    if settings.data is None:
        raise sr.errors.ParameterError(
            "this experiment needs LETOR's OHSUMED: --data FOLDER, a folder with Fold1 to Fold5, each with train.txt, "
            "vali.txt and test.txt."
        )
    folds = find_folds(settings.data)
    return folds[:1] if settings.quick else folds


def folds_or_generated(settings: Settings) -> list[FoldData]:
    """The data of the folds. Without a folder: three generated data sets, or one if quick."""
    if settings.data is not None:
        return [fold.load() for fold in letor_folds(settings)]
    sizes = QUICK_QUERIES if settings.quick else QUERIES
    seeds = range(settings.random_state, settings.random_state + (1 if settings.quick else 3))
    return [
        FoldData(
            *sr.datasets.random_polynomial(
                sizes, n_features=FEATURES, n_documents=DOCUMENTS, levels=LEVELS, random_state=seed
            )
        )
        for seed in seeds
    ]


def described(settings: Settings, n_folds: int) -> str:
    """A description of the data."""
    if settings.data is None:
        return f"{n_folds} generated data {'set' if n_folds == 1 else 'sets'}"
    return f"{n_folds} {'fold' if n_folds == 1 else 'folds'} of {settings.data.name}"


def paper_ranker(settings: Settings, metric: str | sr.metrics.Metric, **changes: Any) -> sr.SmoothRank:
    """SmoothRank as in the paper; quick: three lambdas."""
    replaced = QUICK if settings.quick else FULL
    return sr.papers.smoothrank2010(metric, random_state=settings.random_state, **(replaced | changes))


def test_values(ranker: sr.Ranker, parts: FoldData, metrics: list[sr.metrics.Metric]) -> Floats:
    """The metrics of the test queries, metrics x queries."""
    return np.array([result.per_query for result in sr.evaluate(parts.test, ranker.predict(parts.test), metrics)])


def mean_of_folds(folds: list[Floats]) -> Floats:
    """The mean over folds of the means over queries, as LETOR defines it."""
    means: Floats = np.mean([values.mean(axis=1) for values in folds], axis=0)
    return means
