"""Generated ranking data: the artificial data of the RankNet and LambdaRank papers, and of an imaginary search engine.

A random target function scores random vectors, and the scores are binned into relevance levels at quantiles over all
documents, by default in equal shares. [Burges2005] only says "binning", but reports 20,382 pairs of different labels
for 1,000 vectors. Equal shares of 6 levels give 20,417 on average; bins of equal width would give far fewer.
"""

import operator
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from swaprank.arrays import Features, Floats, row_blocks
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError
from swaprank.seeds import random_generator

Target = Callable[[Features], Floats]


def random_net(
    n_queries: int | Sequence[int] = (800, 100, 100),
    *,
    n_features: int = 50,
    n_documents: int = 50,
    levels: int | Sequence[float] = 6,
    n_hidden: int = 10,
    random_state: int | None = None,
) -> tuple[Dataset, ...]:
    """Documents labelled by a random two-layer net [Burges2005, 5.1]; all parts share the same net.

    Features, weights and biases are uniform in [-1, 1]. The net has tanh hidden units and one linear output.

    Args:
        n_queries: The number of queries in each part, or one number for one part. The default is the sizes of the
            training, validation and test sets of the paper.
        n_features: The number of features.
        n_documents: Documents per query.
        levels: The number of relevance levels, in equal shares; or the share of each level, lowest first.
        n_hidden: The number of hidden units.
        random_state: The seed; the same seed gives the same data.

    >>> import swaprank as sr
    >>> train, vali, test = sr.datasets.random_net(random_state=0)
    >>> train
    Dataset(40,000 documents, 800 queries, 50 features, labels 0 to 5)
    """
    sizes, shares = _check_sizes(n_queries, n_features, n_documents, levels)
    _at_least_one("n_hidden", n_hidden)
    rng = random_generator(random_state)
    weights, biases = rng.uniform(-1, 1, (n_features, n_hidden)), rng.uniform(-1, 1, n_hidden)
    output = rng.uniform(-1, 1, n_hidden)
    X = _uniform(rng, sum(sizes) * n_documents, n_features)
    target = _by_blocks(lambda block: np.tanh(block @ weights + biases) @ output, X)
    return _parts(X, _cut_into_levels(target, shares), sizes, n_documents)


def random_polynomial(
    n_queries: int | Sequence[int] = (800, 100, 100),
    *,
    n_features: int = 50,
    n_documents: int = 50,
    levels: int | Sequence[float] = 6,
    random_state: int | None = None,
) -> tuple[Dataset, ...]:
    """Documents labelled by a random cubic polynomial [Burges2005, 5.1]; all parts share the same polynomial.

    The target is the mean of three terms, each scaled to mean 0 and variance 1: w.x, sum_i x_i x_Q(i) and
    sum_i x_i x_R(i) x_S(i) with random permutations Q, R, S. [Burges2006, 6.3.1] uses 5 levels and (10000, 5000, 10000)
    queries.

    Args:
        n_queries: The number of queries in each part, or one number for one part. The default is the sizes of the
            training, validation and test sets of the paper.
        n_features: The number of features.
        n_documents: Documents per query.
        levels: The number of relevance levels, in equal shares; or the share of each level, lowest first.
        random_state: The seed; the same seed gives the same data.

    >>> import swaprank as sr
    >>> train, test = sr.datasets.random_polynomial((20, 10), levels=(0.5, 0.3, 0.2), random_state=0)
    >>> test
    Dataset(500 documents, 10 queries, 50 features, labels 0 to 2)
    """
    sizes, shares = _check_sizes(n_queries, n_features, n_documents, levels)
    rng = random_generator(random_state)
    direction = rng.uniform(-1, 1, n_features)
    quadratic, cubic_one, cubic_two = (rng.permutation(n_features) for _ in range(3))
    X = _uniform(rng, sum(sizes) * n_documents, n_features)

    def quadratic_term(x: Features) -> Floats:
        return np.asarray(np.einsum("ij,ij->i", x, x[:, quadratic], dtype=np.float64))

    def cubic_term(x: Features) -> Floats:
        return np.asarray(np.einsum("ij,ij,ij->i", x, x[:, cubic_one], x[:, cubic_two], dtype=np.float64))

    terms = [_by_blocks(term, X) for term in (lambda x: x @ direction, quadratic_term, cubic_term)]
    target = np.mean([(term - term.mean()) / term.std() for term in terms], axis=0)
    return _parts(X, _cut_into_levels(target, shares), sizes, n_documents)


SEARCH_FEATURES = (
    "match", "title_match", "phrase", "authority", "clicks", "age_days", "words", "depth", "spam", "foreign",
    "wants_news", "chance",
)  # fmt: skip


def random_search(
    n_queries: int | Sequence[int] = (800, 100, 100),
    *,
    n_documents: int = 50,
    levels: int | Sequence[float] = (0.5, 0.2, 0.15, 0.1, 0.05),
    random_state: int | None = None,
) -> tuple[Dataset, ...]:
    """Documents of an imaginary search engine: named features on many scales, and noisy labels.

    Relevance saturates in some features, has steps in others, and contains interactions, so no kind of ranker (linear,
    net or trees) can represent it exactly.

    Args:
        n_queries: The number of queries in each part, or one number for one part.
        n_documents: Documents per query.
        levels: The number of relevance levels, in equal shares; or the share of each level, lowest first.
        random_state: The seed; the same seed gives the same data.

    >>> import swaprank as sr
    >>> (data,) = sr.datasets.random_search(20, random_state=0)
    >>> data
    Dataset(1,000 documents, 20 queries, 12 features, labels 0 to 4)
    >>> data.feature_names[:3]
    ('match', 'title_match', 'phrase')
    """
    sizes, shares = _check_sizes(n_queries, len(SEARCH_FEATURES), n_documents, levels)
    rng = random_generator(random_state)
    n = sum(sizes) * n_documents
    match, title = rng.gamma(3.0, 3.0, n), rng.integers(0, 4, n) / 3
    phrase = (rng.random(n) < 0.1 + 0.3 * title).astype(np.float64)
    authority, clicks = rng.lognormal(0.0, 1.5, n), rng.negative_binomial(0.5, 0.02, n)
    age, words, depth = rng.exponential(300.0, n), rng.lognormal(6.0, 1.0, n), rng.integers(1, 9, n)
    spam, foreign = rng.beta(1.0, 4.0, n), (rng.random(n) < 0.1).astype(np.float64)
    news = np.repeat(rng.random(sum(sizes)) < 0.3, n_documents).astype(np.float64)
    target = (
        1.5 * np.tanh(match / 8)
        + title**2
        + 0.6 * phrase * (match > 6)
        + 0.2 * np.log1p(clicks) * (title > 0.5)
        + 0.4 * np.tanh(np.log(authority))
        + 1.5 * news * np.exp(-age / 60)
        - 0.4 * (words < 150)
        - 1.2 * (spam > 0.4)
        - 1.5 * foreign
        + 0.4 * rng.standard_normal(n)
    )
    columns = (match, title, phrase, authority, clicks, age, words, depth, spam, foreign, news, rng.random(n))
    X = np.stack(columns, axis=1).astype(np.float32)
    return _parts(X, _cut_into_levels(target, shares), sizes, n_documents, SEARCH_FEATURES)


def _check_sizes(n_queries: Any, n_features: Any, n_documents: Any, levels: Any) -> tuple[list[int], Floats]:
    """The number of queries in each part, and the share of each level."""
    sizes: list[int] = list(n_queries) if isinstance(n_queries, Iterable) else [n_queries]
    if not sizes:
        raise DataError("n_queries must be at least 1 in every part, found no part.")
    for size in sizes:
        _at_least_one("n_queries", size)
    _at_least_one("n_features", n_features)
    _at_least_one("n_documents", n_documents)
    shares = _level_shares(levels)
    if len(shares) > sum(sizes) * n_documents:
        raise DataError(f"{len(shares)} levels need at least as many documents, found {sum(sizes) * n_documents}.")
    return sizes, shares


def _at_least_one(name: str, number: Any) -> None:
    try:
        fine = operator.index(number) >= 1
    except TypeError:
        fine = False
    if not fine:
        raise DataError(f"{name} must be a whole number from 1, found {number!r}.")


def _level_shares(levels: Any) -> Floats:
    try:
        whole = isinstance(levels, Integral) and int(levels) > 0
        shares = np.full(levels, 1 / levels) if whole else np.asarray(levels, dtype=np.float64)
    except (TypeError, ValueError):
        shares = np.empty(0)
    if shares.ndim != 1 or len(shares) < 2 or not (shares > 0).all() or abs(shares.sum() - 1) > 1e-9:
        raise DataError(f"levels must be a number from 2, or positive shares that sum to 1; found {levels!r}.")
    return shares


def _uniform(rng: np.random.Generator, n_rows: int, n_features: int) -> Features:
    X = rng.random((n_rows, n_features), dtype=np.float32)
    X *= 2
    X -= 1
    return X


def _by_blocks(target: Target, X: Features) -> Floats:
    """target(X), in blocks of rows, so that no temporary array has the size of X."""
    return np.concatenate([target(X[rows]) for rows in row_blocks(len(X), 16_384)])


def _cut_into_levels(target: Floats, shares: Floats) -> Floats:
    cuts = np.quantile(target, np.cumsum(shares)[:-1])
    return np.searchsorted(cuts, target, side="right").astype(np.float64)


def _parts(
    X: Features, labels: Floats, sizes: Sequence[int], n_documents: int, feature_names: Sequence[str] | None = None
) -> tuple[Dataset, ...]:
    qid = np.repeat(np.arange(1, sum(sizes) + 1), n_documents)
    cuts = np.concatenate(([0], np.cumsum(sizes))) * n_documents
    return tuple(
        Dataset(X[a:b], labels[a:b], qid=qid[a:b], feature_names=feature_names)
        for a, b in zip(cuts[:-1], cuts[1:], strict=True)
    )
