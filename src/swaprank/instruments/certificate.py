"""The result of a test of local optimality."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from swaprank.arrays import Bools, Floats, Ints
from swaprank.rankers.ranker import Ranker
from swaprank.rendering.figures import axes_for, finish_chart, new_axes, save_figure
from swaprank.rendering.result import Result
from swaprank.rendering.tables import Blocks

RISE = 1e-12
"""Smaller differences may come from rounding."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Result):
    """The changes of a metric when a ranker's parameters are moved; `str()` summarizes them.

    >>> import swaprank as sr
    >>> (train,) = sr.datasets.random_net((50,), n_features=5, random_state=0)
    >>> isinstance(sr.certify(sr.LambdaRank(n_epochs=1).fit(train), train, epsilon=0.3), sr.instruments.Certificate)
    True
    """

    ranker: Ranker
    """The certified ranker. With polish=True this is the improved ranker, not the given one."""
    metric: str
    parameters: str
    """The parameters that were moved, in words."""
    n_queries: int
    epsilon: float
    delta: float
    value: float
    """The metric of the ranker."""
    steps: Floats
    curves: Floats
    """The metric, directions x steps."""
    weights: Ints
    """The numbers of the parameters that were varied one at a time."""
    weight_curves: Floats
    """The metric, parameters x (up, down) x steps."""
    direction: Floats
    """The direction that reaches the highest value."""
    values: tuple[float, ...]
    """The metric before each round of polishing; the last one is `value`."""

    @property
    def n_directions(self) -> int:
        """The number of tested directions."""
        return len(self.curves)

    @property
    def rises(self) -> Bools:
        """True for each direction that raises the metric at any step."""
        return np.asarray(self.curves.max(axis=1) > self.value + RISE)

    @property
    def n_rising(self) -> int:
        """The number of directions that raise the metric at any step."""
        return int(self.rises.sum())

    @property
    def n_weights_rising(self) -> int:
        """The number of parameters that raise the metric when varied alone; its gradient has not vanished there."""
        return int((self.weight_curves > self.value + RISE).any(axis=(1, 2)).sum())

    @property
    def passed(self) -> bool:
        """True if no direction raises the metric."""
        return self.n_rising == 0

    @property
    def highest(self) -> int:
        """The number of the direction that reaches the highest value."""
        return highest_curve(self.curves)

    def from_zero(self) -> tuple[Floats, Floats]:
        """Steps and curves to draw: as `steps` and `curves`, but beginning with step 0."""
        start = np.full((self.n_directions, 1), self.value)
        return np.append(0.0, self.steps), np.hstack((start, self.curves))

    def _blocks(self) -> Blocks:
        low, high = f"{self.steps.min():g}", f"{self.steps.max():g}"
        lines = [
            f"{self.metric} is {self.value:.6f} over {self.n_queries:,} queries. Moved: {self.parameters}, by steps of "
            f"{low} to {high}.",
            f"All parameters together: {self.n_rising:,} of {self.n_directions:,} random directions raise it.",
        ]
        if len(self.weights):
            lines.append(f"One parameter at a time: {self.n_weights_rising:,} of {len(self.weights):,} raise it.")
        if len(self.values) > 1:
            lines.append(f"Polished in {len(self.values) - 1} rounds, from {self.values[0]:.6f}.")
        return ["\n".join([*lines, self.verdict()])]

    def verdict(self) -> str:
        """The result of the test as text, with its confidence."""
        if (self.curves == self.value).all():
            return (
                f"No tested step changes {self.metric}. This is formally a local optimum, but the test says nothing "
                "about a ranker whose parameters have no effect."
            )
        if self.passed:
            confidence = f"{100 * (1 - self.delta):g}%"
            text = (
                f"A local optimum, with {confidence} confidence: if at least {100 * self.epsilon:g}% of all directions "
                f"raised {self.metric} at one of these steps, the test of {self.n_directions:,} directions would have "
                f"found one with a probability of at least {confidence}."
            )
            if not self.n_weights_rising:
                return text
            return f"{text} However, some parameters raise it alone; the random directions missed them."
        curve = self.curves[self.highest]
        return (
            f"Not a local optimum: direction {self.highest} raises {self.metric} to {curve.max():.6f} at step "
            f"{self.steps[curve.argmax()]:g}. Polish the ranker to "
            "follow this direction."
        )

    def _values(self) -> dict[str, Any]:
        first = ("passed", "metric", "value", "n_queries", "parameters", "epsilon", "delta", "steps")
        return {
            **{name: getattr(self, name) for name in (*first, "n_directions", "n_rising")},
            "n_weights": len(self.weights),
            "n_weights_rising": self.n_weights_rising,
            "polishing": self.values,
            "verdict": self.verdict(),
        }

    def _columns(self) -> dict[str, list[Any]]:
        """One row per direction and step, with the value of the metric there."""
        directions, steps = np.indices(self.curves.shape)
        return {
            "direction": directions.ravel().tolist(),
            "step": self.steps[steps.ravel()].tolist(),
            "value": self.curves.ravel().tolist(),
        }

    def plot(self, ax: Any = None, *, n_directions: int = 4) -> Any:
        """Draw the metric along some directions and the highest one, as in [Donmez2009, Figures 1 to 4 and 6].

        Args:
            ax: The Matplotlib axes to draw on; new ones if None.
            n_directions: The number of directions, beside the highest one.

        Returns:
            The axes.
        """
        axes, (steps, curves) = axes_for(ax), self.from_zero()
        for at in sorted({*range(min(n_directions, self.n_directions)), self.highest}):
            is_highest = at == self.highest
            style = {"color": "black", "linestyle": "--"} if is_highest else {"marker": "o"}
            label = f"direction {at}" + (", the highest" if is_highest else "")
            axes.plot(steps, curves[at], label=label, **style)
        verdict = f"{self.n_rising} of {self.n_directions} directions rise"
        return finish_chart(axes, f"{self.metric}: {verdict}", "step", self.metric)

    def draw(self, path: str | Path, n_directions: int = 4) -> None:
        """Draw this picture into a file (.svg, .png, .pdf)."""
        save_figure(self.plot(new_axes(), n_directions=n_directions), Path(path))


def highest_curve(curves: Floats) -> int:
    """The number of the curve that reaches the highest value.

    >>> import numpy as np
    >>> from swaprank.instruments.certificate import highest_curve
    >>> highest_curve(np.array([[0.1, 0.4], [0.5, 0.2]]))
    1
    """
    return int(curves.max(axis=1).argmax())
