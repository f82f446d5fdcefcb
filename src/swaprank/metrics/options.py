"""The choices that make two tools disagree about one metric: what each may be, and what it says in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.errors import MetricError, did_you_mean


def _exp2_gain(labels: Floats) -> Floats:
    # A negative label (TREC marks spam so) is worth nothing, as in trec_eval.
    return np.exp2(np.maximum(labels, 0.0)) - 1.0


def _linear_gain(labels: Floats) -> Floats:
    return np.maximum(labels, 0.0)


def _log2_discount(ranks: Ints) -> Floats:
    logarithms: Floats = np.log2(ranks + 1.0)
    return 1.0 / logarithms


def _letor_discount(ranks: Ints) -> Floats:
    return 1.0 / np.log2(np.maximum(ranks, 2))


GAINS: dict[str, Callable[[Floats], Floats]] = {"exp2": _exp2_gain, "linear": _linear_gain}
DISCOUNTS: dict[str, Callable[[Ints], Floats]] = {
    "log2": _log2_discount,
    "letor": _letor_discount,
    "reciprocal": lambda ranks: 1.0 / ranks,
}


@dataclass(frozen=True)
class Choice:
    """One of a few values, each with its meaning in words."""

    words: dict[Any, str]

    def parse(self, text: str) -> Any:
        """The value written as text."""
        for value in self.words:
            if str(value) == text.lower():
                return value
        raise ValueError(did_you_mean(text, map(str, self.words)))

    def check(self, value: Any) -> None:
        """Refuse what is not a choice."""
        if value not in self.words:
            raise ValueError(did_you_mean(str(value), map(str, self.words)))

    def describe(self, value: Any) -> str:
        """The choice in words."""
        return self.words[value]


@dataclass(frozen=True)
class Number:
    """A finite number between two bounds, both open."""

    words: str
    low: float = -np.inf
    high: float = np.inf

    def parse(self, text: str) -> float:
        """The value written as text."""
        number = float(text)
        return int(number) if number.is_integer() else number

    def check(self, value: Any) -> None:
        """Refuse what is not a number or out of bounds."""
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise ValueError("it must be a number.")
        if not (np.isfinite(value) and self.low < value < self.high):
            raise ValueError(f"it must lie between {self.low:g} and {self.high:g}.")

    def describe(self, value: Any) -> str:
        """The number in words."""
        return self.words.format(value)


OPTIONS: dict[str, Choice | Number] = {
    "gain": Choice({"exp2": "gain 2^l - 1", "linear": "gain l"}),
    "discount": Choice(
        {
            "log2": "discount 1/log2(1+r)",
            "letor": "discount 1, 1, then 1/log2(r)",
            "reciprocal": "discount 1/r",
        }
    ),
    "rel": Number("relevant from label {:g}"),
    "p": Number("persistence {:g}", low=0, high=1),
    "max_label": Number("largest label {:g}", low=0),
    "short": Choice({"as_is": "a list shorter than k as it is", "zero": "a list shorter than k counts 0"}),
    "empty": Choice(
        {
            0: "a query without a relevant document counts 0",
            1: "a query without a relevant document counts 1",
            "skip": "queries without a relevant document are left out",
        }
    ),
    "ties": Choice(
        {
            "expected": "tied scores: expected value over their orders",
            "input": "tied scores in row order",
            "docid": "tied scores (as float32) by document id, descending",
        }
    ),
}


def check_option(metric: str, name: str, value: Any) -> None:
    """Refuse a value that the option does not take."""
    try:
        OPTIONS[name].check(value)
    except ValueError as error:
        raise MetricError(f"{metric}: {name} cannot be {value!r}; {error}") from None


def parse_option(metric: str, name: str, text: str) -> Any:
    """An option's value from its text."""
    try:
        return OPTIONS[name].parse(text)
    except ValueError as error:
        raise MetricError(f"{metric}: {name} cannot be '{text}'; {error}") from None


def tabulate(function: Callable[[Any], Any], values: AnyArray, role: str, metric: object) -> Floats:
    """function(value) for every value, called once for each distinct one."""
    distinct, where = np.unique(values, return_inverse=True)
    results = np.empty(len(distinct))
    for at, value in enumerate(distinct.tolist()):
        try:
            results[at] = function(value)
        except Exception as error:
            raise MetricError(f"{metric}: {role}({value!r}) failed: {type(error).__name__}: {error}.") from error
        if not np.isfinite(results[at]):
            raise MetricError(f"{metric}: {role}({value!r}) gave {results[at]}; it must give a finite number.")
    return results[where.reshape(values.shape)]
