"""Goals beside the metric: a metric of other labels, with a weight or with a value that it must not fall below.

    0.3 ndcg@5(gain=linear) of revenue                  counts 0.3
    dcg@5(gain=linear) of revenue >= 12.5               is at least 12.5
    dcg@5(gain=linear) of revenue >= 99% of bm25        is at least 99% of what the scores in the column bm25 have

Labels and scores are side columns of a data set, or features, because what a shop wants more of is often a feature.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.data.row_values import number_column
from swaprank.data.side_columns import number_values
from swaprank.errors import DataError, ParameterError, did_you_mean
from swaprank.metrics.metric import BoundMetric, Metric, bind_metric
from swaprank.metrics.parse import metric as parse_metric
from swaprank.parameters import Bounds, check_parameter

_WRITTEN = re.compile(
    r"\s*(?:(?P<weight>[0-9][0-9.eE+-]*)\s*\*?\s+)?(?P<metric>[^\s>(]+(?:\([^()]*\))?(?:@[0-9]+)?)"
    r"(?:\s+of\s+(?P<of>.+?))?"
    r"(?:\s*>=\s*(?P<least>[0-9][0-9.eE+-]*)\s*(?:(?P<percent>%)\s+of\s+(?P<reference>.+?))?)?\s*"
)
_EXAMPLES = "'0.3 ndcg@5(gain=linear) of revenue' or 'dcg@5(gain=linear) of revenue >= 99% of bm25'"


@final
@dataclass(frozen=True)
class Goal:
    """A metric of the labels in one column.

    Args:
        metric: The metric, or its name.
        of: The side column or feature with the labels. None: the labels of the data.
        weight: How much it counts, if it has no floor.
        at_least: The value that it must not fall below; with a reference, the share of its value.
        reference: The side column or feature with the scores to compare with.

    >>> import swaprank as sr
    >>> goal = sr.objectives.Goal.parse("0.3 ndcg@5(gain=linear) of revenue")
    >>> goal.of, goal.weight, str(goal)
    ('revenue', 0.3, 'ndcg@5(gain=linear) of revenue')
    >>> goal = sr.objectives.Goal.parse("dcg@5(gain=linear) of revenue >= 99% of bm25")
    >>> goal.at_least, goal.reference
    (0.99, 'bm25')
    """

    metric: Metric
    of: str | None = None
    weight: float = 1.0
    at_least: float | None = None
    reference: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "metric", parse_metric(self.metric))
        check_parameter("weight", self.weight, Bounds(False, 0, 1e6))
        check_parameter("at_least", self.at_least, Bounds(False, 0, np.inf, open_low=True, optional=True))
        if self.reference is not None and self.at_least is None:
            raise ParameterError(f"{self}: a reference needs at_least, the share of its value to keep.")

    @classmethod
    def parse(cls, text: "str | Goal") -> "Goal":
        """A goal from its text; a goal is returned as it is."""
        if isinstance(text, Goal):
            return text
        written = _WRITTEN.fullmatch(text) if isinstance(text, str) else None
        if written is None:
            raise ParameterError(f"{text!r} is not a goal: write for example {_EXAMPLES}.")
        weight, least = _number(written["weight"], text), _number(written["least"], text)
        if weight is not None and least is not None:
            raise ParameterError(f"'{text}' has a weight and a floor: a goal has one of them.")
        share = least / 100 if least is not None and written["percent"] else least
        return cls(
            parse_metric(written["metric"]), written["of"], 1.0 if weight is None else weight, share,
            written["reference"],
        )  # fmt: skip

    def __str__(self) -> str:
        return str(self.metric) if self.of is None else f"{self.metric} of {self.of}"

    def relabeled(self, data: Dataset) -> Dataset:
        """The data with the labels of the goal."""
        return data if self.of is None else data.replace(labels=column_values(data, self.of, str(self)))

    def bind(self, data: Dataset) -> BoundMetric:
        """The metric of the goal's labels, to measure scores that are grouped by query."""
        return bind_metric(self.metric, self.relabeled(data))


def _number(text: str | None, whole: str) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        raise ParameterError(
            f"'{whole}' is not a goal: '{text}' is not a number. Write for example {_EXAMPLES}."
        ) from None


def parse_goals(given: Any) -> tuple[Goal, ...]:
    """Goals as users give them: one text, with semicolons between several, or a sequence of texts.

    >>> from swaprank.objectives.goals import parse_goals
    >>> [str(goal) for goal in parse_goals("0.5 map of clicked; dcg@5(gain=linear) of revenue >= 2")]
    ['map of clicked', 'dcg@5(gain=linear) of revenue']
    """
    if given is None:
        return ()
    texts = [text for text in given.split(";") if text.strip()] if isinstance(given, str) else given
    if not isinstance(texts, Sequence) or isinstance(texts, bytes):
        raise ParameterError(f"goals must be a text or a list of texts, such as {_EXAMPLES}; found {given!r:.80}.")
    goals = tuple(Goal.parse(text) for text in texts)
    names = [str(goal) for goal in goals]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"there are two goals '{name}': give one weight or one floor.")
    return goals


def column_values(data: Dataset, name: str, goal: str) -> Floats:
    """A number per row: the side column of this name, or the feature."""
    if name in data.columns:
        return number_values(data.columns, name)
    if name not in data.feature_names:
        known = did_you_mean(name, [*data.columns, *data.feature_names])
        raise DataError(f"the goal '{goal}' needs '{name}', which is no side column and no feature; {known}")
    if name in data.categories:
        raise DataError(f"the goal '{goal}' needs numbers, but '{name}' is categorical.")
    return number_column(f"the feature '{name}'", data.column(name), len(data))
