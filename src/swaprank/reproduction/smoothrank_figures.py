"""[Chapelle2010, Figures 1 and 2]: the smooth metric along a line, and the metric while sigma decreases.

The line is a random one through the fitted weights.
"""

import numpy as np

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.rankers.smoothrank import ANNEALING
from swaprank.rendering.tables import text_table
from swaprank.reproduction.experiment import Chart, Experiment, Log, Outcome, Series, Settings
from swaprank.reproduction.smoothrank_data import described, folds_or_generated, paper_ranker

METRIC = sr.metric("ndcg@50")
SIGMAS = (16.0, 4.0, 1.0, 0.25, 2.0**-6)
POINTS, QUICK_POINTS = 401, 101
STRENGTH = 1.0
SETS = ("train", "vali", "test")


def run_line(settings: Settings, log: Log) -> Outcome:
    """One training query, as in the paper; quick: fewer points."""
    train = folds_or_generated(settings._replace(quick=True))[0].train
    found = paper_ranker(settings, METRIC, regularization=STRENGTH).fit(train)
    log(f"{METRIC} of training queries: {found.score(train):.4f}")
    at, random = found.predict(train), _random_scores(train, settings.random_state)
    # At both ends, random weights change the scores by two standard deviations: little of the fit is left there.
    end = 2.0 * float(at.std() / random.std())
    steps = np.linspace(-1.0, 1.0, QUICK_POINTS if settings.quick else POINTS)
    query = _first_with_different_labels(train)
    documents = slice(train.indptr[query], train.indptr[query + 1])
    start, direction = (np.array(train.by_query(scores)[documents]) for scores in (at, end * random))
    curves = _curves(train.subset([query]), start + steps[:, None] * direction)
    rows = []
    for name, curve in curves.items():
        away, best = np.abs(curve - curves["NDCG"]).max(), steps[int(np.argmax(curve))]
        rows.append([name, f"{curve[len(steps) // 2]:.4f}", f"{best:+.2f}", str(_peaks(curve)), f"{away:.4f}"])
    header = ["smoothing", "at fitted weights", "highest at", "peaks", "max. distance from NDCG"]
    text = (
        f"[Chapelle2010, Figure 1]: {METRIC} of a query of {len(start)} documents, {described(settings, 1)},\n"
        f"along a random line through the fitted weights, from -1 to 1\n\n{text_table(header, rows)}"
    )
    lines = [Series(name, steps.tolist(), curve.tolist()) for name, curve in curves.items()]
    return Outcome(text, Chart("The smooth metric along a random line", "step from the fitted weights", "NDCG", lines))


def _curves(one: sr.Dataset, lines: Floats) -> dict[str, Floats]:
    """The smooth metric of one query per smoothing factor, and the exact metric; one row of scores per step."""
    labels, grad, hess = one.by_query(one.labels), np.empty(len(one)), np.empty(len(one))
    curves = {}
    for sigma in SIGMAS:
        smooth = sr.objectives.SmoothObjective(METRIC, smoothing_factor=sigma).bind(one, random_state=0, n_threads=1)
        curves[f"sigma {sigma:g}"] = np.array([smooth.mean(smooth.update(scores, grad, hess)) for scores in lines])
    return curves | {"NDCG": np.array([METRIC.mean(labels, scores, one.indptr) for scores in lines])}


def _first_with_different_labels(data: sr.Dataset) -> int:
    lists = np.split(data.by_query(data.labels), data.indptr[1:-1])
    return int(np.argmax([np.ptp(labels) > 0 for labels in lists]))


def _random_scores(data: sr.Dataset, random_state: int) -> Floats:
    """Scores from Gaussian weights of standardized features."""
    features = data.features.astype(np.float64)
    known = ~np.isnan(features)
    mean = np.divide(np.where(known, features, 0.0).sum(axis=0), np.maximum(known.sum(axis=0), 1))
    centered = np.where(known, features - mean, 0.0)
    deviation = centered.std(axis=0)
    weights = np.random.default_rng((random_state, 1)).normal(size=data.n_features)
    scores: Floats = centered @ np.divide(weights, deviation, out=np.zeros(data.n_features), where=deviation > 0)
    return scores


def _peaks(curve: Floats) -> int:
    """The number of local maxima; a flat one counts once."""
    steps = np.diff(curve)
    ways = np.sign(steps[steps != 0])
    return int(np.sum((ways[:-1] > 0) & (ways[1:] < 0)))


def run_annealing(settings: Settings, log: Log) -> Outcome:
    """The mean over all folds, as in the paper; quick: the first fold and three lambdas."""
    folds = folds_or_generated(settings)
    histories = []
    for number, parts in enumerate(folds, 1):
        chosen = paper_ranker(settings, METRIC).fit(parts.train, valid=parts.vali).regularization_
        # All steps with the lambda that is best in the end: at an earlier sigma, another one may be better.
        ranker = paper_ranker(settings, METRIC, regularization=chosen)
        ranker.fit(parts.train, valid={"test": parts.test, "vali": parts.vali})
        histories.append({name: ranker.history_[name][str(METRIC)] for name in SETS})
        log(f"{number} of {len(folds)}: lambda {chosen:g}, test {histories[-1]['test'][-1]:.4f}")
    means = {name: np.mean([history[name] for history in histories], axis=0) for name in SETS}
    rows = [
        [f"2^{np.log2(sigma):g}", *(f"{means[name][at]:.4f}" for name in SETS)] for at, sigma in enumerate(ANNEALING)
    ]
    text = (
        f"[Chapelle2010, Figure 2]: {METRIC} after every step of sigma, as in the paper; mean of "
        f"{described(settings, len(folds))}\n\n"
        f"{text_table(['sigma', *SETS], rows)}"
    )
    lines = [Series(name, ANNEALING, means[name].tolist()) for name in SETS]
    return Outcome(text, Chart("Annealing", "sigma", str(METRIC), lines, log_x=True))


LINE = Experiment("smoothrank-line", "[Chapelle2010, Figure 1]", run_line, takes_data=True)
ANNEALED = Experiment("smoothrank-annealing", "[Chapelle2010, Figure 2]", run_annealing, takes_data=True)
