"""`swaprank demo`: the whole way from data to a verdict, in a few seconds."""

from __future__ import annotations

from swaprank.cli.options import Seed
from swaprank.cli.output import show


def demo(seed: Seed = 0) -> None:
    """Make ranking data, fit a first linear ranker, and compare it with the best single feature."""
    import numpy as np

    import swaprank as sr

    show("Artificial search data, labelled by a hidden random net:\n")
    train, test = sr.datasets.random_net(
        (400, 200), n_features=20, levels=(0.5, 0.2, 0.15, 0.1, 0.05), random_state=seed
    )
    show(f"  train  {train}\n  test   {test}\n")

    ndcg = sr.metric("ndcg@10")
    measured = ndcg.bind(train.labels, train.indptr)
    best = max(range(train.n_features), key=lambda feature: measured.mean(train.column(feature)))
    # Least squares on the labels: the first baseline of every ranking paper.
    weights, *_ = np.linalg.lstsq(train.features, train.labels - train.labels.mean(), rcond=None)
    rankings = {f"feature {train.feature_names[best]}": test.column(best), "linear fit": test.features @ weights}

    show("The linear fit on the test queries:\n")
    show(f"{sr.evaluate(test, rankings['linear fit'], ['ndcg@10', 'map', 'err'])}\n")
    show("Against the best single feature, query by query:\n")
    show(f"{sr.compare(test, rankings, ['ndcg@10', 'map'])}\n")
    show("Next: swaprank info YOUR_DATA.txt, swaprank evaluate YOUR_DATA.txt SCORES.txt, swaprank --help")
