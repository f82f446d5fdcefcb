"""Agreement of judges: as scikit-learn and published examples have it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, confusion_matrix

import swaprank as sr

NAN = np.nan
# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", section C: 4 observers, 12 units, missing data.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]


def test_alpha_of_the_published_example() -> None:
    found = sr.evaluation.agreement(*OBSERVERS)
    assert found["alpha nominal"] == pytest.approx(0.743, abs=0.0005)
    assert found["alpha ordinal"] == pytest.approx(0.815, abs=0.0005)
    assert found["alpha interval"] == pytest.approx(0.849, abs=0.0005)
    assert (found.n_documents, found.n_single, found.confusion) == (11, 1, None)


def test_alpha_of_two_observers() -> None:
    # Krippendorff 2011, section A: binary data, 10 units.
    first, second = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert sr.evaluation.agreement(first, second)["alpha nominal"] == pytest.approx(0.095, abs=0.0005)


def test_alpha_is_that_of_the_package_krippendorff() -> None:
    krippendorff = pytest.importorskip("krippendorff")
    rng = np.random.default_rng(0)
    ratings = rng.integers(0, 5, (3, 80)).astype(float)
    ratings[1] = np.where(rng.random(80) < 0.6, ratings[0], ratings[1])
    ratings[rng.random((3, 80)) < 0.2] = np.nan
    found = sr.evaluation.agreement(*ratings)
    for level in ("nominal", "ordinal", "interval"):
        theirs = krippendorff.alpha(reliability_data=ratings, level_of_measurement=level)
        assert found[f"alpha {level}"] == pytest.approx(theirs)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_kappa_is_that_of_scikit_learn(weights: str | None) -> None:
    rng = np.random.default_rng(1)
    first = rng.integers(0, 4, 200)
    second = np.where(rng.random(200) < 0.5, first, rng.integers(0, 4, 200))
    found = sr.evaluation.agreement(first, second, qid=np.arange(200) // 10)
    assert found["kappa" + (f" {weights}" if weights else "")] == pytest.approx(
        cohen_kappa_score(first, second, weights=weights)
    )
    np.testing.assert_array_equal(found.confusion, confusion_matrix(first, second))
    assert found["agreement"] == pytest.approx((first == second).mean())


def test_intervals_draw_queries() -> None:
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(20):
        # Judges agree in some queries and guess in others: documents of a query are alike.
        queries = np.repeat(np.arange(60), 5)
        first, noise = rng.integers(0, 2, 300), rng.integers(0, 2, 300)
        second = np.where((rng.random(60) < 0.5)[queries], first, noise)
        low, high = sr.evaluation.agreement(first, second, qid=queries, n_resamples=100).intervals["agreement"]
        held += low <= 0.75 <= high
    assert held >= 16
    assert sr.evaluation.agreement(first, second, qid=queries, n_resamples=50).intervals == (
        sr.evaluation.agreement(first, second, qid=queries, n_resamples=50).intervals
    )


def test_judgements_are_matched_by_document() -> None:
    people = sr.trec.Qrels(np.array(["1", "1", "2"]), np.array(["a", "b", "a"]), np.array([1, 0, 2]))
    model = sr.trec.Qrels(np.array(["2", "1", "1"]), np.array(["a", "c", "a"]), np.array([2, 0, 0]))
    found = sr.evaluation.agreement(people, model)
    assert (found.n_documents, found.n_single, found["agreement"]) == (2, 2, 0.5)
    assert found.to_frame()["measure"].tolist()[:2] == ["agreement", "kappa"]
    assert "first \\ second" in str(found)


@pytest.mark.parametrize(
    ("judges", "message"),
    [
        (([1, 0],), "two judges or more, found 1"),
        (([1, 0], [1]), "one label per document"),
        (([1, NAN], [NAN, 1]), "no document has labels of two judges"),
        ((["a"], ["b"]), "labels must be numbers"),
        (([np.inf], [1]), "labels must be finite"),
    ],
)
def test_what_cannot_be_compared(judges: tuple[list[float], ...], message: str) -> None:
    with pytest.raises(sr.errors.DataError, match=message):
        sr.evaluation.agreement(*judges)
