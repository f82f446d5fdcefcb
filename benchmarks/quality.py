"""Claim: with defaults, and with models chosen on vali, no library has a higher test NDCG@10.

    python benchmarks/quality.py FOLDER [--sets mq2008 ohsumed clean …] [--seeds 2] [--grid]
    python benchmarks/quality.py FOLDER --ours squared_error=0 grow_policy=leafwise --peers

Here the defaults are argued: `--ours` compares them with other values of one or more parameters ("l2=1,score_noise=1"),
and an empty `--peers` leaves the other libraries out.

FOLDER holds mq2008 and ohsumed (Fold1 to Fold5, each with train.txt, vali.txt and test.txt), mslr-sample (train.txt and
test.txt, of which each is the test data of the other; a fifth of the training queries is vali, three times),
lightgbm-example (rank.train and rank.test) and shaped (train.npz and valid.npz, as for training.py; shaped500 are its
first 500 queries). `clean` and `noisy` are generated, five data sets each: 300 queries of `random_search`,
and the same with two fifths of the labels redrawn. Every library trains once per fold and seed: trees of 31
leaves (CatBoost, whose trees are symmetric: depth 6, its default) with a learning rate of 0.1, and all other parameters
at the library's defaults. Test NDCG@10 by swaprank's standard convention (gain 2^label - 1, and 0 for queries without a
relevant document)

    100 trees    as they are
    chosen       with the number of trees that is best on vali; with --grid, also from trees of 7, 15 and 31 leaves and
                 learning rates of 0.05 and 0.1

is averaged over folds and seeds. LightGBM and XGBoost do not depend on the seed. Differences are those of swaprank from
each learner, paired by test query, with 95% intervals. The last column is the mean over the sets.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import catboost
import lightgbm
import numpy as np
import xgboost
from recording import Recording, add_record

import swaprank as sr
from swaprank.arrays import AnyArray, Floats
from swaprank.registry import make_ranker

METRIC = sr.metric("ndcg@10")
STAGES = (10, 20, 30, 40, 50, 60, 80, 100, 125, 150, 200, 250, 300)
WAYS = {"chosen": "Number of trees chosen on vali", "100 trees": "100 trees"}
LEAVES, RATES = (31, 15, 7), (0.1, 0.05)


class Fold(NamedTuple):
    """Training, validation and test data."""

    train: sr.Dataset
    vali: sr.Dataset
    test: sr.Dataset


class Setting(NamedTuple):
    """The parameters of all libraries."""

    n_leaves: int
    learning_rate: float
    seed: int
    n_threads: int


Staged = Callable[[sr.Dataset], Floats]
"""Scores of a data set after each of STAGES: one row per stage."""
Learner = Callable[[sr.Dataset, Setting], Staged]


def ours(text: str) -> Learner:
    """swaprank with other parameters than the defaults, such as "l2=5,score_noise=0"."""
    settings = [part for part in text.split(",") if part]

    def learn(train: sr.Dataset, setting: Setting) -> Staged:
        ranker = make_ranker("lambdamart", settings)
        ranker.set_params(
            n_trees=STAGES[-1],
            n_leaves=setting.n_leaves,
            learning_rate=setting.learning_rate,
            random_state=setting.seed,
            n_threads=setting.n_threads,
        )
        model = ranker.fit(train).model_
        return lambda data: model.staged_scores(data.features, STAGES, setting.n_threads)

    return learn


def learn_lightgbm(train: sr.Dataset, setting: Setting) -> Staged:
    options = {
        "objective": "lambdarank",
        "num_leaves": setting.n_leaves,
        "learning_rate": setting.learning_rate,
        "num_threads": setting.n_threads,
        "verbose": -1,
    }
    data = lightgbm.Dataset(train.features, train.labels, group=np.diff(train.indptr))
    booster = lightgbm.train(options, data, STAGES[-1])
    return lambda data: np.stack([booster.predict(data.features, num_iteration=stage) for stage in STAGES])


def learn_xgboost(train: sr.Dataset, setting: Setting) -> Staged:
    options = {
        "objective": "rank:ndcg",
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_leaves": setting.n_leaves,
        "max_depth": 0,
        "eta": setting.learning_rate,
        "nthread": setting.n_threads,
    }
    data = xgboost.DMatrix(train.features, train.labels, group=np.diff(train.indptr))
    booster = xgboost.train(options, data, STAGES[-1])
    return lambda data: np.stack(
        [booster.predict(xgboost.DMatrix(data.features), iteration_range=(0, stage)) for stage in STAGES]
    )


def learn_catboost(train: sr.Dataset, setting: Setting) -> Staged:
    options = {
        "loss_function": "YetiRank",
        "iterations": STAGES[-1],
        "depth": int(np.log2(setting.n_leaves + 1)) + 1,
        "learning_rate": setting.learning_rate,
        "random_seed": setting.seed,
        "thread_count": setting.n_threads,
        "allow_writing_files": False,
        "verbose": False,
    }
    queries = np.repeat(np.arange(train.n_queries), np.diff(train.indptr))
    model = catboost.CatBoost(options).fit(catboost.Pool(train.features, train.labels, group_id=queries))
    return lambda data: np.stack([model.predict(data.features, ntree_end=stage) for stage in STAGES])


PEERS: dict[str, Learner] = {"LightGBM": learn_lightgbm, "XGBoost": learn_xgboost, "CatBoost": learn_catboost}
WITHOUT_SEED = ("LightGBM", "XGBoost")


def folds_of(folder: Path, name: str) -> Iterator[Fold]:
    if name in ("clean", "noisy"):
        yield from generated(name)
    elif name.startswith("shaped"):
        yield from shaped(folder / "shaped", int(name.removeprefix("shaped")))
    else:
        yield from files_of(folder / name)


def files_of(folder: Path) -> Iterator[Fold]:
    # All files are grouped by query, as the other libraries need them.
    for number in range(1, 6):
        part = folder / f"Fold{number}"
        if part.is_dir():
            yield Fold(*(sr.read_letor(part / f"{name}.txt") for name in Fold._fields))
    if (folder / "rank.train").exists():
        train, test = (sr.read_letor(folder / f"rank.{name}", n_features=300) for name in ("train", "test"))
        yield from parted(train, test, (4,))
    elif (folder / "train.txt").exists():
        one, two = (sr.read_letor(folder / f"{name}.txt") for name in ("train", "test"))
        yield from (*parted(one, two, (0, 2, 4)), *parted(two, one, (0, 2, 4)))


def generated(name: str) -> Iterator[Fold]:
    for seed in range(5):
        fold = Fold(*sr.datasets.random_search((300, 100, 200), random_state=seed))
        yield fold if name == "clean" else Fold(*(redrawn(part, seed + k) for k, part in enumerate(fold)))


def redrawn(data: sr.Dataset, seed: int) -> sr.Dataset:
    """The same documents, with two fifths of the labels drawn from all labels."""
    rng = np.random.default_rng(seed)
    other = rng.choice(data.labels, len(data))
    return data.replace(labels=np.where(rng.random(len(data)) < 0.4, other, data.labels))


def shaped(folder: Path, n_queries: int) -> Iterator[Fold]:
    """The first queries of train.npz, the next ones up to 200 as vali, and the first 600 of valid.npz as test data."""
    with np.load(folder / "train.npz") as train, np.load(folder / "valid.npz") as test:
        n_vali = min(200, n_queries // 2)
        yield Fold(
            queries_of(train, 0, n_queries), queries_of(train, n_queries, n_queries + n_vali), queries_of(test, 0, 600)
        )


def queries_of(arrays: Mapping[str, AnyArray], first: int, last: int) -> sr.Dataset:
    sizes = arrays["sizes"]
    rows = slice(int(sizes[:first].sum()), int(sizes[:last].sum()))
    return sr.Dataset(arrays["X"][rows], arrays["y"][rows], group=sizes[first:last])


def parted(train: sr.Dataset, test: sr.Dataset, parts: tuple[int, ...]) -> Iterator[Fold]:
    for part in parts:
        held_out = np.arange(train.n_queries) % 5 == part
        yield Fold(train.subset(~held_out), train.subset(held_out), test)


def per_query(data: sr.Dataset, scores: Floats) -> Floats:
    return METRIC.per_query(data.labels, scores, data.indptr)


def measured(learner: Learner, fold: Fold, settings: list[Setting]) -> Floats:
    """NDCG@10 of each test query: for the model that is best on vali, then for 100 trees of the first setting."""
    best, fixed, chosen = -np.inf, np.empty(0), np.empty(0)
    for number, setting in enumerate(settings):
        staged = learner(fold.train, setting)
        of_vali, of_test = staged(fold.vali), staged(fold.test)
        values = [per_query(fold.vali, scores).mean() for scores in of_vali]
        if number == 0:
            fixed = per_query(fold.test, of_test[STAGES.index(100)])
        if max(values) > best:
            best, chosen = max(values), per_query(fold.test, of_test[int(np.argmax(values))])
    return np.stack([chosen, fixed])


def measured_set(learners: dict[str, Learner], folds: list[Fold], options: argparse.Namespace) -> dict[str, Floats]:
    """NDCG@10 of each learner, for both ways (rows) and each test query of all folds; mean over the seeds."""
    points = itertools.product(LEAVES, RATES) if options.grid else [(LEAVES[0], RATES[0])]
    grid = [Setting(leaves, rate, 0, options.threads) for leaves, rate in points]
    found = {}
    for name, learn in learners.items():
        start, by_seed = time.perf_counter(), []
        for seed in range(1 if name in WITHOUT_SEED else options.seeds):
            settings = [setting._replace(seed=seed) for setting in grid]
            by_seed.append(np.concatenate([measured(learn, fold, settings) for fold in folds], axis=1))
        found[name] = np.mean(by_seed, axis=0)
        print(f"{name}: {found[name].mean(axis=1).round(4)}, {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return found


def interval(difference: Floats) -> str:
    return f"{difference.mean():+.4f} ± {1.96 * difference.std() / np.sqrt(len(difference)):.4f}"


def report(recording: Recording, number: int, heads: list[str], of_sets: list[dict[str, Floats]]) -> None:
    """One table: the means of each learner, the best one in bold, then the differences."""
    way, title = list(WAYS.items())[number]
    table = recording.table(way, title, *heads, "Mean")
    means = {name: np.array([found[name][number].mean() for found in of_sets]) for name in of_sets[0]}
    best = np.max(list(means.values()), axis=0)
    for name, row in means.items():
        cells = [f"**{mean:.4f}**" if mean == top else f"{mean:.4f}" for mean, top in zip(row, best, strict=True)]
        table.add(name, *cells, f"{row.mean():.4f}")
    for name in list(means)[1:]:
        cells = [interval(found["swaprank"][number] - found[name][number]) for found in of_sets]
        table.add(f"swaprank minus {name}, 95%", *cells, f"{(means['swaprank'] - means[name]).mean():+.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    sets = ["mq2008", "ohsumed", "mslr-sample", "lightgbm-example", "clean", "noisy", "shaped500"]
    parser.add_argument("--sets", nargs="+", default=sets)
    parser.add_argument("--ours", nargs="*", default=[], help="other parameters of swaprank, such as l2=0")
    parser.add_argument("--peers", nargs="*", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--grid", action="store_true", help="choose leaves and learning rate on vali, too")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    add_record(parser)
    options = parser.parse_args()

    learners = {"swaprank": ours("")} | {f"swaprank, {text}": ours(text) for text in options.ours}
    learners |= {name: PEERS[name] for name in options.peers}
    with Recording(options, "lightgbm", "xgboost", "catboost") as recording:
        trees = f"{LEAVES[0]} leaves, learning rate {RATES[0]}"
        recording.says(f"Test NDCG@10; {trees}; mean of {options.seeds} seeds; sets, and their training queries")
        heads, of_sets = [], []
        for name in options.sets:
            folds = list(folds_of(options.folder, name))
            heads.append(f"{name}, {folds[0].train.n_queries:,}")
            print(f"\n{heads[-1]}", file=sys.stderr)
            of_sets.append(measured_set(learners, folds, options))
        for number in range(len(WAYS)):
            report(recording, number, heads, of_sets)


if __name__ == "__main__":
    main()
