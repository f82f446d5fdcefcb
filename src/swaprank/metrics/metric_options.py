"""The options of metrics, on which tools disagree: allowed values, descriptions, and the presets of other tools."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.elementary import exps2, logs2
from swaprank.errors import MetricError, did_you_mean


def _exp2_gain(labels: Floats) -> Floats:
    # A negative label (spam in TREC) has gain 0, as in trec_eval.
    with np.errstate(over="ignore"):
        return exps2(np.maximum(labels, 0.0)) - 1.0


def _linear_gain(labels: Floats) -> Floats:
    return np.maximum(labels, 0.0)


def _log2_discount(ranks: Ints) -> Floats:
    return 1.0 / logs2(np.asarray(ranks + 1.0))


def _letor_discount(ranks: Ints) -> Floats:
    return 1.0 / logs2(np.maximum(ranks, 2.0))


GAINS: dict[str, Callable[[Floats], Floats]] = {"exp2": _exp2_gain, "linear": _linear_gain}
DISCOUNTS: dict[str, Callable[[Ints], Floats]] = {
    "log2": _log2_discount,
    "letor": _letor_discount,
    "reciprocal": lambda ranks: 1.0 / ranks,
}


@final
@dataclass(frozen=True)
class Choice:
    """An option with a few allowed values, each with a description."""

    words: dict[Any, str]

    def parse(self, text: str) -> Any:
        """The value written as text."""
        for value in self.words:
            if str(value).lower() == text.lower():
                return value
        raise ValueError(did_you_mean(text, map(str, self.words)))

    def check(self, value: Any) -> Any:
        """The value; raises ValueError if it is not allowed."""
        # True == 1, so the type is compared too.
        if not any(type(value) is type(choice) and value == choice for choice in self.words):
            raise ValueError(did_you_mean(str(value), map(str, self.words)))
        return value

    def write(self, value: Any) -> str:
        """The text that `parse` reads."""
        return str(value)

    def describe(self, value: Any, wording: Mapping[str, str]) -> str:
        """Describe the value in words."""
        return self.words[value].format_map(wording)


@final
@dataclass(frozen=True)
class Number:
    """An option that is a finite number between two bounds, both excluded."""

    words: str
    low: float = -np.inf
    high: float = np.inf

    def parse(self, text: str) -> float:
        """The value written as text."""
        try:
            return int(text)
        except ValueError:
            return float(text)

    def check(self, value: Any) -> float:
        """The number, as int if it is whole, so that 2.0 prints as 2; raises ValueError if it is not allowed."""
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            raise ValueError("it must be a number.")
        number = int(value) if isinstance(value, int | np.integer) else float(value)
        if not (-sys.float_info.max <= number <= sys.float_info.max and self.low < number < self.high):
            raise ValueError(self._bounds())
        return int(number) if number == int(number) else number

    def _bounds(self) -> str:
        if self.high < np.inf:
            return f"it must be between {self.low:g} and {self.high:g}."
        return "it must be a finite number." if self.low == -np.inf else f"it must be finite and above {self.low:g}."

    def write(self, value: Any) -> str:
        """The text that `parse` reads."""
        return str(value)

    def describe(self, value: Any, wording: Mapping[str, str]) -> str:
        """Describe the value in words."""
        return self.words.format(value)


@final
@dataclass(frozen=True)
class GainChoice:
    """An option that is the name of a gain, a list with the gain of every label from 0, written 0/1/3/7, or a column.

    Any other name is that of a side column of the data, which has the gains.
    """

    named: Choice

    def parse(self, text: str) -> Any:
        """The value written as text."""
        if "/" in text:
            return tuple(Number("").parse(part) for part in text.split("/"))
        return self.check(text.strip())

    def check(self, value: Any) -> Any:
        """The name, or the list as a tuple; raises ValueError if it is not allowed."""
        # "own" stands for a function in the text of a metric, which cannot be read back.
        if isinstance(value, str) and value not in (*GAINS, "own") and re.fullmatch(r"[^\W\d][\w .-]*", value):
            return value
        if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray):
            return self._named(self.named.check, value)
        gains = tuple(Number("").check(gain) for gain in value)
        if len(gains) < 2:
            raise ValueError("a list must have the gains of two labels or more.")
        if gains[0] < 0 or any(low > high for low, high in zip(gains, gains[1:], strict=False)):
            raise ValueError("the gains of a list must be 0 or more, and must not fall from one label to the next.")
        return gains

    @staticmethod
    def _named(find: Callable[[Any], Any], value: Any) -> Any:
        try:
            return find(value)
        except ValueError as error:
            raise ValueError(f"{error} Or list the gains of the labels from 0: 0/1/3/7.") from None

    def write(self, value: Any) -> str:
        """The text that `parse` reads."""
        return value if isinstance(value, str) else "/".join(map(str, value))

    def describe(self, value: Any, wording: Mapping[str, str]) -> str:
        """Describe the value in words."""
        if isinstance(value, str):
            return self.named.describe(value, wording) if value in GAINS else f"gains of the column '{value}'"
        return f"gains {', '.join(map(str, value))} of the labels 0 to {len(value) - 1}"


OPTIONS: dict[str, Choice | Number | GainChoice] = {
    "gain": GainChoice(Choice({"exp2": "gain 2^l - 1", "linear": "gain l"})),
    "discount": Choice(
        {"log2": "discount 1/log2(1+r)", "letor": "discount 1, 1, then 1/log2(r)", "reciprocal": "discount 1/r"}
    ),
    "normalize": Choice({True: "divided by the best possible sum", False: "not divided by the best possible sum"}),
    "rel": Number("labels from {} are relevant"),
    "over": Choice(
        {
            "relevant": "divided by the number of relevant documents",
            "reachable": "divided by the number of relevant documents, at most k",
        }
    ),
    "p": Number("persistence {}", low=0, high=1),
    "alpha": Number("redundancy counts {} less each time", low=0, high=1),
    "max_label": Number("largest label {}", low=0),
    "swaps": Choice({"exact": "swap gains are exact", "raising": "the gain of a swap that lowers it is 0"}),
    "short": Choice({"as_is": "a list shorter than k is measured as it is", "zero": "a list shorter than k counts 0"}),
    "empty": Choice(
        {
            0: "a query without {needs} counts 0",
            1: "a query without {needs} counts 1",
            "skip": "queries without {needs} are left out",
        }
    ),
    "ties": Choice(
        {
            "expected": "tied scores: {expectation}",
            "input": "tied scores in row order",
            "docid": "tied scores (as float32) by document id, descending",
        }
    ),
}

CONVENTIONS: dict[str, dict[str, Any]] = {
    "standard": {},
    "trec": {"gain": "linear", "ties": "docid"},
    "letor": {"discount": "letor", "short": "zero", "ties": "input"},
    "mslr": {"discount": "letor", "short": "zero", "ties": "input", "rel": 2},
    "lightgbm": {"over": "reachable", "empty": 1, "ties": "input"},
}
"""Presets that reproduce other tools: the options that differ from the standard; a metric ignores those it lacks."""


def check_option(metric: str, name: str, value: Any) -> Any:
    """The value as the option stores it; raises MetricError if the option does not allow it."""
    try:
        return OPTIONS[name].check(value)
    except ValueError as error:
        raise MetricError(f"{metric}: {name} cannot be {value!r}; {error}") from None


def check_cut_off(metric: str, k: Any) -> int:
    """A cut-off as int, so that 10.0 prints as 10."""
    whole = isinstance(k, int | np.integer) or (isinstance(k, float | np.floating) and float(k).is_integer())
    if isinstance(k, bool) or not whole or k < 1:
        raise MetricError(f"{metric}: k must be a whole number from 1, found {k!r}.")
    return int(k)


def parse_option(metric: str, name: str, text: str) -> Any:
    """Parse the value of an option; raises MetricError if the option does not allow it."""
    try:
        return OPTIONS[name].parse(text)
    except ValueError as error:
        raise MetricError(f"{metric}: {name} cannot be '{text}'; {error}") from None


def tabulate(function: Callable[[Any], Any], values: AnyArray, role: str, metric: object) -> Floats:
    """function(value) for every value, called once per distinct value."""
    distinct, where = np.unique(values, return_inverse=True)
    results = np.empty(len(distinct))
    for at, value in enumerate(distinct.tolist()):
        try:
            results[at] = function(value)
        except Exception as error:
            raise MetricError(f"{metric}: {role}({value!r}) failed: {type(error).__name__}: {error}.") from error
        if not np.isfinite(results[at]):
            raise MetricError(f"{metric}: {role}({value!r}) returned {results[at]}; it must return a finite number.")
    return results[where.reshape(values.shape)]


def listed_gains(gains: Sequence[float], labels: Floats, metric: object) -> Floats:
    """gains[label] for every label; 0 for a negative one, as for other gains."""
    if len(labels) and (largest := labels.max()) > len(gains) - 1:
        raise MetricError(
            f"{metric}: label {largest:g} has no gain; the list has those of the labels 0 to {len(gains) - 1}."
        )
    fractions = labels[labels != np.floor(labels)]
    if len(fractions):
        raise MetricError(
            f"{metric}: label {fractions[0]:g} has no gain, because a list has those of whole labels; "
            "give a function, or choose gain=linear."
        )
    return np.append(gains, 0.0)[np.maximum(labels, -1.0).astype(np.int64)]
