"""Fitting a calibration to validation data, and keeping it in model files.

Isotonic: the rising steps with the least squared error (pool adjacent violators). Platt: fitted to targets that leave
room for rare exceptions [Platt1999].
"""

from dataclasses import astuple
from typing import Any

import numpy as np

from swaprank.arrays import Floats
from swaprank.elementary import exp, log
from swaprank.errors import DataError, Hint, ModelFileError, ParameterError
from swaprank.exact_sums import exact_sum
from swaprank.kernels import kernel
from swaprank.models.calibration import Calibration, sigmoids
from swaprank.parameters import Bounds, check_parameter

METHODS = ("isotonic", "platt")
TARGETS = ("probability", "label")
_MOST_STEPS = 100
_ROUNDING = 1e-12
"""Means that differ by less, relatively, are equal: between two such steps, different scores would have one value."""


def fit_calibration(
    scores: Floats,
    labels: Floats,
    weights: Floats | None,
    n_queries: int,
    *,
    method: str,
    target: str,
    rel: float,
) -> Calibration:
    """Fit a calibration to scores and labels; the order of the rows changes nothing.

    >>> import numpy as np
    >>> from swaprank.rankers.calibration import fit_calibration
    >>> found = fit_calibration(np.array([1.0, 2, 3, 4]), np.array([0.0, 1, 0, 1]), None, 2,
    ...     method="isotonic", target="probability", rel=1)
    >>> found.scores, found.values
    ((1.0, 2.5, 4.0), (0.25, 0.5, 0.75))
    """
    for name, value, words in (("method", method, METHODS), ("target", target, TARGETS)):
        if value not in words:
            raise ParameterError(Hint(name), f" must be '{words[0]}' or '{words[1]}'; found {value!r}.")
    check_parameter("rel", rel, Bounds(False, -np.inf, np.inf))
    is_relevance = target == "probability"
    y = (labels >= rel).astype(np.float64) if is_relevance else labels.astype(np.float64)
    w = np.ones(len(y)) if weights is None else weights.astype(np.float64)
    y, scores, w = y[w > 0], scores[w > 0], w[w > 0]
    low, high = (0.0, 1.0) if is_relevance else (float(y.min(initial=np.inf)), float(y.max(initial=-np.inf)))
    if not len(y) or y.min() == y.max():
        what = f"documents with labels below {rel:g} and from there on" if is_relevance else "different labels"
        raise DataError(f"the data to calibrate with needs {what}, and has none.")
    order = np.lexsort((w, y, scores))
    fit = _platt if method == "platt" else _isotonic
    x, values = fit(scores[order], (y[order] - low) / (high - low), w[order])
    if method == "isotonic":
        values = low + (high - low) * values
    return Calibration(method, target, float(rel), low, high, tuple(x.tolist()), tuple(values.tolist()), int(n_queries))


def _useless() -> DataError:
    return DataError(
        "documents with higher scores are not more relevant in the data to calibrate with, so that no calibration "
        "keeps the order: use validation data on which the ranker is better than chance."
    )


def _isotonic(x: Floats, y: Floats, w: Floats) -> tuple[Floats, Floats]:
    """The centres of the steps and their values, from sorted scores; `y` is from 0 to 1."""
    centre, value, weight = np.empty(len(x)), np.empty(len(x)), np.empty(len(x))
    n = pool(x, y, w, centre, value, weight)
    if n < 2:
        raise _useless()
    centre, value, weight = centre[:n], value[:n], weight[:n]
    # A step where all or none are relevant may yet have exceptions: half a document, but less than the next step.
    if value[0] <= 0.0:
        value[0] = min(0.5 / (weight[0] + 1), value[1] / 2)
    if value[-1] >= 1.0:
        value[-1] = 1 - min(0.5 / (weight[-1] + 1), (1 - value[-2]) / 2)
    # Centres may be the same float only if the scores are.
    rising = np.concatenate(([True], np.diff(centre) > 0))
    return centre[rising], value[rising]


@kernel
def pool(x: Floats, y: Floats, w: Floats, centre: Floats, value: Floats, weight: Floats) -> int:
    """Write the centre, the mean and the weight of each step; returns their number. `x` rises."""
    n = 0
    k = 0
    while k < len(x):
        sum_w, sum_y, score = 0.0, 0.0, x[k]
        while k < len(x) and x[k] == score:
            sum_w += w[k]
            sum_y += w[k] * y[k]
            k += 1
        centre[n], value[n], weight[n] = score, sum_y / sum_w, sum_w
        n += 1
        while n > 1 and value[n - 2] >= value[n - 1] * (1 - _ROUNDING):
            both = weight[n - 2] + weight[n - 1]
            value[n - 2] += (value[n - 1] - value[n - 2]) * (weight[n - 1] / both)
            centre[n - 2] += (centre[n - 1] - centre[n - 2]) * (weight[n - 1] / both)
            weight[n - 2] = both
            n -= 1
    return n


def _platt(x: Floats, y: Floats, w: Floats) -> tuple[Floats, Floats]:
    """The slope and the shift, by Newton's method; `y` is from 0 to 1."""
    n = exact_sum(w)
    middle = exact_sum(w * x) / n
    scale = np.sqrt(exact_sum(w * (x - middle) ** 2) / n)
    if not scale > 0:
        raise _useless()
    s = (x - middle) / scale
    relevant = exact_sum(w * y)
    target = y * ((relevant + 1) / (relevant + 2)) + (1 - y) / (n - relevant + 2)
    slope, shift = 0.0, log(exact_sum(w * target) / exact_sum(w * (1 - target)))
    loss = _loss(slope * s + shift, target, w)
    for _ in range(_MOST_STEPS):
        p = sigmoids(slope * s + shift)
        error, curve = w * (p - target), w * p * (1 - p)
        g0, g1 = exact_sum(error), exact_sum(error * s)
        h00, h01, h11 = exact_sum(curve), exact_sum(curve * s), exact_sum(curve * s * s)
        det = h00 * h11 - h01 * h01
        if not det > 0:
            break
        step0, step1 = (h11 * g0 - h01 * g1) / det, (h00 * g1 - h01 * g0) / det
        size = 1.0
        while (new := _loss((slope - size * step1) * s + shift - size * step0, target, w)) > loss and size > 1e-9:
            size /= 2
        if new > loss:
            break
        slope, shift, loss = slope - size * step1, shift - size * step0, new
        if abs(step0) + abs(step1) < 1e-10:
            break
    if slope <= 0:
        raise _useless()
    return np.array([slope / scale]), np.array([shift - slope * middle / scale])


def _loss(z: Floats, target: Floats, w: Floats) -> float:
    return exact_sum(w * losses(z, target))


def losses(z: Floats, target: Floats) -> Floats:
    """log(1 + exp(z)) - target z, with the same bits everywhere."""
    found = np.empty(len(z))
    _write_losses(np.ascontiguousarray(z), target, found)
    return found


@kernel
def _write_losses(z: Floats, target: Floats, found: Floats) -> None:
    for k in range(len(z)):
        found[k] = max(z[k], 0.0) + log(1.0 + exp(-abs(z[k]))) - target[k] * z[k]


def saved_calibration(found: Calibration | None) -> Any:
    """The calibration as plain values for a model file."""
    return None if found is None else list(astuple(found))


def read_calibration(value: Any) -> Calibration | None:
    """The calibration of a model file; ModelFileError if it is wrong."""
    if value is None:
        return None
    try:
        method, target, rel, low, high, scores, values, n_queries = value
        numbers = [rel, low, high, *scores, *values]
        if any(isinstance(each, bool) or not isinstance(each, int | float) for each in (*numbers, n_queries)):
            raise ValueError
        x, y = np.array(scores, np.float64), np.array(values, np.float64)
        right = np.isfinite(np.array(numbers, np.float64)).all() and low < high and len(x) == len(y) and n_queries >= 1
        if method == "platt":
            right = right and len(x) == 1 and x[0] > 0
        else:
            rises = (np.diff(x) > 0).all() and (np.diff(y) > 0).all()
            right = right and len(x) >= 2 and rises and low <= y[0] and y[-1] <= high
        if not right or method not in METHODS or target not in TARGETS:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise ModelFileError("its calibration is not a rising function of the scores.") from None
    return Calibration(
        method, target, float(rel), float(low), float(high), tuple(x.tolist()), tuple(y.tolist()), int(n_queries)
    )
