"""PRank's step for one document after another; PRank is one learner, and OAP-BPM the mean of many.

A document of grade y (from 0) belongs above the thresholds b_r with r < y, and below the others: t_r = 1 or -1.

    score s = w'x;    tau_r = t_r where (s - b_r) t_r <= 0, else 0;    w += (sum of tau_r) x;    b_r -= tau_r

Thresholds stay in order by themselves [Crammer2002, Lemma 1]. This needs steps of one size, so that a document of
weight 2 is shown twice, and not with a step twice as long.
"""

from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import NamedTuple

import numpy as np

from swaprank.arrays import Features, Floats, Ints, read_only
from swaprank.baselines.feature_products import add_products, n_terms
from swaprank.errors import DataError
from swaprank.kernels import kernel
from swaprank.lanes import dot
from swaprank.rankers.linear_rounds import LinearProblem
from swaprank.threads import run_strided, thread_count

_MOST_GRADES = 1000


class GradedDocuments(NamedTuple):
    """The training documents, grouped by query."""

    features: Features
    mean: Features
    factor: Floats
    """1 / standard deviation."""
    base: Floats
    """Added to each document's score."""
    grades: Ints
    """0 for the lowest label, 1 for the next, …"""
    degree: int
    """2: the products of two features are features, too."""


@kernel
def show_documents(documents: GradedDocuments, order: Ints, weights: Floats, thresholds: Floats) -> int:
    """Show documents to a learner in this order. Returns how many thresholds were on the wrong side, in all."""
    mean, factor, x = documents.mean, documents.factor, np.empty(len(weights))
    n_wrong = 0
    for r in order:
        row = documents.features[r]
        for k in range(len(row)):
            x[k] = (row[k] - mean[k]) * factor[k]
        if documents.degree == 2:
            add_products(x, len(row))
        score, total = documents.base[r] + dot(x, weights), 0.0
        for b in range(len(thresholds)):
            above = 1.0 if documents.grades[r] > b else -1.0
            if (score - thresholds[b]) * above <= 0.0:
                thresholds[b] -= above
                total += above
                n_wrong += 1
        if total != 0.0:
            for k in range(len(weights)):
                weights[k] += total * x[k]
    return n_wrong


def graded_documents(problem: LinearProblem, degree: int) -> GradedDocuments:
    """The documents of a problem; every different label is a grade."""
    labels, grades = np.unique(problem.labels, return_inverse=True)
    if len(labels) > _MOST_GRADES:
        raise DataError(
            f"PRank learns grades, with a threshold between any two; found {len(labels):,} different labels. Round "
            f"them to {_MOST_GRADES:,} grades or fewer."
        )
    features, base = problem.score_function.features, np.zeros(len(grades)) + problem.score_function.base
    units = problem.units
    return GradedDocuments(read_only(features), units.missing, units.factor, base, grades.astype(np.int64), degree)


def mean_weights_by_epoch(
    problem: LinearProblem, n_learners: int, probability: float, degree: int = 1
) -> Iterator[Floats]:
    """The mean weights of the learners after each epoch. Each is shown every document with this probability.

    Documents come in one random order for all, drawn anew for every epoch.
    """
    documents = graded_documents(problem, degree)
    weights = np.zeros((n_learners, n_terms(len(problem.start), degree)))
    weights[:, : len(problem.start)] = problem.start
    thresholds = np.zeros((n_learners, max(0, int(documents.grades.max()))))
    # How often each document is shown on average; the largest weight is 1 at first, so that the sum is finite.
    times = problem.document_weights / problem.document_weights.max()
    times *= probability * len(times) / np.sum(times)

    def learn(epoch: int, order: Ints, learner: int) -> None:
        draws = np.random.default_rng([problem.random_state, epoch, learner]).random(len(order))
        shown = np.repeat(order, np.floor(times[order] + draws).astype(np.int64))
        show_documents(documents, shown, weights[learner], thresholds[learner])

    for epoch in count(1):
        order = np.random.default_rng([problem.random_state, epoch]).permutation(len(times))
        run_strided(partial(learn, epoch, order), n_learners, thread_count(problem.n_threads))
        if not np.isfinite(weights).all():
            raise DataError("the weights became infinite: the features are too large. Standardize or scale them.")
        yield np.sum(weights, axis=0) / n_learners
