"""The calibration section: score differences as probabilities 1 / (1 + exp(-sigma (s_i - s_j))) [Burges2005, Eq. 2]."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

import swaprank as sr
from swaprank.arrays import Floats, Ints
from swaprank.reporting.markup import Html, join, table, tag
from swaprank.reporting.plots import Axes, Line, Scale, bars, chart, dots, legend, line_path, scale_of, stretched
from swaprank.reporting.subject import SEED, Section, Subject, section

MOST_PAIRS = 200_000
_BINS = 10
_LEAST_PAIRS = 20
"""Bins with fewer pairs are too noisy to draw."""


class Reliability(NamedTuple):
    """Pairs binned by the predicted probability that the document with the higher score is the better one.

    >>> import numpy as np
    >>> from swaprank.reporting.calibration import reliability
    >>> found = reliability(np.array([0.0, 3.0]), np.array([0.5, 1.0]))
    >>> found.counts.tolist(), found.observed[0], found.observed[-1]
    ([1, 0, 0, 0, 0, 0, 0, 0, 0, 1], np.float64(0.5), np.float64(1.0))
    """

    counts: Ints
    predicted: Floats
    """The mean predicted probability of each bin; NaN for an empty bin."""
    observed: Floats
    """The observed frequency with which the higher document is better."""

    @property
    def error(self) -> float:
        """The expected calibration error: mean |predicted - observed|, weighted by pairs."""
        filled = self.counts > 0
        gaps = np.abs(self.predicted[filled] - self.observed[filled])
        return float((gaps * self.counts[filled]).sum() / max(self.counts.sum(), 1))


def scored_pairs(data: sr.Dataset, scores: Floats) -> tuple[Floats, Floats]:
    """Score differences of pairs with different labels, and whether the higher document is better (0.5 if tied).

    Uses all pairs of all queries, or a uniform sample of MOST_PAIRS of them.

    >>> import numpy as np, swaprank as sr
    >>> from swaprank.reporting.calibration import scored_pairs
    >>> data = sr.Dataset([[0], [0], [0]], [0, 2, 2], qid=[1, 1, 1])
    >>> margins, correct = scored_pairs(data, np.array([1.0, 3.0, 0.5]))
    >>> margins.tolist(), correct.tolist()
    ([2.0, 0.5], [1.0, 0.0])
    """
    labels, ranked = data.by_query(data.labels), data.by_query(scores)
    i, j = _pairs(data.indptr)
    differ = labels[i] != labels[j]
    i, j = i[differ], j[differ]
    differences = ranked[i] - ranked[j]
    correct = np.where(differences == 0, 0.5, (differences > 0) == (labels[i] > labels[j]))
    return np.abs(differences), correct.astype(np.float64)


def reliability(margins: Floats, correct: Floats) -> Reliability:
    """Predicted and observed probabilities; `margins` are score differences times sigma.

    >>> import numpy as np
    >>> from swaprank.reporting.calibration import reliability
    >>> reliability(np.zeros(4), np.full(4, 0.5)).error
    0.0
    """
    p = expit(margins)
    bins = np.minimum((2 * _BINS * (p - 0.5)).astype(np.int64), _BINS - 1)
    counts = np.bincount(bins, minlength=_BINS)
    with np.errstate(invalid="ignore"):
        predicted = np.bincount(bins, p, minlength=_BINS) / counts
        observed = np.bincount(bins, correct, minlength=_BINS) / counts
    return Reliability(counts, predicted, observed)


def best_sigma(margins: Floats, correct: Floats) -> float:
    """The sigma with the highest likelihood of the observed pairs; 0 if the order is no better than chance.

    >>> import numpy as np
    >>> from swaprank.reporting.calibration import best_sigma
    >>> round(best_sigma(np.full(4, 2.0), np.array([1.0, 1.0, 1.0, 0.0])), 4), round(float(np.log(3) / 2), 4)
    (0.5493, 0.5493)
    """
    from scipy.optimize import minimize_scalar

    size = float(margins.mean())
    if size <= 0 or correct.mean() <= 0.5:
        return 0.0
    unit = margins / size

    def loss(log_factor: float) -> float:
        margin = np.exp(log_factor) * unit
        return float((np.logaddexp(0.0, margin) - correct * margin).mean())

    found = minimize_scalar(loss, bounds=(-8.0, 8.0), method="bounded", options={"xatol": 1e-9})
    return float(np.exp(found.x) / size)


def calibration_section(subject: Subject) -> Section:
    """A reliability diagram for the sigma of the ranker and for the best sigma.

    >>> import swaprank as sr
    >>> from swaprank.reporting.calibration import calibration_section
    >>> from swaprank.reporting.subject import make_subject
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> subject = make_subject(sr.MART(n_trees=2).fit(data), data, "map")
    >>> "Reliability" in calibration_section(subject).body
    True
    """
    title = "Calibration of pairs"
    margins, correct = scored_pairs(subject.data, subject.scores)
    if not len(margins):
        return section("calibration", title, "No query has documents with different labels.")
    sigma = subject.ranker.sigma_
    fitted = best_sigma(margins, correct)
    now, best = reliability(sigma * margins, correct), reliability(fitted * margins, correct)
    words = (
        f"In {100 * correct.mean():.1f}% of {len(margins):,} pairs with different labels, the better document has the "
        f"higher score. {_meaning(subject.ranker)} The mean difference between predicted probability and observed "
        f"frequency is {now.error:.3f} with sigma = {sigma:g}, and {best.error:.3f} with sigma = {fitted:.3g}, which "
        "fits these pairs best."
    )
    parts = tag("div", _diagram(now, best, sigma, fitted), _counts(now, sigma), class_="pair")
    return section("calibration", title, words, parts)


def _meaning(ranker: sr.Ranker) -> str:
    if ranker.can.probabilities:
        return "RankNet models 1 / (1 + exp(-sigma (s_i - s_j))) as the probability that i is better than j."
    return (
        f"{type(ranker).__name__} is not trained for probabilities, as RankNet is. This section tests "
        "whether its scores still give good probabilities 1 / (1 + exp(-sigma (s_i - s_j)))."
    )


def _diagram(now: Reliability, best: Reliability, sigma: float, fitted: float) -> Html:
    axes = Axes(Scale(0.5, 1.0), _y_scale(now, best), "predicted probability", "observed share")
    series, marks = [], []
    for name, found, style in ((f"sigma {sigma:g}", now, "s0"), (f"sigma {fitted:.3g}, fitted", best, "s2")):
        kept = found.counts >= _LEAST_PAIRS
        x, y = found.predicted[kept], found.observed[kept]
        tips = [
            f"{name}\npredicted {p:.3f}\nobserved {o:.3f}\n{n:,} pairs"
            for p, o, n in zip(x, y, found.counts[kept], strict=True)
        ]
        series.append(Line(name, x, y, style))
        marks.append(dots(x, y, axes, tips, [style] * len(x), 4.5))
    # The line of the ranker's own sigma is drawn on top.
    drawn = stretched(*(line_path(line.x, line.y, axes, f"line {line.style}") for line in series[::-1]))
    ends = (0.5, 1.0)
    diagonal = stretched(line_path(np.array(ends), np.array(ends), axes, "rule"))
    rows = [
        [f"{0.5 + at / (2 * _BINS):.2f} to {0.5 + (at + 1) / (2 * _BINS):.2f}", f"{n:,}", f"{p:.4f}", f"{o:.4f}"]
        for at, (n, p, o) in enumerate(zip(*now, strict=True))
        if n
    ]
    return chart(
        "Reliability",
        f"Reliability diagram of pairwise probabilities: mean distance from the diagonal {now.error:.3f}, with the "
        f"fitted sigma {best.error:.3f}.",
        axes,
        join([diagonal, drawn, *marks[::-1]]),
        legend=legend((line.style, line.name) for line in series),
        numbers=table(["bin", "pairs", "predicted", "observed"], rows),
        class_="tall",
    )


def _y_scale(*found: Reliability) -> Scale:
    """From 0.5 to 1, or from a lower value if the order is worse than chance."""
    seen = np.concatenate([each.observed[each.counts >= _LEAST_PAIRS] for each in found])
    low = float(seen.min()) if len(seen) else 0.5
    return Scale(min(0.5, max(0.0, np.floor(10 * low) / 10)), 1.0)


def _counts(now: Reliability, sigma: float) -> Html:
    edges = np.linspace(0.5, 1.0, _BINS + 1)
    shares = now.counts / max(now.counts.sum(), 1)
    axes = Axes(Scale(0.5, 1.0), scale_of(shares, include=(0.0,)), "predicted probability", "share of pairs")
    tips = [
        f"{low:.2f} to {high:.2f}\n{n:,} pairs ({share:.1%})"
        for low, high, n, share in zip(edges[:-1], edges[1:], now.counts, shares, strict=True)
    ]
    return chart(
        f"Predicted probabilities (sigma {sigma:g})",
        f"Histogram of the predicted probabilities of {now.counts.sum():,} pairs; most lie "
        f"near {edges[:-1][now.counts.argmax()] + 0.025:.2f}.",
        axes,
        bars(edges, shares, axes, tips, ["s0"] * _BINS),
        class_="tall",
    )


def _pairs(indptr: Ints) -> tuple[Ints, Ints]:
    lengths = np.diff(indptr)
    n_pairs = lengths.astype(np.float64) * (lengths - 1) / 2
    if n_pairs.sum() <= MOST_PAIRS:
        found = [np.add(np.triu_indices(n, 1), start) for n, start in zip(lengths, indptr[:-1], strict=True)]
        i, j = np.concatenate(found, axis=1)
        return i, j
    rng = np.random.default_rng(SEED)
    query = rng.choice(len(lengths), MOST_PAIRS, p=n_pairs / n_pairs.sum())
    n = lengths[query]
    first = rng.integers(n)
    second = (first + 1 + rng.integers(n - 1)) % n
    return indptr[query] + first, indptr[query] + second
