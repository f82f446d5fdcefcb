"""Do clicks depend on each other? In the position-based model they do not, once document and place are known.

Rows of the same document at the same place are a stratum. The position-based model says that their click rate is the
same with and without a click above. So of the stratum's clicks, the share that is expected below a click is the share
of its rows there, with the variance of draws without replacement [Mantel1959]. Nothing is estimated, so that documents
that were shown three times tell their part, too.

In the same way, the click rate of a document at a place must not depend on what stands below it; nor, with the same
documents above, if people read from top to bottom. If it does, pages are not for everybody the same: a personalised
ranker shows a document high to those who like it, and the page tells who the user is.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import Floats, Ints
from swaprank.clicks.logs.click_counts import sums
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.clicks.models.shown_pages import clicks_above, pages_of
from swaprank.kernels import kernel

_DISTANCES = 4
"""Last clicks 1, 2, 3, and 4 or more places above are told apart."""
_LEAST_EXPECTED = 5.0
"""For the distribution of chi-squared: the least expected number of clicks, and of none, on each side."""
SIGNIFICANT = 3.0
"""Standard deviations from what is expected that are hardly luck, also with several looks at the same log."""
_ADVICE = "Compare click models on held-out pages, and train with the best one."
_MATERIAL = 0.05
"""A smaller share of the expected clicks does no harm, however certain it is."""


class Dependence(NamedTuple):
    """Observed and expected clicks of some rows, and how many standard deviations they are apart."""

    where: str
    rows: int
    observed: int
    expected: float
    z: float

    @property
    def ratio(self) -> float:
        """Observed over expected clicks."""
        return self.observed / self.expected if self.expected > 0 else float("nan")


class NextDependence(NamedTuple):
    """Whether click rates depend on what is right below: squared deviations, 1 per degree of freedom if they do not."""

    n_compared: int
    """Documents, each with its place, that were shown often above different ones."""
    freedom: int
    chi_squared: float

    @property
    def z(self) -> float:
        """The deviation as standard deviations of a normal distribution, by the cube root [Wilson1931]."""
        if self.freedom == 0:
            return float("nan")
        spread = 2.0 / (9.0 * self.freedom)
        return float((np.cbrt(self.chi_squared / self.freedom) - (1.0 - spread)) / np.sqrt(spread))

    @property
    def is_harmful(self) -> bool:
        """True if the deviations are hardly luck."""
        return self.z > SIGNIFICANT


def clicks_below_clicks(log: ClickLog) -> list[Dependence]:
    """Clicks below a click, first all of them, then by the distance of the last click above."""
    rank, above = np.empty((2, log.n_rows), np.int64)
    # Distances are of rows: pages may have gaps.
    pages = pages_of(log, np.arange(log.max_position + 1))._replace(
        place=np.arange(log.n_rows) - log.indptr[log.session]
    )
    clicks_above(pages, rank, above)
    distance = np.where(above > 0, np.minimum(pages.place + 1 - rank, _DISTANCES), 0)
    stratum = log.document * (log.max_position + 1) + log.position
    key = np.sort((stratum * (_DISTANCES + 1) + distance) * 2 + pages.click)
    click, key = key & 1, key >> 1
    stratum, distance = np.divmod(key, _DISTANCES + 1)
    number = np.cumsum(np.concatenate(([0], stratum[1:] != stratum[:-1])))
    cell, size = number * (_DISTANCES + 1) + distance, (int(number[-1]) + 1) * (_DISTANCES + 1)
    shown = sums(cell, np.ones(len(cell)), size).reshape(-1, _DISTANCES + 1)
    clicked = sums(cell, click.astype(np.float64), size).reshape(-1, _DISTANCES + 1)
    names = [f"last click {d} above" for d in range(1, _DISTANCES)] + [f"last click {_DISTANCES} or more above"]
    found = [_compared(names[d - 1], shown, clicked, [d]) for d in range(1, _DISTANCES + 1)]
    return [_compared("below a click", shown, clicked, list(range(1, _DISTANCES + 1))), *found]


def _compared(where: str, shown: Floats, clicked: Floats, chosen: list[int]) -> Dependence:
    n, c = shown.sum(axis=1), clicked.sum(axis=1)
    part, hits = shown[:, chosen].sum(axis=1), clicked[:, chosen].sum(axis=1)
    both = (part > 0) & (part < n)
    n, c, part, hits = n[both], c[both], part[both], hits[both]
    expected = part * c / n
    variance = float((part * (n - part) / n * c * (n - c) / (n * (n - 1.0))).sum())
    z = float((hits - expected).sum() / np.sqrt(variance)) if variance > 0 else float("nan")
    return Dependence(where, int(part.sum()), int(hits.sum()), float(expected.sum()), z)


def dependence_on_next(log: ClickLog, *, same_above: bool) -> NextDependence:
    """Compare the click rate of documents at the same place between pages with different documents right below.

    `same_above` compares only pages with the same documents above, for people who read from top to bottom.
    """
    stratum = log.document * (log.max_position + 1) + log.position
    if same_above:
        down_to = np.empty(log.n_rows, np.uint64)
        _number_pages(log.indptr, stratum, down_to)
        stratum = down_to.view(np.int64)
    is_last = np.append(log.session[1:] != log.session[:-1], True)
    below = np.where(is_last, -1, np.append(log.document[1:], -1))
    order = np.lexsort((below, stratum))
    stratum, below, click = stratum[order], below[order], (log.click[order] > 0).astype(np.float64)
    starts = np.flatnonzero(np.concatenate(([True], (below[1:] != below[:-1]) | (stratum[1:] != stratum[:-1]))))
    shown, clicked = np.diff(np.append(starts, len(click))).astype(np.float64), np.add.reduceat(click, starts)
    number = np.cumsum(np.concatenate(([0], stratum[starts][1:] != stratum[starts][:-1])))
    return _between_groups(number, shown, clicked)


def _between_groups(stratum: Ints, shown: Floats, clicked: Floats) -> NextDependence:
    """Pearson's chi-squared within strata. Groups that were seldom shown are taken together, or left out."""
    rate = np.bincount(stratum, clicked) / np.bincount(stratum, shown)
    rarer = np.minimum(rate, 1.0 - rate)
    common = shown * rarer[stratum] >= _LEAST_EXPECTED
    # The others of a stratum share a number.
    group = np.unique(np.where(common, np.arange(len(stratum)), -1 - stratum), return_inverse=True)[1]
    of_group = np.empty(int(group.max()) + 1, np.int64)
    of_group[group] = stratum
    shown, clicked = sums(group, shown, len(of_group)), sums(group, clicked, len(of_group))
    kept = shown * rarer[of_group] >= _LEAST_EXPECTED
    stratum, shown, clicked = of_group[kept], shown[kept], clicked[kept]
    n, c, groups = np.bincount(stratum, shown), np.bincount(stratum, clicked), np.bincount(stratum)
    chosen = (groups[stratum] > 1) & (c[stratum] > 0) & (c[stratum] < n[stratum])
    stratum, shown, clicked = stratum[chosen], shown[chosen], clicked[chosen]
    p, of_n = (c / np.maximum(n, 1.0))[stratum], n[stratum]
    squares = (clicked - shown * p) ** 2 / (shown * p * (1.0 - p)) * (of_n - 1.0) / of_n
    n_strata = len(np.unique(stratum))
    return NextDependence(n_strata, len(stratum) - n_strata, float(squares.sum()))


@kernel
def _number_pages(indptr: Ints, stratum: Ints, down_to: NDArray[np.uint64]) -> None:
    """Write numbers that tell apart what stands down to each row."""
    for page in range(len(indptr) - 1):
        number = np.uint64(1469598103934665603)
        for row in range(indptr[page], indptr[page + 1]):
            number = (number ^ np.uint64(stratum[row])) * np.uint64(0x9E3779B97F4A7C15)
            number ^= number >> np.uint64(29)
            down_to[row] = number


def quick_check(log: ClickLog) -> list[str]:
    """Sentences about what contradicts the position-based model, from one look at the clicks; [] if nothing does.

    A log with propensities may come from a ranker that knows its users.

    >>> import swaprank as sr
    >>> from swaprank.clicks.models.click_dependence import quick_check
    >>> (data,) = sr.datasets.random_search(20, random_state=0)
    >>> log, _ = sr.datasets.clicks(data, data.column("match"), 3000, n_shown=5, model="cascade", random_state=0)
    >>> print(*quick_check(log))
    People stop after a click: ...
    """
    below_clicks = clicks_below_clicks(log)
    if log.propensity is not None:
        return dependence_sentences(below_clicks, None)
    return dependence_sentences(below_clicks, dependence_on_next(log, same_above=harmful(below_clicks) is not None))


def harmful(found: Sequence[Dependence]) -> Dependence | None:
    """The first difference that is hardly luck, and not small. Of several distances, one must be farther off."""
    limits = [SIGNIFICANT] + [SIGNIFICANT + 1.0] * (len(found) - 1)
    wrong = (
        each
        for each, limit in zip(found, limits, strict=True)
        if abs(each.z) > limit and abs(each.ratio - 1.0) > _MATERIAL
    )
    return next(wrong, None)


def dependence_sentences(found: Sequence[Dependence], below: NextDependence | None) -> list[str]:
    """What clicks below clicks and documents below documents mean, and what to do; [] if they do no harm."""
    sentences = _below_clicks_sentences(found)
    if below is not None and below.is_harmful:
        sentences.append(
            "What stands below a document tells how likely it is clicked, at the same place"
            f"{' and under the same documents' if sentences else ''} (z = {below.z:+.1f}, {below.n_compared:,} "
            "documents compared): documents move for a reason that has to do with the user, as by a personalised "
            "ranker, or people look at the whole page. What documents that moved tell about position bias is then "
            "wrong. Swap neighbours at random and estimate from swaps, or log propensities."
        )
    return sentences


def _below_clicks_sentences(found: Sequence[Dependence]) -> list[str]:
    whole = harmful(found)
    if whole is None:
        return []
    size = f"(observed {whole.observed:,}, expected {whole.expected:,.0f}, z = {whole.z:+.1f})"
    if whole is not found[0]:
        return [
            f"Clicks depend on the clicks above: {whole.where}, there are {abs(1 - whole.ratio):.0%} "
            f"{'more' if whole.ratio > 1 else 'fewer'} clicks than the position explains {size}. {_ADVICE}"
        ]
    if whole.ratio < 1:
        return [
            f"People stop after a click: below one, there are {1 - whole.ratio:.0%} fewer clicks than the position "
            f"explains {size}. So what is examined depends on the documents above, and estimates from positions alone "
            f"are off. {_ADVICE}"
        ]
    return [
        f"Clicks come together: below one, there are {whole.ratio - 1:.0%} more clicks than the position explains "
        f"{size}. People differ, or go on reading where they clicked. {_ADVICE}"
    ]
