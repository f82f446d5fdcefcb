"""Online learning against training on judgements: test NDCG@10 after numbers of sessions, for three kinds of people.

    python benchmarks/online.py [FOLDER] [--seeds 5] [--sessions 100000]

On generated data, with one line per kind of people and method; and with FOLDER, on the folds Fold1 to Fold5 of LETOR
data in it, such as MQ2008. Every number is a mean over seeds or folds. `linear` is a linear regression on judgements,
`lambdarank` a linear ranker that LambdaRank trained on them. `clicks` are clicks per session over all sessions: what
people had of the pages that were shown while learning. Times are of one thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import swaprank as sr

PEOPLE: tuple[Any, ...] = ("position", "cascade", "dbn")
METHODS: tuple[Any, ...] = ("pdgd", "dbgd")
POINTS = (100, 1_000, 10_000, 100_000, 1_000_000)


def generated(n_seeds: int) -> Iterator[tuple[sr.Dataset, sr.Dataset]]:
    for seed in range(n_seeds):
        train, test = sr.datasets.random_search((200, 200), n_documents=20, random_state=seed)
        yield train, test


def folds(folder: Path) -> Iterator[tuple[sr.Dataset, sr.Dataset]]:
    for fold in range(1, 6):
        train, test = (next((folder / f"Fold{fold}").glob(f"{name}.*")) for name in ("train", "test"))
        yield sr.read(train), sr.read(test)


def report(name: str, sets: list[tuple[sr.Dataset, sr.Dataset]], n_sessions: int) -> None:
    points = [n for n in POINTS if n <= n_sessions]
    print(f"\n{name}, {len(sets)} times\n{'people':12}{'method':12}" + "".join(f"{n:>11,}" for n in points), end="")
    print(f"{'clicks':>9}{'seconds':>9}")
    judged = {
        "linear": [sr.LinearRegressionRanker("ndcg@10").fit(train).score(test) for train, test in sets],
        "lambdarank": [sr.LambdaRank("ndcg@10", hidden=()).fit(train).score(test) for train, test in sets],
    }
    for learner, values in judged.items():
        print(f"{'judgements':12}{learner:12}{np.mean(values):{11 * len(points)}.4f}")
    for people in PEOPLE:
        for method in METHODS:
            curves, clicks, seconds = [], [], []
            for seed, (train, test) in enumerate(sets):
                ranker = sr.clicks.OnlineRanker(method=method, random_state=seed)
                start = time.process_time()
                learned = sr.clicks.learn_online(ranker, train, points[-1], test=test, model=people)
                seconds.append(time.process_time() - start)
                sessions = np.diff(learned.sessions)
                clicks.append(float((np.array(learned.clicks[1:]) * sessions).sum() / sessions.sum()))
                curves.append([learned.values[int(np.argmin(np.abs(np.array(learned.sessions) - n)))] for n in points])
            row = "".join(f"{value:>11.4f}" for value in np.mean(curves, axis=0))
            print(f"{people:12}{method:12}{row}{np.mean(clicks):>9.3f}{np.mean(seconds):>9.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sessions", type=int, default=100_000)
    given = parser.parse_args()
    report("Generated data", list(generated(given.seeds)), given.sessions)
    if given.folder is not None:
        report(str(given.folder), list(folds(given.folder)), given.sessions)


if __name__ == "__main__":
    main()
