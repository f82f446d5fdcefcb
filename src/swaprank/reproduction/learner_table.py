"""All learners on one data set: those of the papers, those that the papers compare with, and two more.

[Chapelle2010, Table 2] has such a table of OHSUMED. Every learner is trained on the five folds. NDCG@10 on vali chooses
its round (tree, epoch, strength of regularization) and, where there is a grid, its parameters.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import swaprank as sr
from swaprank.evaluation.comparison import compare_evaluations
from swaprank.experiments.folds import find_folds
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.registry import ranker_class
from swaprank.rendering.tables import decimals, probability, text_table
from swaprank.reproduction.experiment import Chart, Experiment, Log, Outcome, Series, Settings
from swaprank.reproduction.letor_sets import SETS, known_set

NAME = "ohsumed-table"
METRICS = parse_metrics(["ndcg@10", "ndcg@1", "ndcg@3", "ndcg@5", "map"], convention="letor")
"""The first one chooses on vali."""
SHOWN = (1, 2, 3, 0, 4)
"""The order of the columns."""
BASELINES = ("SmoothRank", "LambdaMART")
QUERIES, QUICK_QUERIES = 300, 60
"""Numbers of generated queries."""
LETOR_FOLDS = 5


class Learner(NamedTuple):
    """One row of the table."""

    kind: str
    parameters: Mapping[str, Any] = {}
    grid: Mapping[str, Sequence[Any]] = {}
    """Values to choose from on vali, by parameter; the round is always chosen."""


_ALL_TREES = {"n_trees": 300, "early_stopping_rounds": None}
_TREES = {"n_leaves": (4, 15), "learning_rate": (0.05,)}
_NETS = {"hidden": ((), (10,))}
LEARNERS = {
    "regression": Learner("linear_regression", {"overweight": True}),
    "PRank": Learner("prank"),
    "PRank-quadratic": Learner("prank", {"degree": 2, "n_epochs": 20}),
    "OAP-BPM": Learner("oap_bpm", {"n_epochs": 30}),
    "RankProp": Learner("rankprop", {}, _NETS),
    "RankSVM": Learner("ranksvm"),
    "KernelRankNet": Learner("kernel_ranknet", {}, {"gamma": (0.003, 0.03)}),
    "RankBoost": Learner("rankboost"),
    "FRank": Learner("frank"),
    "ListNet": Learner("listnet", {}, _NETS),
    "AdaRank-NDCG": Learner("adarank"),
    "AdaRank-MAP": Learner("adarank", {"metric": "map"}),
    "SVM-MAP": Learner("svmmap", {"metric": "map"}, {"standardize": (True, False)}),
    "SoftRank": Learner("softrank", {"n_epochs": 50}, {"sigma": (0.3, 1.0)}),
    "CoordinateAscent": Learner("coordinate_ascent", {"n_restarts": 2, "n_passes": 10}),
    "RandomForest": Learner("random_forest", {}, {"n_leaves": (30, 100)}),
    "MART": Learner("mart", _ALL_TREES, _TREES),
    "RankNet": Learner("ranknet", {}, _NETS),
    "LambdaRank": Learner("lambdarank", {"pair_weight": 0.0, "decay": 0.8}, _NETS),
    "LambdaMART": Learner("lambdamart", _ALL_TREES, _TREES),
    "SmoothRank": Learner("smoothrank", {"metric": "ndcg@50"}),
}
QUICK = {
    "n_epochs": 5,
    "n_trees": 30,
    "n_rounds": 30,
    "n_restarts": 1,
    "n_passes": 1,
    "regularization": (10.0, 1.0, 0.1),
}
"""Parameters of the learners that have them, if quick."""


def run(settings: Settings, log: Log) -> Outcome:
    """Five folds; quick: the first fold, or three of fewer generated queries, and less training."""
    result = _trained(settings, log)
    seconds = {
        name: sum(trial.seconds for fold in folds for trial in fold.tried) / len(folds)
        for name, folds in result.folds.items()
    }
    published = _published(result, settings)
    p_values = {
        baseline: {
            row.system: row.p_randomization
            for row in compare_evaluations(result.evaluations, baseline, random_state=settings.random_state)
            if row.metric == str(METRICS[0])
        }
        for baseline in BASELINES
    }
    rows = []
    for name in result.folds:
        row = [name, *(decimals(result.mean(name, str(METRICS[at]))) for at in SHOWN)]
        row += [f"{value:.3f}" for value in published.get(name, ())] or [""] * (2 if published else 0)
        row += [probability(p_values[baseline][name]) if name in p_values[baseline] else "" for baseline in BASELINES]
        rows.append([*row, f"{seconds[name]:.1f}"])
    header = ["learner", *(str(METRICS[at]).partition("(")[0].upper() for at in SHOWN)]
    header += ["paper: NDCG@10", "MAP"] if published else []
    header += [*(f"p, {baseline}" for baseline in BASELINES), "s per fold"]
    n_queries = len(next(iter(result.evaluations.values())).qids)
    text = (
        f"{_described(settings)}, {len(result.fold_names)} {'fold' if len(result.fold_names) == 1 else 'folds'}, "
        f"{n_queries:,} test queries; LETOR's metrics, chosen by NDCG@10 on vali;\n"
        f"p: randomization tests of NDCG@10 against {' and '.join(BASELINES)} over queries, corrected for "
        f"{len(rows) - 1} comparisons\n\n{text_table(header, rows)}"
    )
    return Outcome(text, _chart(result, published, _described(settings)))


def _trained(settings: Settings, log: Log) -> sr.experiments.CrossValidation:
    rankers = {name: _ranker(learner, settings) for name, learner in LEARNERS.items()}
    grid = {
        f"{name}.{parameter}": values[:1] if settings.quick else values
        for name, learner in LEARNERS.items()
        for parameter, values in learner.grid.items()
    }
    data = _data(settings)
    began, fold = perf_counter(), ""

    def timed_log(message: str) -> None:
        nonlocal fold
        before, fold = fold, message.split()[0]
        if before and before != fold:
            log(f"{(perf_counter() - began) / 60:.1f} minutes until the end of {before}")
        log(message)

    return sr.cross_validate(
        data,
        rankers,
        METRICS,
        grid=grid,
        n_folds=(3 if settings.quick else 5) if isinstance(data, sr.Dataset) else None,
        output=settings.output,
        baseline=BASELINES[0],
        random_state=settings.random_state,
        log=timed_log,
    )


def _ranker(learner: Learner, settings: Settings) -> sr.Ranker:
    kind = ranker_class(learner.kind)
    known = kind.declared
    chosen = {"metric": METRICS[0], "random_state": settings.random_state, **learner.parameters}
    if settings.quick:
        chosen |= QUICK
    return kind(**{name: value for name, value in chosen.items() if name in known})


def _data(settings: Settings) -> sr.Dataset | Path:
    if settings.data is None:
        (generated,) = sr.datasets.random_search(
            QUICK_QUERIES if settings.quick else QUERIES, random_state=settings.random_state
        )
        return generated
    if not settings.quick:
        return settings.data
    first = settings.data / find_folds(settings.data)[0].name
    return first if first.is_dir() else settings.data


def _described(settings: Settings) -> str:
    return "generated data" if settings.data is None else settings.data.resolve().name


def _published(result: sr.experiments.CrossValidation, settings: Settings) -> dict[str, tuple[float, float]]:
    """NDCG@10 and MAP of [Chapelle2010, Table 2], if the data is a set of LETOR 3.0 with all its folds."""
    if settings.data is None or len(result.fold_names) != LETOR_FOLDS:
        return {}
    known = known_set(settings.data, find_folds(settings.data)[0].load())
    return {} if known is None else SETS[known].published


def _chart(result: sr.experiments.CrossValidation, published: Mapping[str, tuple[float, float]], title: str) -> Chart:
    names = list(result.folds)
    lines = []
    for at, metric in enumerate((METRICS[0], METRICS[4])):
        label, values = str(metric).partition("(")[0].upper(), [result.mean(name, str(metric)) for name in names]
        errors = None
        if at == 0:
            intervals = [result.evaluations[name][str(metric)].interval for name in names]
            errors = [(high - low) / 2 for low, high in intervals]
        lines.append(Series(label, range(1, len(names) + 1), values, errors))
        known = [(place, published[name][at]) for place, name in enumerate(names, 1) if name in published]
        if known:
            places, values = ([pair[side] for pair in known] for side in (0, 1))
            lines.append(Series(f"{label}, paper", places, values, published=True))
    return Chart(title, "", "mean of folds", lines, ticks=names)


EXPERIMENT = Experiment(
    NAME, "[Chapelle2010, Table 2], with all learners; OHSUMED or other data", run, takes_data=True, takes_output=True
)
