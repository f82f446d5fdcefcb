"""MMR and xQuAD take the documents that plain Python takes."""

from __future__ import annotations

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats


def random_data(seed: int) -> tuple[sr.Dataset, Floats]:
    rng = np.random.default_rng(seed)
    (data,) = sr.datasets.random_net((6,), n_features=3, n_documents=12, random_state=seed)
    mixed = rng.permutation(len(data))
    qid = np.repeat(np.arange(6), 12)[mixed]
    return sr.Dataset(data.features[mixed], data.labels[mixed], qid=qid), rng.normal(size=len(data))


def naive_scores(data: sr.Dataset, scores: Floats, k: int, value: object) -> Floats:
    """value(d, relevance, above): what a document is worth after those above; rows are numbers of the data."""
    found = np.empty(len(data))
    for query in range(data.n_queries):
        rows = data.rows(query).tolist()
        low, high = scores[rows].min(), scores[rows].max()
        above: list[int] = []
        while len(above) < min(k, len(rows)):
            left = [row for row in rows if row not in above]
            above.append(max(left, key=lambda d: value(d, (scores[d] - low) / (high - low), above)))  # type: ignore[operator]
        above += sorted((row for row in rows if row not in above), key=lambda d: -scores[d])
        found[above] = np.arange(len(rows), 0, -1)
    return found


@pytest.mark.parametrize("relevance", [0.0, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("k", [4, 100])
def test_mmr(relevance: float, k: int) -> None:
    data, scores = random_data(1)
    vectors = np.random.default_rng(2).normal(size=(len(data), 5))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = unit @ unit.T

    def value(d: int, relevant: float, above: list[int]) -> float:
        nearest = max((cosine[d, other] for other in above), default=0.0)
        return float(relevance * relevant - (1 - relevance) * nearest)

    if relevance > 0:  # otherwise all first documents are equally good
        expected = naive_scores(data, scores, k, value)
        np.testing.assert_array_equal(sr.reranking.mmr(data, scores, vectors, relevance=relevance, k=k), expected)
    matrices = [cosine[np.ix_(data.rows(query), data.rows(query))] for query in range(data.n_queries)]
    np.testing.assert_array_equal(
        sr.reranking.mmr(data, scores, similarities=matrices, relevance=relevance, k=k),
        sr.reranking.mmr(data, scores, vectors, relevance=relevance, k=k),
    )


@pytest.mark.parametrize("relevance", [0.0, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("k", [4, 100])
def test_xquad(relevance: float, k: int) -> None:
    data, scores = random_data(3)
    rng = np.random.default_rng(4)
    probabilities, weights = rng.random((len(data), 4)), np.array([0.4, 0.3, 0.2, 0.1])

    def value(d: int, relevant: float, above: list[int]) -> float:
        novelty = sum(weights[s] * probabilities[d, s] * np.prod(1 - probabilities[above, s]) for s in range(4))
        return float(relevance * relevant + (1 - relevance) * novelty)

    found = sr.reranking.xquad(data, scores, probabilities, subtopic_weights=10 * weights, relevance=relevance, k=k)
    np.testing.assert_array_equal(found, naive_scores(data, scores, k, value))
    of_queries = np.tile(weights, (data.n_queries, 1))
    np.testing.assert_array_equal(
        sr.reranking.xquad(data, scores, probabilities, subtopic_weights=of_queries, relevance=relevance, k=k), found
    )


def test_only_relevance_keeps_the_order_and_both_raise_diversity() -> None:
    data, scores = random_data(5)
    rng = np.random.default_rng(6)
    about = (np.arange(4) == rng.integers(0, 4, (len(data), 1))).astype(float)
    for method in (sr.reranking.mmr, sr.reranking.xquad):
        kept = method(data, scores, about, relevance=1)
        for query in range(data.n_queries):
            rows = data.rows(query)
            np.testing.assert_array_equal(np.argsort(-kept[rows]), np.argsort(-scores[rows]))
        name = "subtopic_recall@4"
        diverse = sr.evaluate(data, method(data, scores, about, relevance=0.1), name, subtopics=about).results[0].mean
        assert diverse > sr.evaluate(data, scores, name, subtopics=about).results[0].mean + 0.1


def test_wrong_arguments() -> None:
    data, scores = random_data(7)
    with pytest.raises(sr.errors.ParameterError, match="either vectors"):
        sr.reranking.mmr(data, scores)
    with pytest.raises(sr.errors.ParameterError, match="from 0 to 1; found 2"):
        sr.reranking.mmr(data, scores, np.ones((len(data), 1)), relevance=2)
    with pytest.raises(sr.errors.ParameterError, match="k must be"):
        sr.reranking.xquad(data, scores, np.ones((len(data), 1)), k=0)
    with pytest.raises(sr.errors.DataError, match="vectors must be finite, with one row"):
        sr.reranking.mmr(data, scores, [[1.0]])
    with pytest.raises(sr.errors.DataError, match="one matrix for each of 6 queries; found 1"):
        sr.reranking.mmr(data, scores, similarities=[[[1.0]]])
    with pytest.raises(sr.errors.DataError, match="probabilities must be from 0 to 1"):
        sr.reranking.xquad(data, scores, np.full((len(data), 2), 2.0))
    with pytest.raises(sr.errors.DataError, match="subtopic_weights must be 2 numbers"):
        sr.reranking.xquad(data, scores, np.ones((len(data), 2)), subtopic_weights=[1, 1, 1])
