"""If documents have ids, the order of the rows changes no bit of a model: in one process, over workers, from bins."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import swaprank as sr
from swaprank.cluster.shard import fit_on_shard, make_shard
from swaprank.collective import Collective
from swaprank.data import cuts
from swaprank.rankers.training import TrainableRanker
from swaprank.reading import block_reading, text_files
from tests.rankers.test_worker_shares import RANKERS, saved, split
from tests.workers import run_workers

pytestmark = pytest.mark.slow


def some_data(seed: int, n_queries: int, shuffled: bool, with_ids: bool = True, with_pairs: bool = False) -> sr.Dataset:
    """Many ties: coarse features, and documents that are equal but for their label."""
    rng, n = np.random.default_rng(seed), n_queries * 20
    X = np.column_stack((rng.integers(0, 6, (n, 3)), rng.zipf(1.3, n) % 60, rng.random(n).round(2))).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    labels, weights, base = rng.integers(0, 4, n) / 3, rng.random(n), rng.random(n)
    qid = rng.permutation(np.repeat(np.arange(n_queries), 20))
    order = np.random.default_rng(seed + 100).permutation(n) if shuffled else np.arange(n)
    pairs = None
    if with_pairs:
        above = np.repeat(np.arange(n), 3)
        below = np.concatenate([rng.choice(np.flatnonzero(qid == qid[row]), 3) for row in range(n)])
        table = np.column_stack((above, below, rng.random(3 * n), rng.random(3 * n)))[above != below]
        at = np.argsort(order)
        table[:, 0], table[:, 1] = at[table[:, 0].astype(int)], at[table[:, 1].astype(int)]
        pairs = rng.permutation(table) if shuffled else table
    return sr.Dataset(
        X[order],
        labels[order],
        qid=qid[order],
        docid=order if with_ids else None,
        sample_weight=weights[order],
        base_score=base[order],
        pairs=pairs,
        categorical_features=[3],
    )


def both(shuffled: bool, with_ids: bool = True) -> tuple[sr.Dataset, sr.Dataset]:
    return some_data(0, 60, shuffled, with_ids), some_data(1, 30, shuffled, with_ids)


def ranker_of(name: str) -> TrainableRanker:
    constraints = {"monotone_constraints": None} if name == "least squares" else {}
    return RANKERS[name]().set_params(n_threads=1, **constraints)


def on_workers(name: str, size: int, train: sr.Dataset, vali: sr.Dataset) -> list[TrainableRanker]:
    parts, sets = split(train, size, size), split(vali, size, 1)

    def work(collective: Collective) -> TrainableRanker:
        rank = collective.rank
        return ranker_of(name).fit_shard(parts[rank], {"valid": sets[rank]}, collective)

    return run_workers(work, size)


@pytest.mark.parametrize("name", [name for name in RANKERS if name != "monotone"])
def test_no_order_of_rows_matters(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuts, "CUT_SAMPLE", 500)
    (train, vali), shuffled = both(False), both(True)
    one = saved(ranker_of(name).fit(train, valid=vali), tmp_path)
    assert saved(ranker_of(name).fit(shuffled[0], valid=shuffled[1]), tmp_path) == one
    assert {saved(ranker, tmp_path) for ranker in on_workers(name, 3, *shuffled)} == {one}


def test_without_ids_the_order_matters(tmp_path: Path) -> None:
    """So the other tests would notice."""
    one, other = (
        saved(RANKERS["sampled"]().fit(train, valid=vali), tmp_path)
        for train, vali in (both(False, with_ids=False), both(True, with_ids=False))
    )
    assert one != other


def test_bins_of_other_orders_give_the_same_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuts, "CUT_SAMPLE", 500)
    found = []
    for shuffled in (False, True):
        train, vali = both(shuffled)
        train.binned().save_bins(tmp_path / "train.bins")
        bins = sr.read(tmp_path / "train.bins")
        found += [saved(sr.MART(n_trees=5).fit(data, valid=vali), tmp_path) for data in (train, bins)]
    assert len(set(found)) == 1


def test_text_in_blocks_has_the_ids_of_its_comments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one process and on workers; some blocks have no ids."""
    monkeypatch.setattr(cuts, "CUT_SAMPLE", 300)
    monkeypatch.setattr("swaprank.data.blocks.BLOCK_BYTES", 6000)
    monkeypatch.setattr(text_files, "_BLOCK_BYTES", 3000)
    monkeypatch.setattr(block_reading, "_TEXT_BYTES", 3000)
    (data,) = sr.datasets.random_net((40,), n_documents=25, n_features=5, random_state=0)
    rng = np.random.default_rng(0)
    files, models, keys = [tmp_path / f"{part}.txt" for part in range(3)], set(), np.arange(len(data)) // 25
    data = sr.Dataset(data.features.round(1), data.labels, qid=keys, docid=[f"d{row}" for row in range(len(data))])
    for _ in range(2):
        found = []
        for part, file in enumerate(files):
            share = data.subset(keys[::25] % 3 == part)
            # Documents of the last queries have no ids, and stay in their order.
            query = np.repeat(share.qids, 25)
            rows = np.lexsort((np.where(query < 30, rng.random(len(share)), np.arange(len(share))), query))
            assert share.docid is not None
            ids = np.where(query < 30, share.docid, "")[rows]
            shuffled = sr.Dataset(share.features[rows], share.labels[rows], qid=query[rows], docid=ids)
            sr.write_letor(shuffled, file)
            found.append(shuffled)
        whole = sr.Dataset(
            np.concatenate([each.features for each in found]),
            np.concatenate([each.labels for each in found]),
            qid=np.concatenate([np.repeat(each.qids, 25) for each in found]),
            docid=np.concatenate([each.docid for each in found if each.docid is not None]),
        )
        blocks = sr.read(files, binned=True)
        assert blocks.docid is not None
        assert whole.docid is not None
        assert blocks.docid.tolist() == whole.docid.tolist()

        def work(collective: Collective) -> TrainableRanker:
            ranker, rank = sr.MART(n_trees=4, document_fraction=0.3, random_state=0, n_threads=1), collective.rank
            fit_on_shard(ranker, collective, make_shard(rank, 2, sr.Parts.read(files).parts[rank::2], {}))
            return ranker

        alone = sr.MART(n_trees=4, document_fraction=0.3, random_state=0, n_threads=1)
        rankers = [*run_workers(work, 2), *(clone(alone).fit(each) for each in (whole, blocks))]
        models |= {saved(ranker, tmp_path) for ranker in rankers}
    assert len(models) == 1


def test_pairs_in_any_order(tmp_path: Path) -> None:
    found = set()
    for shuffled in (False, True):
        data = some_data(2, 40, shuffled, with_pairs=True)
        ranker = sr.LambdaMART("ndcg@10", objective=sr.objectives.RankNetObjective(), n_trees=5, n_leaves=7)
        found.add(saved(ranker.fit(data, valid=data), tmp_path))
    assert len(found) == 1


def test_a_metric_of_tied_rows_keeps_their_order() -> None:
    train, vali = (data.replace(base_score=None) for data in both(False))
    metric = "ndcg@10(ties=input)"
    ranker = sr.LambdaMART(metric, n_trees=3, n_leaves=4).fit(train, valid=vali)
    (name,) = ranker.history_["valid"]
    assert ranker.history_["valid"][name][ranker.best_round_ - 1] == sr.evaluate(vali, ranker, [metric])[metric].mean


def test_documents_of_the_same_id_keep_their_order() -> None:
    data = sr.Dataset(np.zeros((6, 1)), [0] * 6, qid=[1, 2, 1, 2, 1, 2], docid=["", "x", "", "x", "", "y"])
    found = data.by_docid()
    assert found.rows(0).tolist() == [0, 2, 4]
    assert found.rows(1).tolist() in ([1, 3, 5], [5, 1, 3])
    assert data.replace(docid=None).by_docid().order is not None


def test_refit_does_not_depend_on_the_order_of_rows(tmp_path: Path) -> None:
    found = set()
    for shuffled in (False, True):
        train, vali = both(shuffled)
        found.add(saved(sr.LambdaMART(n_trees=4, score_noise=0.5).fit(train).refit(vali), tmp_path))
    assert len(found) == 1
