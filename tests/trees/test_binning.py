import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import swaprank as sr
from swaprank.arrays import Features
from swaprank.collective import ALONE
from swaprank.data import cuts
from swaprank.data.cuts import cut_points, sample_of_rows
from swaprank.trees.binning import make_bins


def naive_bins(X: Features, cuts: Features) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """1 + how many cuts are below the value; 0 for missing."""
    below = (X[:, :, None] > cuts[None]).sum(axis=2)
    return np.where(np.isnan(X), 0, below + 1)


@pytest.mark.slow
@settings(max_examples=40)
@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(1, 60), st.integers(1, 20)),
        elements=st.one_of(st.floats(-3, 3, width=32), st.just(float("nan")), st.integers(-2, 2).map(float)),
    ),
    st.integers(2, 255),
)
def test_bins_are_where_the_cuts_say(X: Features, max_bins: int) -> None:
    bins = make_bins(sr.Dataset(X, np.zeros(len(X)), qid=np.zeros(len(X), int)), max_bins, 2)
    flat = np.concatenate(list(bins.blocks), axis=1)[:, : X.shape[1]]
    np.testing.assert_array_equal(flat, naive_bins(X, bins.cuts))
    assert (bins.n_bins <= max_bins).all()
    np.testing.assert_array_equal(bins.has_missing, np.isnan(X).any(axis=0))


def test_few_values_get_a_bin_each() -> None:
    values = np.array([3, 1, 2, 2, np.nan, 1], np.float32)
    assert cut_points(values, 255).tolist() == [1.5, 2.5]


def test_cuts_separate_adjacent_floats() -> None:
    low = np.float32(1.0)
    high = np.nextafter(low, np.float32(2))
    (cut,) = cut_points(np.array([low, high], np.float32), 255)
    assert low <= cut < high


@pytest.mark.parametrize("max_bins", [2, 16, 255])
def test_many_values_are_cut_into_about_equal_parts(max_bins: int) -> None:
    values = np.random.default_rng(0).lognormal(size=20_000).astype(np.float32)
    counts = np.histogram(values, np.concatenate(([-np.inf], cut_points(values, max_bins), [np.inf])))[0]
    assert len(counts) == max_bins
    assert counts.max() < 1.2 * 20_000 / max_bins


def test_a_frequent_value_has_a_bin_of_its_own() -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate((np.zeros(5000), rng.normal(size=5000))).astype(np.float32)
    cuts = cut_points(values, 20)
    nearest_below, nearest_above = cuts[cuts < 0].max(), cuts[cuts >= 0].min()
    inside = values[(values > nearest_below) & (values <= nearest_above)]
    assert (inside == 0).mean() > 0.95
    assert len(cuts) == 19


def test_rows_are_put_in_order() -> None:
    data = sr.Dataset([[1.0], [3.0], [2.0]], [0, 0, 0], qid=[7, 8, 7])
    assert make_bins(data, 255, 1).blocks[0, :, 0].tolist() == [1, 2, 3]


def test_cuts_do_not_depend_on_the_order_of_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuts, "CUT_SAMPLE", 100)
    X, qid = np.random.default_rng(0).normal(size=(1000, 3)).astype(np.float32), np.arange(1000) // 20
    data = sr.Dataset(X, np.zeros(1000), qid=qid)
    bins, again = make_bins(data, 20, 2), make_bins(data.subset(np.arange(50)), 20, 1)
    order = np.argsort(qid % 7, kind="stable")
    shuffled = make_bins(sr.Dataset(X[order], np.zeros(1000), qid=qid[order]), 20, 2)
    np.testing.assert_array_equal(bins.cuts, again.cuts)
    np.testing.assert_array_equal(bins.cuts, shuffled.cuts)
    assert len(np.unique(bins.cuts[0])) == 20  # 19 cuts and infinity
    sampled = sample_of_rows(data.places, 1, ALONE)
    assert len(sampled) == 100
    assert len(np.unique(qid[sampled])) > 25  # all over the data
