"""Shards of workers that are threads: a common schema, what is refused, and the rows of one data set."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

import swaprank as sr
from swaprank.cluster.parts import DataPart
from swaprank.cluster.shard import join_parts
from swaprank.collective import Collective
from tests.workers import run_workers


def frame(seed: int, n_queries: int, first_query: int, brands: Sequence[str | None]) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n = 5 * n_queries
    return pd.DataFrame(
        {
            "qid": np.repeat(np.arange(first_query, first_query + n_queries), 5),
            "label": rng.integers(0, 3, n),
            "bm25": rng.normal(size=n),
            "brand": rng.choice(np.array(brands, dtype=object), n),
            "weight": rng.uniform(0.5, 1, n),
        }
    )


FRAMES = [
    frame(0, 3, 0, ["nike", "7"]),
    frame(1, 2, 10, ["asics", None]),
    frame(2, 4, 20, ["zoot", "nike"]),
    frame(3, 1, 30, ["asics"]),
    frame(4, 1, 40, ["12", "7"]),
]


def dataset(of: pd.DataFrame) -> sr.Dataset:
    return sr.Dataset.from_frame(of, sample_weight="weight")


def shards(parts: Sequence[sr.Dataset], size: int, names: Sequence[str] | None = None) -> list[sr.Dataset]:
    """Deal the parts to workers in turns, and join each worker's."""
    named = [DataPart(f"part {n}" if names is None else names[n], part) for n, part in enumerate(parts)]

    def work(collective: Collective) -> sr.Dataset | sr.errors.DataError:
        try:
            return join_parts(collective, named[collective.rank :: collective.size], "train")
        except sr.errors.DataError as error:
            return error

    found = run_workers(work, size)
    errors = [each for each in found if isinstance(each, sr.errors.DataError)]
    if errors:
        # All workers end with the same error.
        assert {str(each) for each in found} == {str(errors[0])}
        raise errors[0]
    return [each for each in found if isinstance(each, sr.Dataset)]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_shards_have_the_documents_and_the_codes_of_one_data_set(size: int) -> None:
    whole = dataset(pd.concat(FRAMES))
    found = shards([dataset(each) for each in FRAMES], size)
    for rank, shard in enumerate(found):
        expected = whole.subset(np.isin(whole.qids, pd.concat(FRAMES[rank::size]).qid))
        assert shard.categories == whole.categories
        assert shard.feature_names == whole.feature_names
        np.testing.assert_array_equal(shard.features, expected.features)
        np.testing.assert_array_equal(shard.qids, expected.qids)
        np.testing.assert_array_equal(shard.indptr, expected.indptr)
        assert shard.sample_weight is not None
        np.testing.assert_array_equal(shard.sample_weight, expected.sample_weight)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_query_in_two_parts_is_refused_with_both_names(size: int) -> None:
    parts = [dataset(each) for each in [*FRAMES, frame(9, 2, 21, ["nike"])]]
    with pytest.raises(sr.errors.DataError, match=r"the query '2[12]' is in two parts, part [25] and part [25]: all"):
        shards(parts, size)


def test_integers_and_text_are_the_same_query() -> None:
    text = FRAMES[0].assign(qid=FRAMES[0].qid.astype(str))
    with pytest.raises(sr.errors.DataError, match="'0' is in two parts"):
        shards([dataset(FRAMES[0]), dataset(text)], 2)


def test_ids_of_several_types_are_joined_as_text() -> None:
    text = FRAMES[1].assign(qid=[f"q{qid}" for qid in FRAMES[1].qid])
    assert shards([dataset(FRAMES[0]), dataset(text)], 1)[0].qids.tolist() == ["0", "1", "2", "q10", "q11"]


@pytest.mark.parametrize("size", [1, 2])
def test_other_features_are_refused_by_the_name_of_the_part(size: int) -> None:
    renamed = FRAMES[1].rename(columns={"bm25": "tfidf"})
    with pytest.raises(sr.errors.DataError, match="feature 0 of b is 'tfidf', but of a it is 'bm25'"):
        shards([dataset(FRAMES[0]), dataset(renamed)], size, ["a", "b"])
    fewer = FRAMES[1].drop(columns="brand")
    with pytest.raises(sr.errors.DataError, match="b has 1 features, but a has 2"):
        shards([dataset(FRAMES[0]), dataset(fewer)], size, ["a", "b"])
    unweighted = sr.Dataset.from_frame(FRAMES[1], features=["bm25", "brand"])
    with pytest.raises(sr.errors.DataError, match="a has sample_weight, but b has none"):
        shards([dataset(FRAMES[0]), unweighted], size, ["a", "b"])


def test_pairs_are_renumbered() -> None:
    one = sr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1], pairs=[(1, 0)])
    two = sr.Dataset([[3.0], [4.0], [5.0]], [0, 1, 0], qid=[2, 3, 2], pairs=[(0, 2, 0.7, 4)])
    (shard,) = shards([one, two], 1)
    assert shard.pairs is not None
    assert [array.tolist() for array in shard.pairs] == [[1, 2], [0, 4], [1.0, 0.7], [1.0, 4.0]]


def test_document_ids_are_kept_as_text() -> None:
    one, two, without = (dataset(each) for each in FRAMES[:3])
    parts = [one.replace(docid=np.arange(len(one))), two.replace(docid=[f"d{n}" for n in range(len(two))]), without]
    (joined,) = shards(parts, 1)
    assert joined.docid is not None
    assert joined.docid.tolist() == [*map(str, range(15)), *(f"d{n}" for n in range(10)), *([""] * 20)]
    assert shards([one, without], 1)[0].docid is None
