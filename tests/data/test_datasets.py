from collections.abc import Callable

import numpy as np
import pytest

import swaprank as sr


def pairs_of_different_labels(data: sr.Dataset) -> int:
    bounds = zip(data.indptr[:-1], data.indptr[1:], strict=True)
    return sum(int((data.labels[a:b, None] > data.labels[a:b]).sum()) for a, b in bounds)


@pytest.mark.parametrize("make", [sr.datasets.random_net, sr.datasets.random_polynomial])
def test_shape_and_seed(make: Callable[..., tuple[sr.Dataset, ...]]) -> None:
    parts = make((12, 3, 5), n_features=7, n_documents=11, levels=4, random_state=1)
    assert [part.n_queries for part in parts] == [12, 3, 5]
    assert all(part.n_features == 7 and len(part) == 11 * part.n_queries for part in parts)
    assert not set(parts[0].qids.tolist()) & set(parts[1].qids.tolist())
    again = make((12, 3, 5), n_features=7, n_documents=11, levels=4, random_state=1)
    assert all(
        (a.features == b.features).all() and (a.labels == b.labels).all() for a, b in zip(parts, again, strict=True)
    )
    assert np.abs(parts[0].features).max() <= 1


@pytest.mark.parametrize("make", [sr.datasets.random_net, sr.datasets.random_polynomial])
def test_data_of_the_papers_sizes_is_uniform(make: Callable[..., tuple[sr.Dataset, ...]]) -> None:
    # [Burges2005, 5.1]: 50 features, uniform in [-1, 1], and 50 documents a query.
    parts = make(random_state=4)
    assert [(part.n_queries, len(part), part.n_features) for part in parts] == [
        (800, 40_000, 50),
        (100, 5_000, 50),
        (100, 5_000, 50),
    ]
    X = np.concatenate([part.features for part in parts]).astype(np.float64)
    shares = np.apply_along_axis(lambda column: np.histogram(column, bins=10, range=(-1, 1))[0], 0, X) / len(X)
    np.testing.assert_allclose(shares, 0.1, atol=0.008)
    np.testing.assert_allclose(X.T @ X / len(X), np.eye(50) / 3, atol=0.01)


def test_labels_of_the_net_are_bins_of_a_net_with_uniform_weights() -> None:
    (data,) = sr.datasets.random_net((40,), random_state=5)
    rng = np.random.default_rng(5)
    hidden, offsets, output = (rng.uniform(-1, 1, shape) for shape in ((50, 10), 10, 10))
    outputs = [float(output @ np.tanh(x @ hidden + offsets)) for x in data.features.astype(np.float64)]
    by_output = data.labels[np.argsort(outputs)]
    np.testing.assert_array_equal(by_output, np.sort(data.labels))
    np.testing.assert_allclose(np.bincount(data.labels.astype(int)), len(data) / 6, atol=1)


@pytest.mark.parametrize("make", [sr.datasets.random_net, sr.datasets.random_polynomial])
def test_levels_have_their_shares(make: Callable[..., tuple[sr.Dataset, ...]]) -> None:
    shares = (0.5, 0.3, 0.15, 0.05)
    (data,) = make((400,), levels=shares, random_state=0)
    np.testing.assert_allclose(np.bincount(data.labels.astype(int)) / len(data), shares, atol=1e-3)


def test_number_of_pairs_is_that_of_the_paper() -> None:
    # [Burges2005, 5.1]: 1000 training vectors gave 20,382 pairs.
    counts = [pairs_of_different_labels(sr.datasets.random_net((20,), random_state=seed)[0]) for seed in range(20)]
    assert abs(np.mean(counts) - 20_382) < 150


def test_parts_share_one_target() -> None:
    for make in (sr.datasets.random_net, sr.datasets.random_polynomial):
        train, test = make((400, 100), random_state=2)
        weights, *_ = np.linalg.lstsq(train.features, train.labels - train.labels.mean(), rcond=None)
        scores = test.features @ weights
        assert sr.metric("pairwise").mean(test.labels, scores, test.indptr) > 0.68
        other = make((400, 100), random_state=3)[1]
        strange = sr.metric("pairwise").mean(other.labels, other.features @ weights, other.indptr)
        assert abs(strange - 0.5) < 0.15


@pytest.mark.slow
def test_a_linear_function_explains_a_third_of_the_polynomial() -> None:
    # Three uncorrelated terms of equal variance, of which a linear model can fit one.
    (data,) = sr.datasets.random_polynomial((2000,), levels=200, random_state=0)
    design = np.column_stack((data.features, np.ones(len(data)))).astype(np.float64)
    residual = np.linalg.lstsq(design, data.labels, rcond=None)[1][0]
    assert 1 - residual / ((data.labels - data.labels.mean()) ** 2).sum() == pytest.approx(1 / 3, abs=0.03)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(n_queries=()), "n_queries must be at least 1 in every part"),
        (dict(n_queries=(5, 0)), "n_queries must be a whole number from 1, found 0"),
        (dict(n_queries=(2.7,)), "n_queries must be a whole number from 1, found 2.7"),
        (dict(n_queries=None), "n_queries must be a whole number from 1, found None"),
        (dict(levels=1), "levels must be a number from 2"),
        (dict(levels=0), "levels must be a number from 2"),
        (dict(levels="many"), "levels must be a number from 2"),
        (dict(levels=(0.5, 0.2)), "levels must be a number from 2, or positive shares that sum to 1"),
        (dict(n_features=0), "n_features must be a whole number from 1, found 0"),
        (dict(n_documents=1.5), "n_documents must be a whole number from 1, found 1.5"),
        (dict(n_queries=(1,), n_documents=5), "6 levels need at least as many documents, found 5"),
        (dict(n_hidden=0), "n_hidden must be a whole number from 1, found 0"),
        (dict(random_state=-1), "random_state must be a whole number from 0, or None; found -1"),
    ],
)
def test_bad_sizes_get_a_clear_error(options: dict[str, object], message: str) -> None:
    with pytest.raises(sr.errors.DataError, match=message):
        sr.datasets.random_net(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [sr.datasets.random_net, sr.datasets.random_polynomial])
def test_one_number_is_one_part(make: Callable[..., tuple[sr.Dataset, ...]]) -> None:
    (data,) = make(5, levels=np.int64(3), random_state=0)
    assert (data.n_queries, data.labels.max()) == (5, 2)
    (least,) = make(1, n_documents=2, levels=2, random_state=0)
    assert sorted(least.labels.tolist()) == [0, 1]
