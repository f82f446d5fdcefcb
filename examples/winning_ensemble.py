"""Stack three kinds of rankers, and test whether the ensemble beats each of them.

    python examples/winning_ensemble.py
    python examples/winning_ensemble.py train.txt vali.txt test.txt

Trees fit steps, a linear model fits slopes, a net fits curves. If they err on different documents, a combination of
their scores ranks better than each. The weights are learned on queries that none of them was trained on, and the
ensemble is tested on other queries again.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import swaprank as sr
from swaprank.rankers.ranker import Ranker

METRIC = "ndcg@10"


def documents(n_queries: int, seed: int, n_documents: int = 25) -> sr.Dataset:
    """Relevance is the sum of three parts: 40 linear features, rules with thresholds, and a curved function of two."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n_queries * n_documents, 44)).astype(np.float32)
    linear = X[:, 4:] @ np.random.default_rng(99).normal(size=40)  # the same weights in all data sets
    steps = ((X[:, 0] > 0.2) & (X[:, 1] < 0.4)).astype(int) + ((X[:, 2] > 0.5) | (X[:, 3] > 0.7))
    curved = np.exp(-4 * (X[:, 0] ** 2 + X[:, 1] ** 2))
    relevance = sum(share * part / part.std() for share, part in ((1.0, linear), (0.6, steps), (0.3, curved)))
    relevance += rng.normal(0.0, 0.5, len(X))
    labels = np.digitize(relevance, np.quantile(relevance, [0.5, 0.75, 0.9, 0.97]))
    return sr.Dataset(X, labels, qid=np.repeat(np.arange(n_queries), n_documents))


def train_rankers(train: sr.Dataset, vali_stopping: sr.Dataset, quick: bool) -> dict[str, Ranker]:
    """Train one ranker of each kind."""
    n_trees, n_epochs, strengths = (20, 5, (0.1,)) if quick else (400, 150, (1.0, 0.1, 0.01))
    rankers: dict[str, Ranker] = {
        "LambdaMART": sr.LambdaMART(METRIC, n_trees=n_trees, n_leaves=7, early_stopping_rounds=50),
        "LambdaRank": sr.LambdaRank(METRIC, hidden=(20,), n_epochs=n_epochs, learning_rate=0.01),
        "SmoothRank": sr.SmoothRank(METRIC, regularization=strengths),
    }
    for name, ranker in rankers.items():
        ranker.fit(train, valid=vali_stopping)
        print(f"{name:11} {ranker.size_}")
    return rankers


def ensembles(rankers: dict[str, Ranker], vali_weights: sr.Dataset, quick: bool) -> dict[str, Ranker]:
    """The best combination of the trees and the net, and a stack of all three."""
    trees_and_net = sr.combine(rankers["LambdaMART"], rankers["LambdaRank"], vali_weights, METRIC)
    all_three = sr.stack(list(rankers.values()), vali_weights, METRIC, n_epochs=5 if quick else 30)
    weights = dict(zip(rankers, all_three.weights_.round(2).tolist(), strict=True))
    print(f"\ntrees + net: weight {trees_and_net.alpha_:.2f} for the trees")
    print(f"all three: {', '.join(f'{name} {weight:.2f}' for name, weight in weights.items())}")
    return {"trees + net": trees_and_net, "all three": all_three}


def main() -> None:
    """Train the rankers, combine them, and compare each with the stack of all three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="train, vali and test files; default: generated data")
    parser.add_argument("--quick", action="store_true", help="little data and few rounds, for a quick test")
    options = parser.parse_args()
    # Early stopping and the weights of the ensemble need different validation queries.
    if options.files:
        train, vali, test = (sr.read(path) for path in options.files)
        vali_stopping, vali_weights = vali.split((0.5, 0.5), random_state=0)
    else:
        sizes = (30, 20, 20, 60) if options.quick else (60, 100, 100, 600)
        train, vali_stopping, vali_weights, test = (documents(size, seed) for seed, size in enumerate(sizes))

    rankers = train_rankers(train, vali_stopping, options.quick)
    rankers |= ensembles(rankers, vali_weights, options.quick)
    scores = {name: ranker.predict(test) for name, ranker in rankers.items()}
    print(f"\n{sr.compare(test, scores, METRIC, baseline='all three')}")

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ensemble.swaprank"
        rankers["all three"].save(file)
        same = np.array_equal(sr.load(file).predict(test), scores["all three"])
        print(
            f"\nOne file of {file.stat().st_size / 1024:,.0f} KB holds all of them; it gives the same scores: {same}."
        )


if __name__ == "__main__":
    main()
