"""Claim: RankSVM takes less than two times as long per pass as a linear SVM of documents, although it sums over pairs.

    python benchmarks/ranksvm.py [FOLDER] [--repeat 7] [--strengths 1 0.1 …]

FOLDER has train.npz with X (float32), y and sizes (documents per query); without it, data of a similar shape is
generated. A pass of any linear SVM over the data is X w and X'g: the scores of the weights, and the gradient of the
weights from that of the scores. The first table has the best of several passes: alone, with the gradient of all pairs,
which sorts the scores, and with a product of the hessian, of which a Newton step needs several. The second table has
whole fits from strong to weak regularization, each from the weights of the one before: their passes, the CPU time of a
pass relative to that of X w and X'g alone, and the duality gap relative to the cost.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np
from measuring import fastest
from recording import Recording, add_record

import swaprank as sr
from swaprank.arrays import Features, Floats
from swaprank.baselines.pair_shares import label_pairs
from swaprank.baselines.primal_svm import PairLoss, fit_svm
from swaprank.linear import architectures
from swaprank.linear.architectures import LinearScoreFunction
from swaprank.models.products import pull_back
from swaprank.models.scaling import units_of
from swaprank.rankers.linear_rounds import LinearProblem


def load(folder: Path | None) -> sr.Dataset:
    if folder is None:
        return sr.datasets.random_net((6000,), n_documents=120, n_features=136, levels=5, random_state=0)[0]
    with np.load(folder / "train.npz") as arrays:
        return sr.Dataset(arrays["X"], arrays["y"], group=arrays["sizes"])


def problem_of(data: sr.Dataset) -> LinearProblem:
    units, d = units_of(data.features, standardize=True), data.n_features
    score_function = LinearScoreFunction(np.array(data.features), units.factor)
    labels, indptr = np.array(data.labels), np.array(data.indptr)
    return LinearProblem(data, score_function, units, labels, indptr, np.ones(len(data)), np.zeros(d), 0, None)


def report_passes(recording: Recording, problem: LinearProblem, pairs: PairLoss, repeat: int) -> float:
    weights = 0.05 * np.random.default_rng(0).normal(size=len(problem.start))
    score_function = problem.score_function
    grad = pairs.at(score_function(weights)).grad

    def linear() -> None:
        score_function.pull_back(weights, grad + 0.0 * score_function(weights))

    def gradient() -> None:
        score_function.pull_back(weights, pairs.at(score_function(weights)).grad)

    def product() -> None:
        score_function.pull_back(weights, pairs.hessian_product(score_function(weights)))

    alone = fastest(linear, repeat, time.process_time)
    table = recording.table("passes", "A pass", "CPU seconds", "Relative")
    table.add("X w and X'g", f"{alone:.3f}", "1.00")
    for name, work in {"with the gradient of all pairs": gradient, "with the hessian": product}.items():
        seconds = fastest(work, repeat, time.process_time)
        table.add(name, f"{seconds:.3f}", f"{seconds / alone:.2f}")
    return alone


def report_fits(
    recording: Recording, problem: LinearProblem, pairs: PairLoss, strengths: list[float], alone: float
) -> None:
    columns = ("Loss of a fit", "Strength", "Seconds", "CPU seconds", "Passes", "A pass, relative", "Duality gap")
    table, passes = recording.table("fits", *columns), 0

    def counted(X: Features, grad: Floats, n_threads: int | None = None) -> Floats:
        nonlocal passes
        passes += 1
        return pull_back(X, grad, n_threads)

    for loss in ("squared_hinge", "hinge"):
        weights = problem.start
        for strength in strengths:
            passes, start, started = 0, time.perf_counter(), time.process_time()
            with patch.object(architectures, "pull_back", counted):
                weights, gap = fit_svm(problem, pairs, loss, strength, weights)
            seconds, worked = time.perf_counter() - start, time.process_time() - started
            relative = worked / passes / alone
            table.add(loss, f"{strength:g}", f"{seconds:.1f}", f"{worked:.1f}", passes, f"{relative:.2f}", f"{gap:.0e}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--strengths", type=float, nargs="+", default=[1.0, 0.1, 0.01, 1e-3, 1e-4])
    add_record(parser)
    options = parser.parse_args()
    with Recording(options) as recording:
        data = load(options.folder)
        problem = problem_of(data)
        pairs = PairLoss(problem, label_pairs(problem.labels, problem.indptr, problem.document_weights, "pairs"))
        recording.says(f"{len(data):,} documents x {data.n_features} features in {data.n_queries:,} queries")
        alone = report_passes(recording, problem, pairs, options.repeat)
        report_fits(recording, problem, pairs, options.strengths, alone)


if __name__ == "__main__":
    main()
