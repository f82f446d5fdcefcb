"""Summary statistics of a data set: sizes, labels, missing values and useless features."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from swaprank.arrays import Floats, row_blocks
from swaprank.data.dataset import Dataset

if TYPE_CHECKING:
    from swaprank.data.binned_features import BinnedFeatures

_LABELS_SHOWN = 20
_NAMES_SHOWN = 12


@final
@dataclass(frozen=True)
class Summary:
    """Summary statistics of a data set, as text or JSON.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1, 0], [2, 0]], [0, 1], qid=[1, 1])
    >>> sr.data.summarize(data).all_zero
    ['2']
    """

    n_documents: int
    n_queries: int
    n_features: int
    list_lengths: dict[str, float]
    """Documents per query: min, median, mean, max."""
    labels: dict[str, int]
    """How often each label occurs; empty if there are more than 20 distinct labels."""
    label_range: tuple[float, float]
    n_one_label: int
    """Queries whose documents all have the same label, so every order is equally good."""
    n_without_relevant: int
    """Queries without a label above 0."""
    categorical: dict[str, int]
    """The number of categories of each categorical feature."""
    missing: dict[str, int]
    """The number of missing values of each feature that has any."""
    constant: list[str]
    """Features with a single value other than 0, or with a single category."""
    all_zero: list[str]
    """Features that are 0 everywhere, as numbers."""
    has_docid: bool
    is_grouped: bool
    """Whether the rows of each query are contiguous."""
    is_binned: bool
    """Whether there are bins instead of values; which features are all zero is then not known."""

    def to_json(self) -> str:
        """The statistics as JSON."""
        return json.dumps(asdict(self), indent=2)

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, bar: str = "█") -> str:
        """The statistics as a table; the histogram of labels is drawn with the character `bar`.

        >>> import swaprank as sr
        >>> print(sr.data.summarize(sr.Dataset([[1], [2]], [0, 1], qid=[1, 1])).to_text("#").splitlines()[4])
        label 0                                       1   50.0%  ##############################
        """
        lengths = self.list_lengths
        rows = [
            ("documents", f"{self.n_documents:,}" + (" with ids" if self.has_docid else "")),
            ("queries", f"{self.n_queries:,}" + ("" if self.is_grouped else ", their rows scattered")),
            ("features", f"{self.n_features:,}" + (" as bins" if self.is_binned else "")),
            (
                "list length",
                f"{lengths['min']:g} to {lengths['max']:g}, median {lengths['median']:g}, mean {lengths['mean']:.1f}",
            ),
            *self._label_rows(bar),
            ("queries without a relevant document", f"{self.n_without_relevant:,}"),
            ("queries with one label only", f"{self.n_one_label:,}"),
            *self._categorical_rows(),
            ("features with missing values", _named([f"{n} ({c:,})" for n, c in self.missing.items()])),
            ("constant features", _named(self.constant)),
            *([] if self.is_binned else [("all-zero features", _named(self.all_zero))]),
        ]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name.ljust(width)}  {value}".rstrip() for name, value in rows)

    def _categorical_rows(self) -> list[tuple[str, str]]:
        if not self.categorical:
            return []
        return [("categorical features", _named([f"{n} ({c:,} values)" for n, c in self.categorical.items()]))]

    def _label_rows(self, bar: str) -> list[tuple[str, str]]:
        if not self.labels:
            return [("labels", f"real numbers from {self.label_range[0]:g} to {self.label_range[1]:g}")]
        most = max(self.labels.values())
        return [
            (
                f"label {label}",
                f"{count:>10,}  {count / self.n_documents:6.1%}  {bar * max(1, round(30 * count / most))}",
            )
            for label, count in self.labels.items()
        ]


def summarize(data: Dataset) -> Summary:
    """Summarize a data set.

    >>> import swaprank as sr
    >>> print(sr.data.summarize(sr.datasets.random_net((20,), n_features=3, random_state=0)[0]))
    documents                            1,000
    queries                              20
    features                             3
    list length                          50 to 50, median 50, mean 50.0
    label 0                                     167   16.7%  ██████████████████████████████
    label 1                                     166   16.6%  ██████████████████████████████
    label 2                                     167   16.7%  ██████████████████████████████
    label 3                                     166   16.6%  ██████████████████████████████
    label 4                                     167   16.7%  ██████████████████████████████
    label 5                                     167   16.7%  ██████████████████████████████
    queries without a relevant document  0
    queries with one label only          0
    features with missing values         none
    constant features                    none
    all-zero features                    none
    """
    lengths = np.diff(data.indptr)
    labels = data.by_query(data.labels)
    lowest = np.minimum.reduceat(labels, data.indptr[:-1])
    highest = np.maximum.reduceat(labels, data.indptr[:-1])
    missing, constant, all_zero = _feature_findings(data)
    return Summary(
        n_documents=len(data),
        n_queries=data.n_queries,
        n_features=data.n_features,
        list_lengths={
            "min": int(lengths.min()),
            "median": float(np.median(lengths)),
            "mean": float(lengths.mean()),
            "max": int(lengths.max()),
        },
        labels=_label_counts(labels),
        label_range=(float(labels.min()), float(labels.max())),
        n_one_label=int((lowest == highest).sum()),
        n_without_relevant=int((highest <= 0).sum()),
        categorical={name: len(categories) for name, categories in data.categories.items()},
        missing=missing,
        constant=constant,
        all_zero=all_zero,
        has_docid=data.docid is not None,
        is_grouped=data.order is None,
        is_binned=data.is_binned,
    )


def _label_counts(labels: Floats) -> dict[str, int]:
    distinct, counts = np.unique(labels, return_counts=True)
    if len(distinct) > _LABELS_SHOWN:
        return {}
    return {f"{label:g}": int(count) for label, count in zip(distinct, counts, strict=True)}


def _feature_findings(data: Dataset) -> tuple[dict[str, int], list[str], list[str]]:
    """Features with missing values, constant ones and all-zero ones."""
    if data.bins is not None:
        return _bin_findings(data, data.bins)
    missing = np.zeros(data.n_features, np.int64)
    low = np.full(data.n_features, np.inf, np.float32)
    high = np.full(data.n_features, -np.inf, np.float32)
    for rows in row_blocks(len(data), 16_384):
        block = data.features[rows]
        missing += np.isnan(block).sum(axis=0)
        # fmin and fmax ignore NaN.
        low = np.fmin(low, np.fmin.reduce(block, axis=0))
        high = np.fmax(high, np.fmax.reduce(block, axis=0))
    one_value = (low == high) & (missing == 0)
    names = np.array(data.feature_names, dtype=object)
    # The 0 of a categorical feature is its first category.
    zero = one_value & (low == 0) & np.array([name not in data.categories for name in names])
    counts: dict[str, Any] = dict(zip(names[missing > 0].tolist(), missing[missing > 0].tolist(), strict=True))
    return counts, names[one_value & ~zero].tolist(), names[zero].tolist()


def _bin_findings(data: Dataset, bins: BinnedFeatures) -> tuple[dict[str, int], list[str], list[str]]:
    missing = np.zeros(bins.blocks.shape[::2], np.int64)
    for rows in row_blocks(len(data), 16_384):
        missing += (bins.blocks[:, rows] == 0).sum(axis=1)
    n_missing = missing.reshape(-1)[: data.n_features]
    n_values = bins.cuts.n_bins.copy()
    n_values[bins.categorical] = [len(np.unique(codes[~np.isnan(codes)])) for codes in bins.codes]
    names = np.array(data.feature_names, dtype=object)
    counts: dict[str, Any] = dict(zip(names[n_missing > 0].tolist(), n_missing[n_missing > 0].tolist(), strict=True))
    return counts, names[(n_values == 1) & (n_missing == 0)].tolist(), []


def _named(names: list[str]) -> str:
    if not names:
        return "none"
    shown = ", ".join(names[:_NAMES_SHOWN])
    rest = len(names) - _NAMES_SHOWN
    return f"{len(names)}: {shown}" + (f", and {rest} more" if rest > 0 else "")
