"""Claims: factored RankNet is many times faster than pairwise RankNet; LambdaRank takes a fifth of PyTorch's time.

    python benchmarks/nets.py [--tables speedup growth torch] [--data FOLDER] [--repeat 5]

    speedup   an epoch of RankNet on 1000 queries of 26 documents with 367 features and five labels, the shape of
              [Burges2006, 6.1]: "pairs" (V1, two forward and two backward passes per pair) over "factored" (V2), both
              with one step per query
    growth    an epoch of a linear RankNet on one list of 4,000 to 256,000 documents with 50 features: the slope of log
              seconds by log documents; V1 up to 16,000
    torch     an epoch of LambdaRank for NDCG@10, 136-10-1, plain gradient descent with one step per query, against
              PyTorch: with autograd and torch.optim, and with a hand-written backward pass. FOLDER has train.npz with
              X, y and sizes (documents per query); without it, data of a similar shape is generated. PyTorch gets
              standardised features; swaprank standardises during the epoch. All start with the same weights and use the
              same order of queries; after a hundred queries their weights must agree.

All use one thread. The fastest of several epochs counts; the libraries take turns.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from measuring import machine

import swaprank as sr
from swaprank.arrays import Features, Floats, Ints
from swaprank.models.layers import layer_weights
from swaprank.nets.net_training import Trainer, Training

CUTOFF = 10
RATE = 1e-3


class Judged(NamedTuple):
    """Documents, grouped by query."""

    X: Features
    y: Floats
    sizes: Ints

    def dataset(self) -> sr.Dataset:
        """The documents as a swaprank data set."""
        return sr.Dataset(self.X, self.y, qid=np.repeat(np.arange(len(self.sizes)), self.sizes))


def generated(sizes: Ints, n_features: int, shares: list[float], seed: int = 0) -> Judged:
    """Normal features; labels from a noisy sum of some features, with the given shares."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((int(sizes.sum()), n_features), dtype=np.float32)
    target = np.tanh(X[:, :16]).sum(axis=1) + 2 * rng.standard_normal(len(X))
    return Judged(X, np.digitize(target, np.quantile(target, np.cumsum(shares)[:-1])).astype(float), sizes)


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def ranknet(data: sr.Dataset, hidden: tuple[int, ...], training: Training) -> Trainer:
    ranker = sr.RankNet(hidden=hidden, training=training, optimizer="sgd", learning_rate=1e-5, n_threads=1)
    return ranker._trainer(data, ranker._new_net(data, seed=0), 0, decays=False)


def report_speedup(repeat: int) -> None:
    data = generated(np.full(1000, 26), 367, [0.5, 0.23, 0.16, 0.08, 0.03]).dataset()
    pairs = sum(
        int((data.labels[rows][:, None] > data.labels[rows][None, :]).sum()) for rows in map(data.rows, range(1000))
    )
    print(f"\n| 1000 queries, {pairs:,} pairs | V1, pairwise | V2, factored | V1 / V2 | paper |")
    print("|---|---:|---:|---:|---:|")
    for hidden, paper in (((), 5.1), ((10,), 8.0)):
        ways = {way: ranknet(data, hidden, way) for way in ("pairs", "factored")}
        best = dict.fromkeys(ways, np.inf)
        for number in range(1, repeat + 2):  # The first epoch compiles.
            for way, each in ways.items():
                took = seconds(lambda each=each, number=number: each.epoch(number))  # type: ignore[misc]
                best[way] = min(best[way], took if number > 1 else np.inf)
        np.testing.assert_allclose(ways["pairs"].weights, ways["factored"].weights, atol=1e-4)
        shape = "-".join(map(str, (367, *hidden, 1)))
        ratio = best["pairs"] / best["factored"]
        print(f"| {shape} | {best['pairs']:.4f} s | {best['factored']:.4f} s | {ratio:.1f} | {paper} |", flush=True)


def report_growth(repeat: int) -> None:
    sizes: dict[Training, list[int]] = {
        "factored": [4000 * 2**i for i in range(7)],
        "pairs": [1000 * 2**i for i in range(5)],
    }
    print("\n| documents in one list | V2, factored | V1, pairwise |\n|---:|---:|---:|")
    found: dict[Training, dict[int, float]] = {"factored": {}, "pairs": {}}
    for way, numbers in sizes.items():
        ranknet(generated(np.array([3000]), 50, [0.2] * 5).dataset(), (), way).epoch(1)
        for n in numbers:
            each = ranknet(generated(np.array([n]), 50, [0.2] * 5).dataset(), (), way)
            times = [seconds(lambda each=each: each.epoch(1)) for _ in range(repeat if way == "factored" else 1)]  # type: ignore[misc]
            found[way][n] = min(times)
    for n in sorted({*sizes["factored"], *sizes["pairs"]}):
        cells = [f"{found[way][n]:.5f} s" if n in found[way] else "" for way in sizes]
        print(f"| {n:,} | {' | '.join(cells)} |")
    slopes = {way: np.polyfit(np.log(list(line)), np.log(list(line.values())), 1)[0] for way, line in found.items()}
    print(f"\nSlopes: V2 {slopes['factored']:.3f} (paper: 1.185), V1 {slopes['pairs']:.3f} (paper: 1.943).", flush=True)


class TorchData(NamedTuple):
    """Standardised documents, and the arrays that the lambdas of NDCG need."""

    X: Any
    gains: Any
    indptr: list[int]
    ideal: list[float]
    """The ideal DCG of each query."""
    discounts: Any


def torch_data(data: Judged, torch: Any) -> TorchData:
    deviation = data.X.std(axis=0, dtype=np.float64)
    scaled = (data.X - data.X.mean(axis=0, dtype=np.float64)) / np.where(deviation > 0, deviation, 1.0)
    gains = (2.0**data.y - 1).astype(np.float32)
    indptr = np.concatenate(([0], np.cumsum(data.sizes))).tolist()
    discounts = np.zeros(int(data.sizes.max()), np.float32)
    discounts[:CUTOFF] = 1 / np.log2(2 + np.arange(min(CUTOFF, len(discounts))))
    ideal = [
        float(np.sort(gains[a:b])[::-1] @ discounts[: b - a]) for a, b in zip(indptr[:-1], indptr[1:], strict=True)
    ]
    X = torch.from_numpy(scaled.astype(np.float32))
    return TorchData(X, torch.from_numpy(gains), indptr, ideal, torch.from_numpy(discounts))


def torch_lambdas(torch: Any, scores: Any, gains: Any, discounts: Any, ideal: float) -> Any:
    """dC/ds of one query: only pairs with a document in the top ten change NDCG@10."""
    n = len(scores)
    k = min(CUTOFF, n)
    ordered, order = torch.sort(scores, descending=True)
    sorted_gains, discounts = gains[order], discounts[:n]
    weights = (sorted_gains[:k, None] - sorted_gains[None, :]) * (discounts[:k, None] - discounts[None, :]) / ideal
    weights = torch.triu(weights, 1)
    pair_lambdas = weights * torch.sigmoid(-torch.sign(weights) * (ordered[:k, None] - ordered[None, :]))
    lambdas = pair_lambdas.sum(0)
    lambdas[:k] -= pair_lambdas.sum(1)
    grad = torch.empty_like(lambdas)
    grad[order] = lambdas
    return grad


def autograd_epoch(torch: Any, data: TorchData, start: list[Any], queries: list[int]) -> Any:
    """An epoch with torch.nn, autograd and torch.optim; returns the weights of the first layer."""
    n_hidden, n_features = start[0].shape
    net = torch.nn.Sequential(
        torch.nn.Linear(n_features, n_hidden), torch.nn.Tanh(), torch.nn.Linear(n_hidden, 1, bias=False)
    )
    with torch.no_grad():
        for parameter, value in zip(net.parameters(), start, strict=True):
            parameter.copy_(value)
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    for q in queries:
        a, b = data.indptr[q], data.indptr[q + 1]
        if data.ideal[q] > 0:
            scores = net(data.X[a:b])[:, 0]
            grad = torch_lambdas(torch, scores.detach(), data.gains[a:b], data.discounts, data.ideal[q])
            optimizer.zero_grad(set_to_none=True)
            scores.backward(grad)
            optimizer.step()
    return net[0].weight.detach()


def by_hand_epoch(torch: Any, data: TorchData, start: list[Any], queries: list[int]) -> Any:
    """An epoch with a hand-written backward pass; returns the weights of the first layer."""
    W, bias, v = (value.clone() for value in start)
    with torch.inference_mode():
        for q in queries:
            a, b = data.indptr[q], data.indptr[q + 1]
            if data.ideal[q] > 0:
                X = data.X[a:b]
                units = torch.tanh(torch.addmm(bias, X, W.t()))
                scores = (units @ v.t())[:, 0]
                grad = torch_lambdas(torch, scores, data.gains[a:b], data.discounts, data.ideal[q])
                deltas = grad[:, None] * v * (1 - units * units)
                v.sub_(grad[None] @ units, alpha=RATE)
                W.sub_(deltas.t() @ X, alpha=RATE)
                bias.sub_(deltas.sum(0), alpha=RATE)
    return W


class Epochs(NamedTuple):
    """An epoch of each implementation: same data, same initial weights, same order of queries.

    Each returns the weights of the first layer. Preparation is done beforehand.
    """

    ours: Callable[[], Any]
    by_hand: Callable[[], Any]
    autograd: Callable[[], Any]


def make_epochs(data: Judged, torch: Any) -> Epochs:
    ranker = sr.LambdaRank(
        "ndcg@10", optimizer="sgd", learning_rate=RATE, normalize=False, pair_weight=0.0, n_threads=1
    )
    dataset, prepared = data.dataset(), torch_data(data, torch)
    net = ranker._new_net(dataset, seed=0)
    (W, bias), (v, _) = layer_weights(net.layers, net.weights)
    start = [torch.from_numpy(part.copy()) for part in (W, bias, v)]
    queries = np.random.default_rng([0, 1]).permutation(len(data.sizes)).tolist()  # The order of our first epoch.
    trainer = ranker._trainer(dataset, net, 0, decays=False)

    def ours() -> Any:
        trainer.weights[:] = net.weights
        trainer.epoch(1)
        return layer_weights(net.layers, trainer.weights)[0][0]

    return Epochs(
        ours,
        lambda: by_hand_epoch(torch, prepared, start, queries).numpy(),
        lambda: autograd_epoch(torch, prepared, start, queries).numpy(),
    )


def report_torch(data: Judged, repeat: int) -> None:
    import torch

    torch.set_num_threads(1)
    few = make_epochs(
        Judged(data.X[: data.sizes[:100].sum()], data.y[: data.sizes[:100].sum()], data.sizes[:100]), torch
    )
    # Over many more steps, a difference in the last digit swaps two documents, and the weights diverge.
    np.testing.assert_allclose(few.by_hand(), few.ours(), atol=1e-4)
    np.testing.assert_allclose(few.autograd(), few.ours(), atol=1e-4)
    epochs = make_epochs(data, torch)
    best = {"swaprank": np.inf, "PyTorch, hand-written backward pass": np.inf, "PyTorch, autograd": np.inf}
    for _ in range(repeat):
        for name, epoch in zip(best, epochs, strict=True):
            best[name] = min(best[name], seconds(epoch))
    shape = f"{len(data.X):,} x {data.X.shape[1]} in {len(data.sizes):,} queries"
    print(f"\n| one epoch, {shape}, PyTorch {version('torch')} | seconds | times swaprank |\n|---|---:|---:|")
    for name, took in best.items():
        print(f"| {name} | {took:.3f} | {took / best['swaprank']:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=["speedup", "growth", "torch"])
    parser.add_argument("--data", type=Path, help="folder with train.npz for the comparison with PyTorch")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    print(f"{machine('numba')}.")
    if "speedup" in options.tables:
        report_speedup(options.repeat)
    if "growth" in options.tables:
        report_growth(options.repeat)
    if "torch" in options.tables:
        if options.data:
            with np.load(options.data / "train.npz") as arrays:
                data = Judged(arrays["X"], arrays["y"].astype(float), arrays["sizes"])
        else:
            sizes = np.random.default_rng(0).poisson(120, 1000).astype(np.int64)
            data = generated(sizes, 136, [0.52, 0.32, 0.13, 0.02, 0.01])
        report_torch(data, options.repeat)
    print(f"\nAt the end: load {os.getloadavg()[0]:.1f}.")


if __name__ == "__main__":
    main()
