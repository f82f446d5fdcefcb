"""[Burges2005, Tables 1 and 2]: RankNet on artificial data, by training size, with and without ties.

Table 1 of the paper seems to mix two measures. Its numbers for the random net are shares of correctly ordered pairs
with different labels, and ours agree. Its numbers for the random polynomial are about four points lower, and agree only
if pairs with equal labels count as half correct. A third of the variance of that polynomial is linear, so that the best
linear ranker orders about 0.73 of the pairs with different labels correctly. A sixth of all pairs is tied, which gives
0.83 * 0.73 + 0.17 / 2 = 0.69, the limit in the paper. The experiment prints both measures.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import swaprank as sr
from swaprank import datasets
from swaprank.arrays import Floats, Ints
from swaprank.rendering.tables import text_table
from swaprank.reproduction.experiment import Chart, Experiment, Log, Outcome, Series, Settings

DOCUMENTS = 50
SIZES = (100, 500, 2500, 12500)
TABLE_1 = {
    ("net", ()): (82.39, 88.86, 89.91, 90.06),
    ("net", (5,)): (82.29, 88.80, 96.94, 97.67),
    ("polynomial", ()): (59.63, 66.68, 68.30, 69.00),
    ("polynomial", (5,)): (59.54, 66.97, 68.56, 69.27),
}
TIE_SIZES = (100, 500, 1000, 5000)
TABLE_2 = {False: (0.595, 0.670, 0.681, 0.690), True: (0.596, 0.669, 0.682, 0.688)}

Generator = Callable[..., tuple[sr.Dataset, ...]]
GENERATORS: dict[str, Generator] = {"net": datasets.random_net, "polynomial": datasets.random_polynomial}


class Measured(NamedTuple):
    """Shares of correct test pairs: of pairs with different labels, and of all pairs, where ties count half."""

    different: float
    all_pairs: float


class Cell(NamedTuple):
    """One cell of a table, over data sets with different seeds."""

    mean: Measured
    spread: Measured
    """The standard deviation between data sets; the paper has one data set per cell."""


def run_table_1(settings: Settings, log: Log) -> Outcome:
    """All sixteen cells, each the mean of ten data sets; quick: one data set."""
    quick, random_state = settings.quick, settings.random_state
    seeds = range(random_state, random_state + (1 if quick else 10))
    found: dict[tuple[str, tuple[int, ...]], list[Cell]] = {}
    for (target, hidden), published in TABLE_1.items():
        cells = []
        for size, paper in zip(SIZES, published, strict=True):
            cells.append(_cell([_learn(GENERATORS[target], size, hidden, False, seed) for seed in seeds]))
            log(f"{target}, {_layers(hidden)}, {size:,}: {100 * cells[-1].mean.different:.2f} (paper {paper:.2f})")
        found[target, hidden] = cells
    rows = []
    for (target, hidden), cells in found.items():
        rows.append([target, _layers(hidden), "paper", *(f"{value:.2f}" for value in TABLE_1[target, hidden])])
        rows.append(["", "", "different labels", *(f"{100 * cell.mean.different:.2f}" for cell in cells)])
        rows.append(["", "", "± between data sets", *(f"{100 * cell.spread.different:.2f}" for cell in cells)])
        rows.append(["", "", "all, ties half right", *(f"{100 * cell.mean.all_pairs:.2f}" for cell in cells)])
        rows.append(["", "", "± between data sets", *(f"{100 * cell.spread.all_pairs:.2f}" for cell in cells)])
    header = ["target", "net", "% of test pairs", *(f"{size:,} vectors" for size in SIZES)]
    text = f"[Burges2005, Table 1], mean of {len(seeds)} data sets\n\n{text_table(header, rows, left=3)}"
    lines = []
    for (target, hidden), cells in found.items():
        name = f"{target}, {_layers(hidden)}"
        lines.append(Series(name, SIZES, [100 * cell.mean.different for cell in cells]))
        lines.append(Series(f"{name} (paper)", SIZES, TABLE_1[target, hidden], published=True))
    chart = Chart("RankNet by training size", "training vectors", "% of pairs in order", lines, log_x=True)
    return Outcome(text, chart)


def run_table_2(settings: Settings, log: Log) -> Outcome:
    """A net of ten hidden units on the polynomial, trained with and without tied pairs."""
    quick, random_state = settings.quick, settings.random_state
    seeds = range(random_state, random_state + (1 if quick else 10))
    rows, lines = [], []
    for ties, published in TABLE_2.items():
        name = "all ties" if ties else "no ties"
        cells = []
        for size, paper in zip(TIE_SIZES, published, strict=True):
            cells.append(_cell([_learn(datasets.random_polynomial, size, (10,), ties, seed) for seed in seeds]))
            log(f"{name}, {size:,}: {cells[-1].mean.all_pairs:.3f} (paper {paper:.3f})")
        rows.append([name, "paper", *(f"{value:.3f}" for value in published)])
        rows.append(["", "all pairs, ties half right", *(f"{cell.mean.all_pairs:.3f}" for cell in cells)])
        rows.append(["", "± between data sets", *(f"{cell.spread.all_pairs:.3f}" for cell in cells)])
        rows.append(["", "different labels", *(f"{cell.mean.different:.3f}" for cell in cells)])
        lines.append(Series(name, TIE_SIZES, [cell.mean.all_pairs for cell in cells]))
        lines.append(Series(f"{name} (paper)", TIE_SIZES, published, published=True))
    header = ["trained with", "share of test pairs", *(f"{size:,} vectors" for size in TIE_SIZES)]
    text = f"[Burges2005, Table 2], mean of {len(seeds)} data sets\n\n{text_table(header, rows, left=2)}"
    return Outcome(text, Chart("Learning from ties", "training vectors", "share of pairs in order", lines, log_x=True))


def _learn(generator: Generator, size: int, hidden: tuple[int, ...], ties: bool, seed: int) -> Measured:
    """As in the paper: 100 epochs of SGD, learning rate halved when training gets worse, best epoch on vali."""
    queries = (size // DOCUMENTS, 100, 100)
    train, vali, test = generator(queries, n_documents=DOCUMENTS, levels=6, random_state=seed)
    ranker = sr.RankNet(
        hidden=hidden, metric="pairwise", ties=ties, n_epochs=100, optimizer="sgd", learning_rate=0.001, decay=0.5,
        random_state=seed,
    )  # fmt: skip
    scores = ranker.fit(train, valid=vali).predict(test)
    different = sr.metrics.PairwiseCorrect().mean(test.labels, scores, test.indptr)
    tied = _share_of_ties(test.labels, test.indptr)
    return Measured(different, (1 - tied) * different + tied / 2)


def _cell(runs: list[Measured]) -> Cell:
    spread = np.std(runs, axis=0, ddof=1) if len(runs) > 1 else np.full(2, np.nan)
    return Cell(Measured(*np.mean(runs, axis=0)), Measured(*spread))


def _share_of_ties(labels: Floats, indptr: Ints) -> float:
    """The share of pairs with equal labels, averaged over queries."""
    shares = []
    for start, stop in zip(indptr[:-1], indptr[1:], strict=True):
        n, (_, counts) = stop - start, np.unique(labels[start:stop], return_counts=True)
        shares.append((counts * (counts - 1)).sum() / (n * (n - 1)))
    return float(np.mean(shares))


def _layers(hidden: tuple[int, ...]) -> str:
    return "two layers" if hidden else "linear"


TABLE_1_EXPERIMENT = Experiment("ranknet-table1", "[Burges2005, Table 1]", run_table_1)
TABLE_2_EXPERIMENT = Experiment("ranknet-table2", "[Burges2005, Table 2]", run_table_2)
