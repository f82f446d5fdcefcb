"""Claims: factored RankNet is many times faster than pairwise RankNet; LambdaRank takes a fifth of PyTorch's time.

    python benchmarks/nets.py [--tables speedup growth torch] [--data FOLDER] [--repeat 5]

    speedup   an epoch of RankNet on 1000 queries of 26 documents with 367 features and five labels, the shape of
              [Burges2006, 6.1]: "pairs" (V1, two forward and two backward passes per pair) over "factored" (V2), both
              with one step per query
    growth    an epoch of a linear RankNet on one list of 1,000 to 256,000 documents with 50 features, V1 up to 8,000;
              the slopes are those of log seconds by log documents
    torch     an epoch of LambdaRank for NDCG@10, 136-10-1, plain gradient descent with one step per query, against
              PyTorch: with autograd and torch.optim, and with a hand-written backward pass. FOLDER has train.npz with
              X, y and sizes (documents per query); without it, data of a similar shape is generated. PyTorch gets
              standardised features; swaprank standardises during the epoch. All start with the same weights and use the
              same order of queries; after a hundred queries their weights must agree. Without PyTorch, it is left out.

All use one thread. The fastest of several epochs counts; the libraries take turns.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from recording import Recording, add_record

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


def report_speedup(recording: Recording, repeat: int) -> None:
    data = generated(np.full(1000, 26), 367, [0.5, 0.23, 0.16, 0.08, 0.03]).dataset()
    pairs = sum(
        int((data.labels[rows][:, None] > data.labels[rows][None, :]).sum()) for rows in map(data.rows, range(1000))
    )
    title = f"Epoch of RankNet, 1,000 queries, {pairs:,} pairs"
    table = recording.table("speedup", title, "Seconds, by pairs", "Factored", "Ratio", "Ratio in the paper")
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
        table.add(shape, f"{best['pairs']:.4f}", f"{best['factored']:.4f}", f"{ratio:.1f}", paper)


def report_growth(recording: Recording, repeat: int) -> None:
    sizes: dict[Training, list[int]] = {
        "factored": [1000 * 4**i for i in range(5)],
        "pairs": [1000 * 2**i for i in range(4)],
    }
    table = recording.table("growth", "Documents in one list", "Seconds an epoch, factored", "By pairs")
    found: dict[Training, dict[int, float]] = {"factored": {}, "pairs": {}}
    for way, numbers in sizes.items():
        ranknet(generated(np.array([3000]), 50, [0.2] * 5).dataset(), (), way).epoch(1)
        for n in numbers:
            each = ranknet(generated(np.array([n]), 50, [0.2] * 5).dataset(), (), way)
            times = [seconds(lambda each=each: each.epoch(1)) for _ in range(repeat if way == "factored" else 1)]  # type: ignore[misc]
            found[way][n] = min(times)
    for n in sorted({*sizes["factored"], *sizes["pairs"]}):
        table.add(f"{n:,}", *(f"{found[way][n]:.5f}" if n in found[way] else "" for way in sizes))
    slopes = [np.polyfit(np.log(list(line)), np.log(list(line.values())), 1)[0] for line in found.values()]
    table.add("Slope in a log-log plot", *(f"{slope:.3f}" for slope in slopes))
    table.add("Slope in the paper", "1.185", "1.943")


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


def report_torch(recording: Recording, data: Judged, repeat: int) -> None:
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
    title = f"Epoch of LambdaRank, {len(data.X):,} x {data.X.shape[1]} in {len(data.sizes):,} queries"
    table = recording.table("torch", title, "Seconds", "Relative")
    for name, took in best.items():
        table.add(name, f"{took:.3f}", f"{took / best['swaprank']:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=["speedup", "growth", "torch"])
    parser.add_argument("--data", type=Path, help="folder with train.npz for the comparison with PyTorch")
    parser.add_argument("--repeat", type=int, default=5)
    add_record(parser)
    options = parser.parse_args()
    with_torch = "torch" in options.tables and find_spec("torch") is not None
    with Recording(options, *(["torch"] if with_torch else [])) as recording:
        recording.says(f"One thread, the fastest of {options.repeat} epochs")
        if "speedup" in options.tables:
            report_speedup(recording, options.repeat)
        if "growth" in options.tables:
            report_growth(recording, options.repeat)
        if with_torch:
            report_torch(recording, judged(options.data), options.repeat)


def judged(folder: Path | None) -> Judged:
    if folder is None:
        sizes = np.random.default_rng(0).poisson(120, 1000).astype(np.int64)
        return generated(sizes, 136, [0.52, 0.32, 0.13, 0.02, 0.01])
    with np.load(folder / "train.npz") as arrays:
        return Judged(arrays["X"], arrays["y"].astype(float), arrays["sizes"])


if __name__ == "__main__":
    main()
