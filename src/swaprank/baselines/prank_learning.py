"""PRank's step for one document after another; PRank is one learner, and OAP-BPM the mean of many.

A document of grade y (from 0) belongs above the thresholds b_r with r < y, and below the others: t_r = 1 or -1.

    score s = w'x;    tau_r = t_r where (s - b_r) t_r <= 0, else 0;    w += (sum of tau_r) x;    b_r -= tau_r

Thresholds stay in order by themselves [Crammer2002, Lemma 1]. This needs steps of one size, so that a document of
weight 2 is shown twice, and not with a step twice as long.

A quadratic PRank also learns from products: a document x of d features has the terms x_1, …, x_d, then x_i x_j for all
i <= j. For 569 features these are 162,734, as in [Burges2005, section 6.2]. They are computed when they are used, and
never stored. The weighted sum of them is a kernel machine.
"""

from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import NamedTuple

import numpy as np

from swaprank.arrays import Features, Floats, Ints, read_only
from swaprank.errors import DataError
from swaprank.kernels import kernel
from swaprank.lanes import dot
from swaprank.models.kernel_machine import KernelMachine, KernelMap
from swaprank.models.scaling import Units
from swaprank.rankers.linear_rounds import LinearProblem, LinearRound
from swaprank.threads import run_strided, thread_count

_MOST_GRADES = 1000
_MOST_FEATURES = 2000
"""The limit for degree 2."""


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


def n_terms(n_features: int, degree: int) -> int:
    """Return the number of terms: the features, and for degree 2 their products.

    >>> from swaprank.baselines.prank_learning import n_terms
    >>> n_terms(569, 1), n_terms(569, 2)
    (569, 162734)
    """
    if degree == 1:
        return n_features
    n_products = n_features * (n_features + 1) // 2
    if n_features > _MOST_FEATURES:
        raise DataError(
            f"degree=2 has {n_products:,} products of {n_features:,} features, too many to learn from: select "
            f"{_MOST_FEATURES:,} features or fewer, or set degree=1."
        )
    return n_features + n_products


@kernel
def add_products(x: Floats, n_features: int) -> None:
    """Write the products of the first features behind them."""
    at = n_features
    for i in range(n_features):
        for j in range(i, n_features):
            x[at] = x[i] * x[j]
            at += 1


@kernel
def show_documents(documents: GradedDocuments, order: Ints, weights: Floats, thresholds: Floats) -> int:
    """Show documents to a learner in this order. Return the number of times that a threshold was on the wrong side."""
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
    """Return the documents of a problem; every different label is a grade."""
    labels, grades = np.unique(problem.labels, return_inverse=True)
    if len(labels) > _MOST_GRADES:
        raise DataError(
            f"PRank learns grades, with a threshold between any two; found {len(labels):,} different labels. Round "
            f"them to {_MOST_GRADES:,} grades or fewer."
        )
    features, base = problem.score_function.features, np.zeros(len(grades)) + problem.score_function.base
    units = problem.units
    return GradedDocuments(read_only(features), units.missing, units.factor, base, grades.astype(np.int64), degree)


def learn_by_epoch(
    problem: LinearProblem, n_learners: int, probability: float, degree: int = 1
) -> Iterator[LinearRound]:
    """Yield the mean weights of the learners after each epoch. Each is shown every document with this probability.

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
        yield LinearRound(np.sum(weights, axis=0) / n_learners)


def model_of_products(units: Units, weights: Floats) -> KernelMachine:
    """Return the weighted sum of all terms of standardized features, exactly, as sums of (x'z + 1)².

    With a_i, the weights of the products of feature i, and the unit vector e_i,

        (x'(e_i + a_i) + 1)² - (x'(e_i - a_i) + 1)² = 4 x_i a_i'x + 4 a_i'x

    The last term is linear, as is (x'v + 1)² - (-x'v + 1)² = 4 v'x: here v is what remains of the linear weights.

    >>> import numpy as np
    >>> from swaprank.models.scaling import Units
    >>> from swaprank.baselines.prank_learning import model_of_products
    >>> model = model_of_products(Units(np.ones(2), np.zeros(2, np.float32)), np.array([5.0, 6.0, 1.0, 2.0, 3.0]))
    >>> model.score(np.array([[10.0, 100.0]], dtype=np.float32)).tolist()  # 5x + 6y + x² + 2xy + 3y²
    [32750.0]
    """
    d = len(units.factor)
    products, units_of_features = np.zeros((d, d)), np.eye(d)
    products[np.triu_indices(d)] = weights[d:]
    rest = (weights[:d] - np.sum(products, axis=0))[None]
    landmarks = np.concatenate((units_of_features + products, rest, units_of_features - products, -rest))
    quarter = 0.25 * np.eye(d + 1)
    projection = np.concatenate((quarter, -quarter))
    return KernelMachine(KernelMap("polynomial", 1.0, 2, units, landmarks, projection), np.ones(d + 1))
