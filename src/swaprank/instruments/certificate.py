"""What a test of local optimality found, in numbers and in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import Bools, Floats, Ints
from swaprank.rankers.ranker import Ranker

RISE = 1e-12
"""Sums in another order differ by less."""


class Certificate(NamedTuple):
    """What happens to a metric when a ranker's parameters are moved; `str()` puts it into words.

    >>> import swaprank as sr
    >>> (train,) = sr.datasets.random_net((50,), n_features=5, random_state=0)
    >>> isinstance(sr.certify(sr.LambdaRank(n_epochs=1).fit(train), train, epsilon=0.3), sr.Certificate)
    True
    """

    ranker: Ranker
    """What was certified: a better ranker than the one given, if that was polished."""
    metric: str
    parameters: str
    """What was moved, in words."""
    n_queries: int
    epsilon: float
    delta: float
    value: float
    """The metric where the ranker is."""
    steps: Floats
    curves: Floats
    """The metric, directions x steps."""
    weights: Ints
    """Which parameters were varied alone."""
    weight_curves: Floats
    """The metric, parameters x (up, down) x steps."""
    direction: Floats
    """The direction that rises highest, or falls least."""
    values: tuple[float, ...]
    """The metric before each round of polishing, and last `value`."""

    @property
    def n_directions(self) -> int:
        """Directions that were tried."""
        return len(self.curves)

    @property
    def rises(self) -> Bools:
        """Whether each direction ever rises."""
        return np.asarray(self.curves.max(axis=1) > self.value + RISE)

    @property
    def n_rising(self) -> int:
        """Directions that ever rise."""
        return int(self.rises.sum())

    @property
    def n_weights_rising(self) -> int:
        """Parameters that, varied alone, ever raise the metric: where its gradient has not vanished."""
        return int((self.weight_curves > self.value + RISE).any(axis=(1, 2)).sum())

    @property
    def passed(self) -> bool:
        """Whether no direction ever rises."""
        return self.n_rising == 0

    def __str__(self) -> str:
        low, high = f"{self.steps.min():g}", f"{self.steps.max():g}"
        lines = [
            f"{self.metric} is {self.value:.6f} over {self.n_queries:,} queries; moved were {self.parameters}, "
            f"by steps of {low} to {high}.",
            f"Together, in random directions: {self.n_rising:,} of {self.n_directions:,} raise it.",
        ]
        if len(self.weights):
            lines.append(f"Each alone, up and down: {self.n_weights_rising:,} of {len(self.weights):,} raise it.")
        if len(self.values) > 1:
            lines.append(f"Polished in {len(self.values) - 1} rounds, from {self.values[0]:.6f}.")
        return "\n".join([*lines, self.verdict()])

    def verdict(self) -> str:
        """The confidence statement, in words."""
        if (self.curves == self.value).all():
            return (
                f"Nothing that was tried changes {self.metric}: a local optimum by the letter, but the test says "
                "nothing of a ranker whose parameters do not matter."
            )
        if self.passed:
            words = (
                f"A local optimum, with {100 * (1 - self.delta):g}% confidence: if {100 * self.epsilon:g}% of all "
                f"directions or more raised {self.metric} at one of these steps, one of {self.n_directions:,} would "
                f"have done so with a probability of at least {100 * (1 - self.delta):g}%."
            )
            if not self.n_weights_rising:
                return words
            return f"{words} But some parameters raise it alone, which random directions have missed."
        at = int(self.curves.max(axis=1).argmax())
        step = self.steps[self.curves[at].argmax()]
        return (
            f"Not a local optimum: direction {at} raises {self.metric} to {self.curves[at].max():.6f} at a step of "
            f"{step:g} (certificate.direction has it; polish=True, or --polish, follows it)."
        )

    def to_dict(self) -> dict[str, Any]:
        """The verdict and the counts behind it, as plain Python values."""
        return {
            "passed": self.passed,
            "metric": self.metric,
            "value": self.value,
            "n_queries": self.n_queries,
            "parameters": self.parameters,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "steps": self.steps.tolist(),
            "n_directions": self.n_directions,
            "n_rising": self.n_rising,
            "n_weights": len(self.weights),
            "n_weights_rising": self.n_weights_rising,
            "polishing": list(self.values),
            "verdict": self.verdict(),
        }

    def draw(self, path: str | Path, n_directions: int = 4) -> None:
        """Draw the metric along some directions into a file, as [Donmez2009, Figures 1 to 4 and 6]."""
        from swaprank.instruments.instrument_figures import draw_certificate

        draw_certificate(self, Path(path), n_directions)
