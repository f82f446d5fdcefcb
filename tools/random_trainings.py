"""Random trainings for `cluster_trials.py`: data, a ranker and a division of the queries, from plain values."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import swaprank as sr
from swaprank.cluster.parts import Parts
from swaprank.cluster.shard import fit_on_shard, make_shard
from swaprank.collective import Collective
from swaprank.data import cuts
from swaprank.trees import boosting

Configuration = dict[str, Any]
"""Plain JSON values, from which every process makes the same data and the same ranker."""

_METRICS = ("ndcg@10", "ndcg", "map", "mrr", "err", "ndcg@3(gain=linear)", "rbp", "pairwise")
_LOSSES = ("squared", "logistic", "balanced_logistic")


def random_configuration(seed: int, most_workers: int = 5) -> Configuration:
    """A training with a few trees on a few queries."""
    rng = np.random.default_rng(seed)

    def pick(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    size = int(rng.integers(1, most_workers + 1))
    kind = pick("LambdaMART", "LambdaMART", "MART", "RandomForest")
    data = {
        "queries": int(rng.integers(max(6, size), 60)),
        "longest": pick(2, 10, 40),
        "features": int(rng.integers(1, 21)),
        "distinct": pick(0, 0, 3, 20),
        "missing": pick(0.0, 0.0, 0.1, 0.7),
        "categories": [] if rng.random() < 0.5 else [pick(2, 5, 40, 300) for _ in range(rng.integers(1, 3))],
        "weights": bool(rng.random() < 0.4),
        "base_scores": bool(rng.random() < 0.2),
        "pairs": bool(kind == "LambdaMART" and rng.random() < 0.2),
        "docids": bool(rng.random() < 0.4),
        "labels": pick(2, 4, 0),
    }
    parameters: dict[str, Any] = {"n_trees": int(rng.integers(1, 7)), "random_state": int(rng.integers(1000))}
    parameters |= {"metric": pick(*_METRICS), "max_bins": pick(255, 255, 30, 4)}
    parameters |= {"min_docs_in_leaf": pick(1, 5, 20), "n_leaves": pick(2, 4, 9, 31)}
    parameters |= {"document_fraction": pick(None, 1.0, 0.5, 0.2), "query_fraction": pick(1.0, 1.0, 0.6)}
    parameters |= {"feature_fraction": pick(1.0, 0.5), "max_depth": pick(None, 2, 5), "split_noise": pick(0.0, 1.0)}
    if kind != "RandomForest":
        parameters |= {"split": pick("newton", "newton", "least_squares"), "l2": pick(0.0, 1.0)}
        parameters |= {"leaf_smoothing": pick(20.0, 0.0), "learning_rate": pick(0.1, 0.5)}
    if kind == "LambdaMART":
        parameters["score_noise"] = pick(0.0, 0.5)
        of_objective = {"normalize": pick(True, False), "horizon": pick(30, 3)}
        parameters |= {"objective": "pairs"} if data["pairs"] else of_objective
    if kind == "MART":
        parameters["objective"] = pick(*_LOSSES)
    if not data["categories"]:
        parameters["grow_policy"] = pick("leafwise", "symmetric")
        if parameters["grow_policy"] == "leafwise" and rng.random() < 0.3:
            parameters["monotone_constraints"] = [pick(-1, 0, 1) for _ in range(data["features"])]
    sets = int(rng.integers(0, 3))
    if sets and rng.random() < 0.5:
        parameters["early_stopping_rounds"] = pick(1, 2)
    return {
        "seed": seed,
        "kind": kind,
        "data": data,
        "parameters": parameters,
        "sets": sets,
        "size": size,
        "threads": int(rng.integers(1, 4)),
        "parts": bool(rng.random() < 0.5),
        "cut_sample": pick(100, 200_000),
    }


def judged(configuration: Configuration, number: int, *, shuffled: bool) -> sr.Dataset:
    """The training data, 0, or a validation set; with ids, the rows may be in another order."""
    given, seed = configuration["data"], configuration["seed"]
    rng = np.random.default_rng((seed, number))
    lengths = rng.geometric(2 / (1 + given["longest"]), given["queries"]).clip(1, given["longest"])
    query = np.repeat(rng.permutation(given["queries"]), lengths)
    n = len(query)
    X = rng.normal(size=(n, given["features"]))
    labels = rng.integers(0, given["labels"], n) if given["labels"] else rng.random(n).round(2)
    # At least one query has two labels.
    labels = np.where(np.arange(n) == 0, labels.max() + 1, labels)
    query[: min(n, 2)] = query[0]
    X[:, 0] += labels
    X = np.floor(X * given["distinct"]) if given["distinct"] else X
    X[rng.random(X.shape) < given["missing"]] = np.nan
    columns = [rng.zipf(1.3, n) % most for most in given["categories"]]
    X = np.column_stack((X, *columns))
    pairs = None
    if given["pairs"]:
        first = np.arange(n - 1)[query[1:] == query[:-1]]
        pairs = np.column_stack((first, first + 1, rng.random(len(first)), rng.random(len(first))))
    weights, scores, ids = rng.random(n), rng.random(n).round(3), rng.permutation(n)
    order = np.arange(n)
    if shuffled and given["docids"]:
        order = np.random.default_rng((seed, number, 1)).permutation(n)
        if pairs is not None:
            at = np.argsort(order)
            pairs[:, 0], pairs[:, 1] = at[pairs[:, 0].astype(int)], at[pairs[:, 1].astype(int)]
    return sr.Dataset(
        X[order],
        labels[order],
        qid=[f"q{each}" for each in query[order]],
        sample_weight=weights[order] if given["weights"] else None,
        base_score=scores[order] if given["base_scores"] else None,
        docid=ids[order] if given["docids"] else None,
        pairs=pairs,
        categorical_features=list(range(given["features"], X.shape[1])),
    )


def ranker_of(configuration: Configuration, n_threads: int) -> Any:
    """A ranker that is not fitted."""
    parameters = dict(configuration["parameters"])
    if parameters.get("objective") == "pairs":
        parameters["objective"] = sr.objectives.RankNetObjective()
    makers: dict[str, Callable[..., Any]] = {
        "LambdaMART": sr.LambdaMART,
        "MART": sr.MART,
        "RandomForest": sr.baselines.RandomForest,
    }
    return makers[configuration["kind"]](n_threads=n_threads, **parameters)


def divided(data: sr.Dataset, size: int, seed: Sequence[int]) -> list[sr.Dataset]:
    """Some queries for each worker, at least one; sizes differ."""
    rng = np.random.default_rng(seed)
    owner = rng.choice(size, data.n_queries, p=rng.dirichlet(np.ones(size)))
    owner[rng.choice(data.n_queries, size, replace=False)] = np.arange(size)
    return [data.subset(owner == rank) for rank in range(size)]


def train_alone(configuration: Configuration) -> str:
    """The hash of the model of one process, or an error."""
    _prepare(configuration)
    sets = {f"set {number}": judged(configuration, number, shuffled=False) for number in _sets(configuration)}
    return _outcome(
        lambda: ranker_of(configuration, 1 + configuration["seed"] % 2).fit(
            judged(configuration, 0, shuffled=False), valid=sets or None
        )
    )


def train_share(configuration: Configuration, collective: Collective) -> str:
    """The hash of the model of one worker of several, or an error."""
    _prepare(configuration)
    rank, size, seed = collective.rank, configuration["size"], configuration["seed"]

    def share(number: int) -> list[sr.Dataset]:
        return divided(judged(configuration, number, shuffled=True), size, (seed, number, 2))

    def fit() -> Any:
        ranker = ranker_of(configuration, 1 + (configuration["threads"] + rank) % 3)
        if not configuration["parts"]:
            valid = {f"set {number}": share(number)[rank] for number in _sets(configuration)}
            return ranker.fit_shard(share(0)[rank], valid, collective)
        sets = {f"set {number}": Parts(share(number)).parts for number in _sets(configuration)}
        train = [Parts([each]).parts[0] for each in divided(share(0)[rank], 1, (seed, 3))]
        fit_on_shard(ranker, collective, make_shard(rank, size, train, sets))
        return ranker

    return _outcome(fit)


def _sets(configuration: Configuration) -> range:
    return range(1, configuration["sets"] + 1)


def _prepare(configuration: Configuration) -> None:
    """Small data is to be sampled, and divided among threads, as large data is."""
    cuts.CUT_SAMPLE = configuration["cut_sample"]
    boosting._VALUES_TO_SHARE = 0


def _outcome(fit: Callable[[], Any]) -> str:
    try:
        ranker = fit()
    except sr.errors.ClusterError:
        raise
    except sr.errors.SwaprankError as error:
        return f"{type(error).__name__}: {error}"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model"
        ranker.set_params(n_threads=None).save(file)
        return hashlib.sha256(file.read_bytes()).hexdigest()
