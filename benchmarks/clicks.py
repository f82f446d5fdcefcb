"""Claim: training on clicks is never worse than naive training; with many sessions it closes most of the gap to labels.

    python benchmarks/clicks.py FOLDER --results results.jsonl [--figure clicks.svg] [--sets mq2008 generated]
        [--bias mild strong trust cascade dbn] [--sessions 100 1000 10000 100000 1000000] [--learners naive ...]
        [--seeds 5]

FOLDER holds mq2008 (Fold1 to Fold5, each with train.txt and test.txt). Generated data is random_search with 300 queries
of 20 documents. A weak production ranker (a regression on a thirtieth of the queries) ranks the training queries, with
noise that differs from session to session, and simulated people click on ten places: place k is examined with
probability (1/k)^0.5 (mild), (1/k)^1.5 (strong), or 1/k with trust bias (documents that are not relevant are clicked
with probability 0.3/k if they are examined). With cascade and dbn, people stop reading after clicks, which no learner
here assumes. All learners but preferences train 100 trees of 15 leaves with a learning rate of 0.1:

    labels       LambdaMART on the judgements, as if clicks were not needed
    naive        LambdaMART on click rates
    train        sr.clicks.train without propensities: one call, the default
    estimated    LambdaMART on sr.clicks.unbiased with the propensities that sr.clicks.position_bias finds in the log,
                 by method="trust" if there is trust bias; no result where the log cannot tell them
    true         the same with the propensities of the simulation
    preferences  RankNet without hidden layers on sr.clicks.preferences
    lightgbm     LightGBM's lambdarank with `position`: sessions are queries, clicks are labels
    xgboost      XGBoost's rank:ndcg with `lambdarank_unbiased`, likewise

Test NDCG@10 is measured with judgements, which no learner but the first has seen. Differences from naive and from
labels are paired by test query over all seeds (folds), with 95% intervals. These count queries as independent, though
all queries of a seed share one model: with few sessions, intervals are too short. Each run is a line of the results
file; runs that it has already are not repeated, so that a long comparison can be interrupted.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.evaluation.significance import mean_interval
from swaprank.rendering.figures import save_figure
from swaprank.rendering.tables import text_table

METRIC = "dcg@10(gain=linear)"
TREES: dict[str, Any] = {"n_trees": 100, "n_leaves": 15, "learning_rate": 0.1, "n_threads": 1}
BIASES: dict[str, dict[str, Any]] = {
    "mild": {"bias": 0.5}, "strong": {"bias": 1.5}, "trust": {"bias": 1.0, "trust": 0.3},
    "cascade": {"model": "cascade"}, "dbn": {"model": "dbn"},
}  # fmt: skip
SMALLEST_GAP = 0.005


class Clicks(NamedTuple):
    """The data of a learner."""

    train: sr.Dataset
    log: sr.clicks.ClickLog
    truth: sr.clicks.Propensities
    has_trust: bool
    seed: int


Scorer = Callable[[sr.Dataset], Floats]
Learner = Callable[[Clicks], Scorer]


def mart(given: Clicks, data: sr.Dataset) -> Scorer:
    return sr.LambdaMART(METRIC, **TREES, random_state=given.seed).fit(data).predict


def learn_labels(train: sr.Dataset, seed: int) -> Scorer:
    return sr.LambdaMART("ndcg@10", **TREES, random_state=seed).fit(train).predict


def learn_naive(given: Clicks) -> Scorer:
    return mart(given, sr.clicks.unbiased(given.log, sr.clicks.Propensities(np.ones(given.log.max_position))))


def learn_estimated(given: Clicks) -> Scorer:
    bias = sr.clicks.position_bias(given.log, "trust" if given.has_trust else "harvest", n_resamples=0)
    return mart(given, sr.clicks.unbiased(given.log, bias))


def learn_true(given: Clicks) -> Scorer:
    return mart(given, sr.clicks.unbiased(given.log, given.truth))


def learn_train(given: Clicks) -> Scorer:
    ranker = sr.LambdaMART(METRIC, **TREES, random_state=given.seed)
    return sr.clicks.train(ranker, given.log).ranker.predict


def learn_preferences(given: Clicks) -> Scorer:
    ranker = sr.RankNet(hidden=(), n_epochs=20, random_state=given.seed)
    return ranker.fit(sr.clicks.preferences(given.log)).predict


def session_rows(log: sr.clicks.ClickLog) -> dict[str, Any]:
    """One row per shown document, as the other libraries want it: sessions are their queries."""
    assert log.features is not None
    return {"data": log.features[log.document], "label": log.click, "group": np.diff(log.indptr)}


def learn_lightgbm(given: Clicks) -> Scorer:
    import lightgbm

    options = {"objective": "lambdarank", "num_leaves": 15, "learning_rate": 0.1, "num_threads": 1, "verbose": -1}
    rows = lightgbm.Dataset(**session_rows(given.log), position=given.log.position - 1)
    booster = lightgbm.train(options, rows, 100)
    return lambda data: np.asarray(booster.predict(data.features), dtype=np.float64)


def learn_xgboost(given: Clicks) -> Scorer:
    import xgboost

    options = {
        "objective": "rank:ndcg", "lambdarank_unbiased": True, "tree_method": "hist", "grow_policy": "lossguide",
        "max_leaves": 15, "max_depth": 0, "eta": 0.1, "nthread": 1,
    }  # fmt: skip
    # Rows of a session are in the order of their positions, as lambdarank_unbiased expects.
    rows = xgboost.QuantileDMatrix(**session_rows(given.log))
    booster = xgboost.train(options, rows, 100)
    return lambda data: np.asarray(booster.predict(xgboost.DMatrix(data.features)), dtype=np.float64)


LEARNERS: dict[str, Learner] = {
    "naive": learn_naive, "train": learn_train, "estimated": learn_estimated, "true": learn_true,
    "preferences": learn_preferences, "lightgbm": learn_lightgbm, "xgboost": learn_xgboost,
}  # fmt: skip


def judged(folder: Path, name: str, seed: int) -> tuple[sr.Dataset, sr.Dataset]:
    if name == "generated":
        train, test = sr.datasets.random_search((300, 300), n_documents=20, random_state=seed)
        return train, test
    fold = folder / name / f"Fold{1 + seed % 5}"
    return sr.read(fold / "train.txt"), sr.read(fold / "test.txt")


def simulated(train: sr.Dataset, bias: str, n_sessions: int, seed: int) -> Clicks:
    few = np.random.default_rng(seed).choice(train.n_queries, train.n_queries // 30, replace=False)
    production = sr.LinearRegressionRanker(regularization=1.0).fit(train.subset(np.sort(few)))
    log, truth = sr.datasets.clicks(train, production, n_sessions, moves=0.5, random_state=seed, **BIASES[bias])
    return Clicks(train, log, truth.propensities, "trust" in BIASES[bias], seed)


def run(arguments: argparse.Namespace) -> None:
    """Run what the results file lacks, and append it."""
    done = {(r["set"], r["bias"], r["sessions"], r["seed"], r["learner"]) for r in read(arguments.results)}
    for name in arguments.sets:
        for seed in range(arguments.seeds):
            train, test = judged(arguments.folder, name, seed)
            if (name, "none", 0, seed, "labels") not in done:
                record(arguments.results, (name, "none", 0, seed, "labels"), test, partial(learn_labels, train, seed))
            for bias, n_sessions in itertools.product(arguments.bias, arguments.sessions):
                todo = [each for each in arguments.learners if (name, bias, n_sessions, seed, each) not in done]
                if todo:
                    given = simulated(train, bias, n_sessions, seed)
                for each in todo:
                    run_of = (name, bias, n_sessions, seed, each)
                    record(arguments.results, run_of, test, partial(LEARNERS[each], given))


def record(path: Path, run_of: tuple[Any, ...], test: sr.Dataset, learn: Callable[[], Scorer]) -> None:
    start = time.process_time()
    try:
        score = learn()
    except sr.errors.DataError as error:
        print(*run_of, error, flush=True)
        return
    cpu = time.process_time() - start
    ndcg = sr.evaluate(test, score(test), "ndcg@10").results[0].per_query.round(6).tolist()
    row = dict(zip(("set", "bias", "sessions", "seed", "learner"), run_of, strict=True)) | {"cpu": cpu, "ndcg": ndcg}
    with path.open("a") as stream:
        stream.write(json.dumps(row) + "\n")
    print(*run_of, f"{np.mean(ndcg):.4f}", f"{cpu:.1f}s", flush=True)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class Cell(NamedTuple):
    """One learner on one set with one bias and one number of sessions, over all its seeds."""

    n_seeds: int
    ndcg: float
    to_labels: Floats
    """The difference from labels of each query of each seed."""
    to_naive: Floats
    cpu: float

    def closed(self) -> str:
        """The share of the gap between naive and labels that is closed; a dash if there is hardly a gap."""
        gap = float(self.to_naive.mean() - self.to_labels.mean())
        return f"{self.to_naive.mean() / gap:.0%}" if gap > SMALLEST_GAP else "-"


def cell(results: list[dict[str, Any]], name: str, bias: str, n_sessions: int, learner: str) -> Cell | None:
    def of(which: str, *where: Any) -> dict[int, Floats]:
        rows = [
            r for r in results if r["learner"] == which and (which == "labels" or (r["bias"], r["sessions"]) == where)
        ]
        return {r["seed"]: np.array(r["ndcg"]) for r in rows if r["set"] == name}

    ours, labels, naive = of(learner, bias, n_sessions), of("labels"), of("naive", bias, n_sessions)
    seeds = [seed for seed in ours if seed in naive]
    if not seeds:
        return None
    values, judged, plain = (np.concatenate([each[seed] for seed in seeds]) for each in (ours, labels, naive))
    key = (name, bias, n_sessions, learner)
    cpu = min(r["cpu"] for r in results if (r["set"], r["bias"], r["sessions"], r["learner"]) == key)
    return Cell(len(seeds), float(values.mean()), values - judged, values - plain, cpu)


def show(results: list[dict[str, Any]], arguments: argparse.Namespace) -> None:
    table, below = [], {learner: [0, 0] for learner in LEARNERS}
    for name, bias, n_sessions, learner in itertools.product(arguments.sets, BIASES, arguments.sessions, LEARNERS):
        found = cell(results, name, bias, n_sessions, learner)
        if found is not None:
            (low, high), (lowest, highest) = mean_interval(found.to_naive), mean_interval(found.to_labels)
            below[learner][0] += high < 0
            below[learner][1] += 1
            table.append([
                name, bias, f"{n_sessions:,}", learner, str(found.n_seeds), f"{found.ndcg:.4f}",
                f"{found.to_naive.mean():+.4f}", f"{low:+.4f} to {high:+.4f}",
                f"{found.to_labels.mean():+.4f}", f"{lowest:+.4f} to {highest:+.4f}", found.closed(),
                f"{found.cpu:.1f}",
            ])  # fmt: skip
    header = [
        "set", "bias", "sessions", "learner", "seeds", "ndcg@10", "to naive", "95% interval", "to labels",
        "95% interval", "gap closed", "cpu s",
    ]  # fmt: skip
    print(text_table(header, table, left=4))
    print()
    for learner, (worse, cells) in below.items():
        if cells and learner != "naive":
            print(f"{learner}: the interval to naive is below 0 in {worse} of {cells} rows")


def draw(results: list[dict[str, Any]], arguments: argparse.Namespace) -> None:
    """NDCG@10 minus that of labels against the number of sessions, one panel for each set and bias."""
    from matplotlib.figure import Figure

    n_sets = len(arguments.sets)
    figure = Figure(figsize=(15, 3.1 * n_sets), layout="constrained")
    panels = figure.subplots(n_sets, len(BIASES), squeeze=False, sharex=True)
    colors = {"naive": "#999", "train": "#1a7f5a", "true": "#7ac", "lightgbm": "#b3452c", "xgboost": "#c9932c"}
    for (row, name), (column, bias) in itertools.product(enumerate(arguments.sets), enumerate(BIASES)):
        axes = panels[row][column]
        for shift, (learner, color) in enumerate(colors.items()):
            cells = {n: cell(results, name, bias, n, learner) for n in arguments.sessions}
            points = [
                (n, found.to_labels.mean(), *mean_interval(found.to_labels)) for n, found in cells.items() if found
            ]
            if points:
                x, y, low, high = np.array(points).T
                x = x * 1.05 ** (shift - 2)  # so that intervals do not hide each other
                axes.plot(x, y, color=color, marker="o", markersize=3, label=learner)
                axes.vlines(x, low, high, color=color, linewidth=1, alpha=0.6)
        axes.axhline(0, color="#333", linewidth=0.8)
        axes.set(xscale="log", title=f"{name}, {bias} bias", xlabel="sessions")
        axes.grid(visible=True, alpha=0.3)
        if column == 0:
            axes.set_ylabel("NDCG@10, difference from labels")
    handles, names = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names))
    save_figure(panels[0][0], arguments.figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--sets", nargs="*", default=["mq2008", "generated"])
    parser.add_argument("--bias", nargs="*", default=list(BIASES), choices=list(BIASES))
    parser.add_argument("--sessions", nargs="*", type=int, default=[100, 1000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--learners", nargs="*", default=list(LEARNERS), choices=list(LEARNERS))
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    run(arguments)
    results = read(arguments.results)
    show(results, arguments)
    if arguments.figure is not None:
        draw(results, arguments)


if __name__ == "__main__":
    main()
