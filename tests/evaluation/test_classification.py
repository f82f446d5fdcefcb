"""The balanced error rate beside a loop over the documents."""

import numpy as np
import pytest

import swaprank as sr


def naive(labels: list[float], scores: list[float], threshold: float) -> float:
    """[Burges2010, section 6.1]."""
    n_plus, n_minus = sum(label > 0 for label in labels), sum(label <= 0 for label in labels)
    wrong_plus = sum(score <= threshold for label, score in zip(labels, scores, strict=True) if label > 0)
    wrong_minus = sum(score > threshold for label, score in zip(labels, scores, strict=True) if label <= 0)
    return wrong_minus / (2 * n_minus) + wrong_plus / (2 * n_plus)


@pytest.mark.parametrize("threshold", [0.0, 0.7])
def test_it_equals_the_definition(threshold: float) -> None:
    rng = np.random.default_rng(0)
    qid = rng.permutation(np.repeat(np.arange(5), 8))  # rows of all queries in any order
    data = sr.Dataset(np.zeros((40, 1)), rng.integers(0, 3, 40), qid=qid)
    scores = rng.normal(size=40).round(1)
    expected = naive(data.labels.tolist(), scores.tolist(), threshold)
    assert sr.evaluation.balanced_error_rate(data, scores, threshold=threshold) == pytest.approx(expected, abs=1e-15)
    perfect = np.where(data.labels > 0, 1.0, -1.0)
    assert sr.evaluation.balanced_error_rate(data, perfect) == 0
    assert sr.evaluation.balanced_error_rate(data, -perfect) == 1


def test_the_balanced_loss_has_the_smaller_one_on_unbalanced_classes() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 3))
    labels = (X[:, 0] + rng.normal(size=3000) > 2.2).astype(float)
    train, test = (sr.Dataset(X[at], labels[at], qid=np.arange(1500) // 10) for at in (slice(1500), slice(1500, None)))
    plain, balanced = (
        sr.evaluation.balanced_error_rate(
            test, sr.MART(objective=loss, n_trees=50, n_leaves=4).fit(train).predict(test)
        )
        for loss in ("logistic", "balanced_logistic")
    )
    assert balanced < plain - 0.1


def test_one_class_is_an_error() -> None:
    with pytest.raises(sr.errors.DataError, match="needs labels above 0 and labels that are not"):
        sr.evaluation.balanced_error_rate(sr.Dataset([[1.0]], [1], qid=[1]), [0.5])
