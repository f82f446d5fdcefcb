"""Summary statistics of a data set: sizes, labels, missing values and useless features."""

import json
from dataclasses import asdict, dataclass
from html import escape
from typing import final

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset

_LABELS_SHOWN = 20
_NAMES_SHOWN = 12


@final
@dataclass(frozen=True, repr=False)
class Summary:
    """Summary statistics of a data set, as text, as JSON, and as a table in notebooks.

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
    """The number of documents with each label; empty if there are more than 20 distinct labels."""
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
    """True if the rows of each query are contiguous."""
    is_binned: bool
    """True if there are bins instead of values; which features are all zero is then not known."""

    def to_json(self) -> str:
        """The statistics as JSON."""
        return json.dumps(asdict(self), indent=2)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        style = 'style="text-align: left"'
        cells = ((escape(name), escape(value)) for name, value in self._facts("█"))
        rows = (f"<tr><th {style}>{name}</th><td {style}>{value}</td></tr>" for name, value in cells)
        return f"<table>{''.join(rows)}</table>"

    def to_text(self, bar: str = "█") -> str:
        """The statistics as a table; the histogram of labels is drawn with the character `bar`.

        >>> import swaprank as sr
        >>> print(sr.data.summarize(sr.Dataset([[1], [2]], [0, 1], qid=[1, 1])).to_text("#").splitlines()[4])
        label 0                                       1   50.0%  ##############################
        """
        rows = self._facts(bar)
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name.ljust(width)}  {value}".rstrip() for name, value in rows)

    def _facts(self, bar: str) -> list[tuple[str, str]]:
        lengths, categorical = self.list_lengths, [f"{n} ({c:,} values)" for n, c in self.categorical.items()]
        return [
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
            *([("categorical features", _named(categorical))] if categorical else []),
            ("features with missing values", _named([f"{n} ({c:,})" for n, c in self.missing.items()])),
            ("constant features", _named(self.constant)),
            *([] if self.is_binned else [("all-zero features", _named(self.all_zero))]),
        ]

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
    features, names = data.stored.counts(), np.array(data.feature_names, dtype=object)
    some_missing = features.n_missing > 0
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
        missing=dict(zip(names[some_missing].tolist(), features.n_missing[some_missing].tolist(), strict=True)),
        constant=names[features.is_constant & ~features.is_zero].tolist(),
        all_zero=names[features.is_zero].tolist(),
        has_docid=data.docid is not None,
        is_grouped=data.order is None,
        is_binned=data.is_binned,
    )


def _label_counts(labels: Floats) -> dict[str, int]:
    distinct, counts = np.unique(labels, return_counts=True)
    if len(distinct) > _LABELS_SHOWN:
        return {}
    return {f"{label:g}": int(count) for label, count in zip(distinct, counts, strict=True)}


def _named(names: list[str]) -> str:
    if not names:
        return "none"
    shown = ", ".join(names[:_NAMES_SHOWN])
    rest = len(names) - _NAMES_SHOWN
    return f"{len(names)}: {shown}" + (f", and {rest} more" if rest > 0 else "")
