"""`swaprank demo`: the whole way from data to a verdict, in a few seconds."""

from __future__ import annotations

from typing import Annotated

import typer


def demo(seed: Annotated[int, typer.Option(help="The same seed gives the same demo.")] = 0) -> None:
    """Make ranking data, fit a first linear ranker, and compare it with the best single feature."""
    import numpy as np

    import swaprank as sr

    typer.echo("Artificial search data, labelled by a hidden random net:\n")
    train, test = sr.datasets.random_net(
        (400, 200), n_features=20, levels=(0.5, 0.2, 0.15, 0.1, 0.05), random_state=seed
    )
    typer.echo(f"  train  {train}\n  test   {test}\n")

    ndcg = sr.metric("ndcg@10")
    measured = ndcg.bind(train.labels, train.indptr)
    best = max(range(train.n_features), key=lambda feature: measured.mean(train.column(feature)))
    # Least squares on the labels: the first baseline of every ranking paper.
    weights, *_ = np.linalg.lstsq(train.features, train.labels - train.labels.mean(), rcond=None)
    rankings = {f"feature {train.feature_names[best]}": test.column(best), "linear fit": test.features @ weights}

    typer.echo("The linear fit on the test queries:\n")
    typer.echo(f"{sr.evaluate(test, rankings['linear fit'], ['ndcg@10', 'map', 'err'])}\n")
    typer.echo("Against the best single feature, query by query:\n")
    typer.echo(f"{sr.compare(test, rankings, ['ndcg@10', 'map'])}\n")
    typer.echo("Next: swaprank info YOUR_DATA.txt, swaprank evaluate YOUR_DATA.txt SCORES.txt, swaprank --help")
