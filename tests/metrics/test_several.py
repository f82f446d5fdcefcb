"""Several metrics of one ranking share its sorting: every value must be, to the last bit, that of the metric alone."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.metrics import measuring
from swaprank.metrics.metric import measure_each


def falling_labels(labels: Floats) -> float:
    value = 0.0
    for r in range(len(labels)):
        value += labels[r] / (r + 1) ** 2
    return value


NAMES = [
    "ndcg", "ndcg@3", "ndcg@10(empty=skip)", "dcg@2", "p@4", "recall@5", "wta", "rbp", "map", "map@2", "mrr", "mrr@3",
    "success@2", "err@4", "err(empty=skip)", "pairwise", "bpref", "rprec",
]  # fmt: skip
TIES = ("expected", "input", "docid")
METRICS = [sr.metric(name) for name in NAMES] + [
    sr.metrics.CumulativeMetric(gain=lambda label: label - 1, discount=lambda rank: 1 / rank, k=3, normalize=False),
    sr.metrics.CascadeMetric(stop=lambda label: label / 4, k=3),
    sr.metrics.CustomMetric(evaluate=falling_labels),
]


@st.composite
def rankings(draw: st.DrawFn) -> tuple[list[int], list[float], list[int], list[str]]:
    sizes = draw(st.lists(st.integers(0, 40), min_size=1, max_size=4).filter(sum))
    n = sum(sizes)
    labels = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    # Few values are tied often; 2e-9 apart is tied in single precision only.
    values = st.one_of(st.integers(0, 5).map(float), st.floats(-1, 1), st.sampled_from([1.0, 1.000000002, -np.inf]))
    scores = draw(st.lists(values, min_size=n, max_size=n))
    ids = [f"d{number}" for number in draw(st.permutations(range(n)))]
    return labels, scores, np.cumsum([0, *sizes]).tolist(), ids


@pytest.mark.slow
@settings(max_examples=60)
@given(
    rankings(),
    st.lists(st.tuples(st.sampled_from(METRICS), st.sampled_from(TIES)), min_size=2, max_size=6),
    st.sampled_from([1, 3]),
)
def test_together_as_alone(
    ranking: tuple[list[int], list[float], list[int], list[str]],
    chosen: list[tuple[sr.metrics.Metric, str]],
    n_threads: int,
) -> None:
    labels, scores, indptr, docid = ranking
    bound = [replace(metric, ties=ties).bind(labels, indptr, docid=docid) for metric, ties in chosen]
    for one, values in zip(bound, measure_each(bound, scores, n_threads), strict=True):
        assert values.tobytes() == one.per_query(scores).tobytes()


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    indptr = np.cumsum([0, *rng.integers(0, 900, 200)])
    labels, scores = rng.integers(0, 5, indptr[-1]), rng.integers(0, 300, indptr[-1]).astype(float)
    docid = rng.permutation(indptr[-1]).astype(str)
    bound = [
        replace(sr.metric(name), ties=ties).bind(labels, indptr, docid=docid) for name in NAMES[:9] for ties in TIES
    ]
    expected = measure_each(bound, scores, 1)
    for size in (10**9, 1000):
        monkeypatch.setattr(measuring, "_BLOCK_DOCUMENTS", size)
        for n_threads in (1, 3):
            np.testing.assert_array_equal(measure_each(bound, scores, n_threads), expected)


@pytest.mark.parametrize("n_between", [0, 1, 4, 100])
def test_a_tie_that_only_the_deeper_metric_sees_is_its_error(n_between: int) -> None:
    scores = np.concatenate(([0.0], -1.0 - np.arange(n_between + 1), [-1.0 - n_between]))
    labels, indptr = np.arange(len(scores)) == 0, [0, len(scores)]
    shallow, deep = sr.metric("p@1(ties=docid)"), sr.metric("map(ties=docid)")
    assert shallow.mean(labels, scores, indptr) == 1
    with pytest.raises(
        sr.errors.DataError, match=rf"map\(ties=docid\) breaks ties .* in query 0 document {n_between + 2}"
    ):
        measure_each([metric.bind(labels, indptr) for metric in (shallow, deep)], scores)
    with pytest.raises(sr.errors.DataError, match=r"p@1\(ties=docid\) breaks ties .* document 1"):
        shallow.mean(labels, np.concatenate(([0.0, 0.0], scores[2:])), indptr)


@pytest.mark.parametrize(("letter", "rank"), [("z", 1), ("a", 3)])
def test_ids_decide_ties_in_every_block(letter: str, rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_BLOCK_DOCUMENTS", 1)
    n_queries = 20_000
    labels, scores = np.tile([1, 0, 0], n_queries), np.zeros(3 * n_queries)
    docid = np.tile([letter, "m", "n"], n_queries)
    metric = sr.metric("mrr(ties=docid)")
    values = metric.per_query(labels, scores, np.arange(0, 3 * n_queries + 1, 3), docid=docid)
    np.testing.assert_array_equal(values, 1 / rank)
