"""How kernels are compiled, cached and spread over threads."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.metrics.cumulative_kernels import best_cumulative
from swaprank.metrics.measuring import measure_queries, swap_gain_matrix
from swaprank.metrics.terms import Lists
from swaprank.threads import query_chunks


def test_kernels_are_compiled_once_whatever_the_arrays() -> None:
    labels, scores, indptr = np.array([0.0, 2, 1, 0, 1, 0]), np.arange(6.0), np.array([0, 3, 6])
    frozen = [labels.copy(), scores.copy(), indptr.copy()]
    for array in frozen:
        array.flags.writeable = False
    data = sr.Dataset(np.zeros((6, 1)), labels, qid=[1, 1, 1, 2, 2, 2])
    own = [
        sr.metrics.CumulativeMetric(gain=lambda label: label, discount=lambda r: 1 / r),
        sr.metrics.CascadeMetric(stop=lambda label: label / 4),
        sr.metrics.CustomMetric(evaluate=lambda ranked: ranked[0]),
    ]
    named = [sr.metric(name) for name in ("ndcg@2", "ndcg", "map", "err", "pairwise", "bpref", "rprec", "p@3", "wta")]
    for metric in (*own, *named):
        metric.per_query(labels, scores, indptr)
        metric.per_query(*frozen)
        metric.per_query(labels.astype(int).tolist(), scores.astype(np.float32), indptr.astype(np.int32))
        metric.per_query(np.repeat(labels, 2)[::2], np.repeat(scores, 2)[::2], np.repeat(indptr, 2)[::2])
        metric.bind(data.labels, data.indptr).per_query(data.column(0))
        metric.bind(frozen[0], frozen[2], pool=Lists(frozen[0], frozen[2])).per_query(frozen[1])
        metric.swap_gains(frozen[0])
        metric.swap_gains([1, 0])
    kernels: list[Any] = [measure_queries, swap_gain_matrix, best_cumulative]
    assert [len(kernel.signatures) for kernel in kernels] == [1, 1, 1]


@pytest.mark.slow
def test_kernels_work_where_nothing_can_be_cached(tmp_path: Path) -> None:
    # A file in place of the cache folder: not even root can write there.
    (tmp_path / "__pycache__").touch()
    (tmp_path / "own.py").write_text(
        "from swaprank.kernels import kernel\n\n@kernel\ndef twice(x):\n    return 2 * x\n\nprint(twice(21))\n"
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG"))} | {"HOME": os.devnull}
    code = "import sys; sys.path.insert(0, sys.argv[1]); import own"
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, str(tmp_path)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "42\n", done.stderr


def test_chunks_cover_all_queries_once() -> None:
    rng = np.random.default_rng(0)
    for n_queries in (0, 1, 7, 500):
        indptr = np.concatenate(([0], np.cumsum(rng.integers(0, 300, n_queries))))
        for n_threads in (1, 2, 5, 64):
            for costs in (None, np.diff(indptr) ** 2):
                chunks = query_chunks(indptr, n_threads, costs=costs, least_cost=100)
                assert [q for a, b in chunks for q in range(a, b)] == list(range(n_queries))
                assert len(chunks) <= n_threads


def test_chunks_are_balanced_by_cost() -> None:
    # One query of 1,000 documents has as many pairs as 100 queries of 100.
    indptr = np.concatenate(([0, 1000], 1000 + 100 * np.arange(1, 101)))
    pairs = np.diff(indptr).astype(float) ** 2
    assert query_chunks(indptr, 2, costs=pairs) == [(0, 1), (1, 101)]
    assert query_chunks(indptr, 2, least_cost=1000) == [(0, 46), (46, 101)]
    assert query_chunks(indptr, 2, costs=pairs, least_cost=1.5e6) == [(0, 101)]


@pytest.mark.parametrize("documents", [100, 20_000])
def test_few_documents_are_not_worth_a_thread(documents: int) -> None:
    indptr = np.arange(0, documents + 1, 10)
    assert len(query_chunks(indptr, 2)) == (1 if documents < 2 * 8192 else 2)
