"""[Burges2006, Figure 2]: NDCG of LambdaRank and RankNet at ten truncations, with one and two layers, on clean data."""

import numpy as np
from scipy.stats import ttest_rel

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.data.generated_data import random_polynomial
from swaprank.metrics.cumulative import NDCG
from swaprank.rankers.lambdarank import LambdaRank
from swaprank.rankers.ranknet import RankNet
from swaprank.rendering.text_tables import probability, text_table
from swaprank.reproduction.experiment import Chart, Experiment, Log, Outcome, Series, Settings

QUERIES, QUICK_QUERIES = (10_000, 5_000, 10_000), (1_000, 500, 1_000)
TRUNCATIONS = tuple(range(1, 11))
RATES = (0.0003, 0.001, 0.003)
EPOCHS, QUICK_EPOCHS, PLATEAU = 100, 30, 50
NETS = {"linear": (), "2 hidden units": (2,), "10 hidden units": (10,)}


def run(settings: Settings, log: Log) -> Outcome:
    """10,000, 5,000 and 10,000 queries of 50 documents as in the paper; quick: a tenth of them and fewer epochs."""
    quick, random_state = settings.quick, settings.random_state
    train, vali, test = random_polynomial(QUICK_QUERIES if quick else QUERIES, levels=5, random_state=random_state)
    found: dict[str, Floats] = {}
    for layers, hidden in NETS.items():
        for kind in (RankNet, LambdaRank):
            name = f"{kind.__name__}, {layers}"
            scores = _test_scores(kind, hidden, train, vali, test, QUICK_EPOCHS if quick else EPOCHS, random_state)
            found[name] = np.array([NDCG(k=k).per_query(test.labels, scores, test.indptr) for k in TRUNCATIONS])
            log(f"{name}: NDCG@10 {found[name][-1].mean():.4f}")
    rows = []
    for layers in NETS:
        ranknet, lambdarank = found[f"RankNet, {layers}"], found[f"LambdaRank, {layers}"]
        for values, name in ((ranknet, "RankNet"), (lambdarank, "LambdaRank")):
            rows.append([layers, name, *(f"{value:.4f}" for value in values.mean(axis=1))])
        rows.append(["", "95% interval ±", *(f"{error:.4f}" for error in _interval(lambdarank))])
        p_values = ttest_rel(lambdarank, ranknet, axis=1).pvalue
        rows.append(["", "p of no difference", *map(probability, p_values.tolist())])
    header = ["net", "NDCG at", *map(str, TRUNCATIONS)]
    text = (
        f"[Burges2006, Figure 2]: LambdaRank is above RankNet at every truncation. Here: {test.n_queries:,} "
        f"test queries\n\n{text_table(header, rows, left=2)}"
    )
    lines = [
        Series(name, TRUNCATIONS, values.mean(axis=1).tolist(), _interval(values)) for name, values in found.items()
    ]
    return Outcome(text, Chart("NDCG on the random polynomial", "truncation", "NDCG", lines))


def _test_scores(
    kind: type[RankNet | LambdaRank],
    hidden: tuple[int, ...],
    train: Dataset,
    vali: Dataset,
    test: Dataset,
    n_epochs: int,
    random_state: int,
) -> Floats:
    """Test scores for the learning rate and epoch with the best NDCG@10 on vali, as in the paper."""
    best, scores = -np.inf, np.empty(0)
    for rate in RATES:
        ranker = kind(
            hidden=hidden,
            metric="ndcg@10",
            n_epochs=n_epochs,
            learning_rate=rate,
            decay=0.8,
            restart_rounds=PLATEAU,
            random_state=random_state,
        ).fit(train, valid=vali)
        value = max(ranker.history_["valid"]["ndcg@10"])
        if value > best:
            best, scores = value, ranker.predict(test)
    return scores


def _interval(values: Floats) -> list[float]:
    return [float(error) for error in 1.96 * values.std(axis=1) / np.sqrt(values.shape[1])]


EXPERIMENT = Experiment("lambdarank-vs-ranknet", "[Burges2006, Figure 2]", run)
