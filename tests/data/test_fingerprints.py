"""Fingerprints tell data sets apart, and do not depend on how the data is divided and ordered."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.collective import ALONE, Collective
from swaprank.data.binned_features import BinnedFeatures
from swaprank.data.fingerprints import shared_fingerprint
from tests.workers import run_workers


def some_data(n_queries: int = 12) -> sr.Dataset:
    (data,) = sr.datasets.random_search((n_queries,), n_documents=7, random_state=0)
    rng = np.random.default_rng(0)
    X = np.column_stack((data.features, rng.integers(0, 4, len(data))))
    X[rng.random(X.shape) < 0.1] = np.nan
    return sr.Dataset(
        X,
        data.labels,
        qid=[f"q{row // 7}" for row in range(len(X))],
        sample_weight=rng.random(len(X)),
        columns={"price": rng.random(len(X)), "device": ["phone"] * len(X)},
        pairs=[(row, row + 1, 0.5 + 0.4 * rng.random()) for row in range(0, len(X), 7)],
        categorical_features=[X.shape[1] - 1],
    )


DATA = some_data()


def fingerprint(
    data: sr.Dataset, start: Any = None, collective: Collective = ALONE, like: Any = None
) -> dict[str, Any]:
    bins = data.binned(like=DATA.binned() if like is None else like).stored
    assert isinstance(bins, BinnedFeatures)
    blocks = np.ascontiguousarray(bins.blocks if data.order is None else bins.blocks[:, data.order])
    scores = np.zeros(len(data)) if start is None else start
    return shared_fingerprint("train", data, blocks, data.by_query(scores), collective)


@pytest.mark.slow
def test_20_000_relabelings_have_different_hashes() -> None:
    (data,) = sr.datasets.random_net((5,), n_documents=8, n_features=2, random_state=0)
    blocks, start, rng = np.zeros((1, len(data), 16), np.uint8), np.zeros(len(data)), np.random.default_rng(0)
    labels = np.unique(rng.integers(0, 5, (20_010, len(data))), axis=0)[:20_000]
    found = {
        shared_fingerprint("train", data.replace(labels=each), blocks, start, ALONE)["labels of train"]
        for each in labels.astype(np.float64)
    }
    assert len(found) == len(labels) == 20_000


def exchanged(values: Any, one: int, other: int) -> Any:
    changed = np.array(values)
    changed[[one, other]] = changed[[other, one]]
    return changed


CHANGES: dict[str, Callable[[], sr.Dataset]] = {
    "features": lambda: DATA.replace(features=exchanged(DATA.features, 0, 1)),
    "labels": lambda: DATA.replace(labels=exchanged(DATA.labels, int(DATA.labels.argmin()), int(DATA.labels.argmax()))),
    "sample_weight": lambda: DATA.replace(sample_weight=exchanged(DATA.sample_weight, 3, 80)),
    "column 'price'": lambda: DATA.replace(columns={"price": exchanged(DATA.columns["price"], 0, 9)}),
    "pairs": lambda: DATA.replace(
        pairs=[(below, above, p) for above, below, p, _ in zip(*(DATA.pairs or ()), strict=True)]
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_changes_is_named(what: str) -> None:
    before, after = fingerprint(DATA), fingerprint(CHANGES[what]())
    changed = {name for name in before if before[name] != after[name]}
    others = {"categories '" + DATA.feature_names[-1] + "' of train"} if what == "features" else set()
    assert {f"{what} of train"} <= changed <= {f"{what} of train", *others}


def test_permuted_columns_have_another_hash() -> None:
    numbers = DATA.features[:, :-1]
    one, other = sr.Dataset(numbers, DATA.labels, qid=[0] * len(DATA)), numbers[:, ::-1]
    found = fingerprint(one, like=one.binned())
    permuted = one.replace(features=other)
    changed = fingerprint(permuted, like=permuted.binned())
    assert [name for name in found if found[name] != changed[name]] == ["features of train"]


def test_zeros_and_missing_values_are_equal_to_others_of_their_kind() -> None:
    columns = {"price": np.where(DATA.columns["price"] < 0.5, 0.0, np.nan)}
    others = {"price": np.where(DATA.columns["price"] < 0.5, -0.0, -np.float64("nan"))}
    assert fingerprint(DATA.replace(columns=columns)) == fingerprint(DATA.replace(columns=others))


def test_division_and_order_of_queries_do_not_matter() -> None:
    whole, start = fingerprint(DATA, start=DATA.labels), np.random.default_rng(1).permutation(DATA.n_queries)
    rows = np.concatenate([DATA.rows(query) for query in start])
    assert DATA.sample_weight is not None
    assert DATA.pairs is not None
    at = np.argsort(rows)
    shuffled = sr.Dataset(
        DATA.features[rows],
        DATA.labels[rows],
        qid=[f"q{row // 7}" for row in rows],
        sample_weight=DATA.sample_weight[rows],
        columns={name: values[rows] for name, values in DATA.columns.items()},
        pairs=np.column_stack((at[DATA.pairs.above], at[DATA.pairs.below], DATA.pairs.probability, DATA.pairs.weight)),
        categorical_features=[DATA.n_features - 1],
    )
    assert fingerprint(shuffled, start=shuffled.labels) == whole
    for size in (2, 3):
        shares = [DATA.subset(np.arange(DATA.n_queries) % size == rank) for rank in range(size)]

        def work(collective: Collective, shares: list[sr.Dataset] = shares) -> dict[str, Any]:
            return fingerprint(shares[collective.rank], shares[collective.rank].labels, collective)

        assert run_workers(work, size) == [whole] * size
