"""The worth of categorical and monotone columns: NDCG@10 with and without them, here, in LightGBM and in CatBoost.

The order of the libraries depends on the number of leaves: try more than one.

    python benchmarks/columns.py [FOLDER] [--sets …] [--learners …] [--seeds 3]

The generated sets differ in one column. `8 categories` and `100 categories`: it shifts the relevance and turns the
effect of a number around. `5,000 ids`: it shifts the relevance, and few ids are frequent (Zipf's law). `5,000 ids of
noise`: ids without any effect, which must not hurt. `6 monotone columns`: few queries with noisy labels, which rise
with four of the columns and fall with two. FOLDER, if given, holds mq2008 (Fold1 to Fold5): its ids of documents begin
with the bundle of the web crawl, 273 different ones, which is added as a column.

The table has the test NDCG@10 with the column declared (as category, or as monotone); in brackets, the change without
the column, or without the constraint. All libraries grow equally many trees with equally many leaves (CatBoost's trees
are symmetric: of the depth with as many leaves) and the same learning rate; all other parameters are their defaults.
Each seed has data of its own; on mq2008, each fold is a seed. Differences are those of swaprank from the others, over
all test queries, with 95% intervals.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import catboost
import lightgbm
import numpy as np
import pandas as pd
from recording import Recording, add_record

import swaprank as sr
from swaprank.arrays import AnyArray, Floats

METRIC = sr.metric("ndcg@10")
N_NUMBERS = 8


class Part(NamedTuple):
    """Rows that are grouped by query."""

    table: pd.DataFrame
    labels: Floats
    qid: AnyArray

    @property
    def group(self) -> AnyArray:
        """The number of rows of each query."""
        return np.unique(self.qid, return_counts=True)[1]


@dataclass(frozen=True)
class Task:
    """Data to learn from and to test on, and what is known of its columns."""

    train: Part
    test: Part
    column: str | None = None
    """The categorical one."""
    signs: dict[str, int] = field(default_factory=dict)
    """1 for columns with which relevance rises, -1 for those with which it falls."""

    def without(self) -> Task:
        """The same data without the column, or without constraints."""
        if self.column is None:
            return Task(self.train, self.test)
        tables = [part.table.drop(columns=self.column) for part in (self.train, self.test)]
        return Task(self.train._replace(table=tables[0]), self.test._replace(table=tables[1]))


class Setting(NamedTuple):
    """The parameters of all learners."""

    n_trees: int
    n_leaves: int
    learning_rate: float
    seed: int
    n_threads: int


Learner = Callable[[Task, Setting], Floats]
"""Returns the scores of the test rows."""


def learn_swaprank(task: Task, setting: Setting) -> Floats:
    options: dict[str, Any] = {"monotone_constraints": task.signs} if task.signs else {}
    ranker = sr.LambdaMART(
        n_trees=setting.n_trees,
        n_leaves=setting.n_leaves,
        learning_rate=setting.learning_rate,
        random_state=setting.seed,
        n_threads=setting.n_threads,
        **options,
    )
    train = sr.Dataset(task.train.table, task.train.labels, qid=task.train.qid)
    return np.asarray(ranker.fit(train).predict(task.test.table))


def learn_lightgbm(task: Task, setting: Setting) -> Floats:
    options: dict[str, Any] = {
        "objective": "lambdarank",
        "num_leaves": setting.n_leaves,
        "learning_rate": setting.learning_rate,
        "seed": setting.seed,
        "num_threads": setting.n_threads,
        "verbose": -1,
    }
    if task.signs:
        options["monotone_constraints"] = [task.signs.get(name, 0) for name in task.train.table]
    train = lightgbm.Dataset(task.train.table, task.train.labels, group=task.train.group)
    return np.asarray(lightgbm.train(options, train, setting.n_trees).predict(task.test.table))


def learn_catboost(task: Task, setting: Setting) -> Floats:
    options: dict[str, Any] = {
        "loss_function": "YetiRank",
        "iterations": setting.n_trees,
        "depth": int(np.ceil(np.log2(setting.n_leaves))),
        "learning_rate": setting.learning_rate,
        "random_seed": setting.seed,
        "thread_count": setting.n_threads,
        "allow_writing_files": False,
        "verbose": False,
    }
    if task.signs:
        options["monotone_constraints"] = [task.signs.get(name, 0) for name in task.train.table]
    text = {} if task.column is None else {task.column: str}
    train, test = (
        catboost.Pool(part.table.astype(text), part.labels, group_id=part.qid, cat_features=list(text))
        for part in (task.train, task.test)
    )
    return np.asarray(catboost.CatBoost(options).fit(train).predict(test))


LEARNERS: dict[str, Learner] = {"swaprank": learn_swaprank, "LightGBM": learn_lightgbm, "CatBoost": learn_catboost}


def part_of(rng: np.random.Generator, numbers: Floats, relevance: Floats, n_documents: int, noise: float) -> Part:
    """Five labels, of which the higher ones are rarer, from relevance with noise."""
    noisy = relevance / relevance.std() + noise * rng.normal(size=len(relevance))
    labels = np.searchsorted(np.quantile(noisy, [0.55, 0.8, 0.92, 0.98]), noisy).astype(float)
    table = pd.DataFrame({f"x{at}": column for at, column in enumerate(numbers.T)})
    return Part(table, labels, np.arange(len(labels)) // n_documents)


def rows_of(part: Part, rows: AnyArray) -> Part:
    return Part(part.table[rows].reset_index(drop=True), part.labels[rows], part.qid[rows])


def task_of(part: Part, n_train: int, **known: Any) -> Task:
    return Task(rows_of(part, part.qid < n_train), rows_of(part, part.qid >= n_train), **known)


def with_categories(
    rng: np.random.Generator, n_categories: int, *, n_queries: int, zipf: float, shift: float, turn: float
) -> Task:
    """Relevance from numbers, a shift for each category, and a number whose effect depends on the category."""
    n = 2 * n_queries * 25
    numbers, frequencies = rng.normal(size=(n, N_NUMBERS)), 1.0 / np.arange(1, n_categories + 1) ** zipf
    codes = rng.choice(n_categories, n, p=frequencies / frequencies.sum())
    shifts, turns = shift * rng.normal(size=n_categories), turn * rng.normal(size=n_categories)
    relevance = numbers[:, 0] + 0.7 * np.abs(numbers[:, 1]) + 0.5 * numbers[:, 2] * numbers[:, 3]
    relevance = relevance + shifts[codes] + turns[codes] * numbers[:, 4]
    part = part_of(rng, numbers, relevance, 25, 0.5)
    # Names say nothing about effects: codes in order of first appearance neither.
    values = pd.Categorical(codes, categories=pd.unique(pd.Series(codes)))
    part = part._replace(table=part.table.assign(category=values.rename_categories(lambda code: f"c{code}")))
    return task_of(part, n_queries, column="category")


def monotone(rng: np.random.Generator) -> Task:
    """Price and freshness: relevance rises with four columns, falls with two, and labels are noisy."""
    n_train, n_test, n_documents = 60, 400, 20
    numbers = rng.normal(size=((n_train + n_test) * n_documents, N_NUMBERS))
    rising = np.tanh(numbers[:, :4]).sum(axis=1) + np.maximum(numbers[:, 0], 0.0)
    relevance = rising - numbers[:, 4] - np.exp(0.5 * numbers[:, 5]) + np.sin(2.0 * numbers[:, 6])
    part = part_of(rng, numbers, relevance, n_documents, 1.0)
    return task_of(part, n_train, signs={f"x{at}": 1 if at < 4 else -1 for at in range(6)})


SETS: dict[str, Callable[[np.random.Generator], Task]] = {
    "8 categories": lambda rng: with_categories(rng, 8, n_queries=400, zipf=0.0, shift=1.0, turn=1.0),
    "100 categories": lambda rng: with_categories(rng, 100, n_queries=400, zipf=0.5, shift=1.0, turn=1.0),
    "5,000 ids": lambda rng: with_categories(rng, 5000, n_queries=600, zipf=1.0, shift=1.5, turn=0.0),
    "5,000 ids of noise": lambda rng: with_categories(rng, 5000, n_queries=400, zipf=0.0, shift=0.0, turn=0.0),
    "6 monotone columns": monotone,
}


def with_bundles(path: Path) -> Part:
    data = sr.read_letor(path)
    table = pd.DataFrame(data.features, columns=[f"x{at}" for at in range(data.n_features)])
    table["bundle"] = pd.Series(data.docid).str.split("-").str[0]
    return Part(table, data.labels, np.repeat(np.arange(data.n_queries), np.diff(data.indptr)))


def mq2008(folder: Path) -> Iterator[Task]:
    for number in range(1, 6):
        train, test = (with_bundles(folder / f"Fold{number}" / f"{name}.txt") for name in ("train", "test"))
        known = {"bundle": pd.CategoricalDtype(pd.unique(pd.concat([train.table["bundle"], test.table["bundle"]])))}
        train, test = (part._replace(table=part.table.astype(known)) for part in (train, test))
        yield Task(train, test, column="bundle")


def tasks_of(name: str, options: argparse.Namespace) -> Iterator[Task]:
    if name == "mq2008":
        return mq2008(options.folder / name)
    return (SETS[name](np.random.default_rng(seed)) for seed in range(options.seeds))


def per_query(part: Part, scores: Floats) -> Floats:
    return METRIC.per_query(part.labels, scores, np.concatenate(([0], np.cumsum(part.group))))


def measured(name: str, options: argparse.Namespace) -> dict[tuple[str, bool], Floats]:
    """NDCG@10 of all test queries, by the learner and whether the column was declared."""
    found: dict[tuple[str, bool], list[Floats]] = {}
    for seed, task in enumerate(tasks_of(name, options)):
        setting = Setting(options.trees, options.leaves, options.rate, seed, options.threads)
        for learner in options.learners:
            start = time.perf_counter()
            for declared, given in ((True, task), (False, task.without())):
                values = per_query(given.test, LEARNERS[learner](given, setting))
                found.setdefault((learner, declared), []).append(values)
            print(f"{name}, {seed}, {learner}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return {key: np.concatenate(each) for key, each in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--sets", nargs="+", choices=[*SETS, "mq2008"])
    parser.add_argument("--learners", nargs="+", choices=list(LEARNERS), default=list(LEARNERS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--leaves", type=int, default=16)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--threads", type=int, default=2)
    add_record(parser)
    options = parser.parse_args()
    with Recording(options, "lightgbm", "catboost") as recording:
        trees = f"{options.trees} trees of {options.leaves} leaves, learning rate {options.rate:g}"
        recording.says(f"Test NDCG@10; {trees}; {options.seeds} seeds (mq2008: five folds)")
        first, *others = options.learners
        differences = (f"{first} minus {other}, 95%" for other in others)
        table = recording.table("columns", "", *options.learners, *differences)
        for name in options.sets or [*SETS, *(["mq2008"] if options.folder else [])]:
            found = measured(name, options)
            means = {learner: found[learner, True].mean() for learner in options.learners}
            cells = []
            for learner, mean in means.items():
                shown = f"**{mean:.4f}**" if mean == max(means.values()) else f"{mean:.4f}"
                cells.append(f"{shown} ({found[learner, False].mean() - mean:+.4f})")
            table.add(name, *cells, *(interval(found[first, True] - found[other, True]) for other in others))


def interval(difference: Floats) -> str:
    return f"{difference.mean():+.4f} ± {1.96 * difference.std() / np.sqrt(len(difference)):.4f}"


if __name__ == "__main__":
    main()
