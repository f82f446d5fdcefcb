"""Position bias as numbers: the probability that a document is examined, and clicked, at each position."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from swaprank.arrays import AnyArray, Floats
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.clicks.logs.log_counts import LogCounts
from swaprank.errors import DataError, Hint
from swaprank.files import existing_file, replacing
from swaprank.rendering.figures import axes_for, finish_chart, whole_numbers
from swaprank.rendering.result import Result
from swaprank.rendering.tables import Blocks, Table, decimals

_KIND = "swaprank propensities"
_ALL = "(all)"
"""What the table calls the sessions of all groups together."""
_COLUMNS = ("examination", "low", "high", "epsilon_plus", "epsilon_minus")


@final
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Propensities(Result):
    """Position bias: the probability of a click is alpha x relevance + beta, with one alpha and beta per position.

    Without trust bias, alpha is the examination and beta is 0. With trust bias [Agarwal2019b], people who examine a
    document click it with probability epsilon_plus if it is relevant, and epsilon_minus if it is not:
    alpha = examination (epsilon_plus - epsilon_minus), and beta = examination epsilon_minus.

    Args:
        examination: The probability that a document is examined at position 1, 2, …, relative to position 1.
        low: The lower ends of 95% intervals of the examination.
        high: The upper ends.
        epsilon_plus: P(click | examined, relevant), one per position.
        epsilon_minus: P(click | examined, not relevant), one per position.
        method: The way it was estimated, in words.
        by: The column of the log's context that the bias depends on, such as "device".
        groups: The position bias of each value of that column. Other values have the one of all sessions.

    >>> import swaprank as sr
    >>> propensities = sr.clicks.Propensities([1.0, 0.6, 0.3])
    >>> print(propensities)
    position  examination
    --------  -----------
    1              1.0000
    2              0.6000
    3              0.3000
    >>> propensities.at([3, 1]).tolist()
    [0.3, 1.0]
    """

    examination: Floats
    low: Floats | None = None
    high: Floats | None = None
    epsilon_plus: Floats | None = None
    epsilon_minus: Floats | None = None
    method: str = "given"
    by: str | None = None
    groups: Mapping[str, "Propensities"] = field(default_factory=dict)

    def __init__(
        self,
        examination: ArrayLike,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        epsilon_plus: ArrayLike | None = None,
        epsilon_minus: ArrayLike | None = None,
        method: str = "given",
        by: str | None = None,
        groups: "Mapping[str, Propensities] | None" = None,
    ) -> None:
        for name, values in zip(_COLUMNS, (examination, low, high, epsilon_plus, epsilon_minus), strict=True):
            object.__setattr__(self, name, None if values is None else np.array(values, dtype=np.float64))
        object.__setattr__(self, "method", method)
        object.__setattr__(self, "by", by)
        object.__setattr__(self, "groups", dict(groups or {}))
        n = self.examination.shape
        if len(n) != 1 or n[0] == 0 or not ((self.examination > 0) & np.isfinite(self.examination)).all():
            raise DataError("examination must be one number above 0 for each position.")
        for name in _COLUMNS:
            values = getattr(self, name)
            if values is not None and values.shape != n:
                raise DataError(f"{name} must have one number for each of the {n[0]} positions; found {values.shape}.")
        if (self.epsilon_plus is None) != (self.epsilon_minus is None) or (self.low is None) != (self.high is None):
            raise DataError("give low together with high, and epsilon_plus together with epsilon_minus.")
        if not (self.alpha > 0).all():
            raise DataError("epsilon_plus must be above epsilon_minus at every position.")
        if (self.by is None) != (not self.groups):
            raise DataError("give groups together with by, the column of the context that divides sessions into them.")
        if any(each.n_positions != n[0] or each.by is not None for each in self.groups.values()):
            raise DataError(f"all groups must have propensities of the same {n[0]} positions, and no groups within.")

    @property
    def n_positions(self) -> int:
        """The number of positions."""
        return len(self.examination)

    @property
    def alpha(self) -> Floats:
        """The rise of the probability of a click if the document is relevant, one number per position."""
        if self.epsilon_plus is None or self.epsilon_minus is None:
            return self.examination
        return self.examination * (self.epsilon_plus - self.epsilon_minus)

    @property
    def beta(self) -> Floats:
        """The probability of a click on a document that is not relevant, one number per position."""
        if self.epsilon_minus is None:
            return np.zeros(self.n_positions)
        return self.examination * self.epsilon_minus

    def at(self, position: ArrayLike) -> Floats:
        """The examination at positions from 1; raises DataError for positions beyond those that are known."""
        return self.examination[self.places(position)]

    def places(self, position: ArrayLike) -> AnyArray:
        """Positions from 1 as indices of the arrays; raises DataError for positions beyond those that are known."""
        given = np.asarray(position)
        if given.size and not (given.min() >= 1 and given.max() <= self.n_positions):
            raise DataError(
                f"there are propensities of the positions 1 to {self.n_positions}, but position "
                f"{given.max() if given.min() >= 1 else given.min()} is asked for: estimate them on a log with as many."
            )
        return given - 1

    def of_rows(self, log: ClickLog | LogCounts) -> tuple[Floats, Floats]:
        """alpha and beta of each row of a log: by its position, and by the group of its session.

        >>> import swaprank as sr
        >>> log = sr.clicks.ClickLog(session=[1, 1], qid=[7, 7], docid=[1, 2], position=[1, 2], click=[0, 1])
        >>> alpha, beta = sr.clicks.Propensities([1.0, 0.6]).of_rows(log)
        >>> alpha.tolist(), beta.tolist()
        ([1.0, 0.6], [0.0, 0.0])
        """
        places = self.places(log.position)
        if self.by is None:
            return self.alpha[places], self.beta[places]
        if self.by not in log.context:
            raise DataError(
                f"the propensities are by '{self.by}', but the log has no such context: read it with ",
                Hint("context", [self.by], option=f"--context {self.by}"),
                ".",
            )
        values, group = np.unique(log.context[self.by], return_inverse=True)
        own = [self.groups.get(str(value), self) for value in values]
        if isinstance(log, ClickLog):
            group = group[log.session]
        return np.stack([each.alpha for each in own])[group, places], np.stack([each.beta for each in own])[
            group, places
        ]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the propensities to a JSON file.

        >>> import pathlib, tempfile, swaprank as sr
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "propensities.json"
        >>> sr.clicks.Propensities([1.0, 0.5]).save(path)
        >>> sr.clicks.Propensities.load(path).examination.tolist()
        [1.0, 0.5]
        """
        with replacing(path) as stream:
            stream.write(self.to_json().encode() + b"\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Propensities":
        """Read the propensities that `save` wrote."""
        file = existing_file(path)
        try:
            content = json.loads(file.read_text("utf-8"))
            if content["kind"] != _KIND:
                raise KeyError("kind")
            groups = {name: cls(**_arguments(each)) for name, each in content.get("groups", {}).items()}
            return cls(**_arguments(content), by=content.get("by"), groups=groups)
        except DataError as error:
            raise DataError(f"{file}: ", error) from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise DataError(f"{file} has no propensities: give a file of `swaprank clicks propensity`.") from None

    def plot(self, ax: Any = None) -> Any:
        """Draw the examination at each position with its 95% interval; with trust bias, alpha and beta too.

        Args:
            ax: The Matplotlib axes to draw on; new ones if None.

        Returns:
            The axes.
        """
        axes, positions = axes_for(ax), np.arange(1, self.n_positions + 1)
        for number, (name, each) in enumerate((self.groups or {"examination": self}).items()):
            axes.plot(positions, each.examination, "o-", color=f"C{number}", label=name)
            if each.low is not None and each.high is not None:
                label = "95% interval" if not self.groups else None
                axes.fill_between(positions, each.low, each.high, color=f"C{number}", alpha=0.25, label=label)
        if self.epsilon_plus is not None:
            axes.plot(positions, self.alpha, "s--", color="C1", label="alpha: more clicks if relevant")
            axes.plot(positions, self.beta, "^--", color="C2", label="beta: clicks if not relevant")
        axes.set_ylim(bottom=0.0)
        whole_numbers(axes)
        title = "Position bias" if self.by is None else f"Position bias by {self.by}"
        return finish_chart(axes, title, "position", "relative to examination at position 1")

    def _shown(self) -> dict[str, Floats]:
        columns = {name: getattr(self, name) for name in _COLUMNS if getattr(self, name) is not None}
        return columns if self.epsilon_plus is None else {**columns, "alpha": self.alpha, "beta": self.beta}

    def _blocks(self) -> Blocks:
        columns = self._columns()
        names = [name.replace("_", " ") for name in columns]
        cells = [
            [decimals(value) if isinstance(value, float) else str(value) for value in column]
            for column in columns.values()
        ]
        table = Table(names, [list(row) for row in zip(*cells, strict=True)])
        return [table] if self.method == "given" else [table, f"Estimated {self.method}."]

    def _values(self) -> dict[str, Any]:
        columns = {name: getattr(self, name) for name in _COLUMNS}
        groups = {name: each._values() for name, each in self.groups.items()}
        more = {} if self.by is None else {"by": self.by, "groups": groups}
        return {"kind": _KIND, "method": self.method, **columns, **more}

    def _columns(self) -> dict[str, list[Any]]:
        positions = list(range(1, self.n_positions + 1))
        if self.by is None:
            return {"position": positions, **{name: column.tolist() for name, column in self._shown().items()}}
        parts = [each._columns() for each in (replace(self, by=None, groups={}), *self.groups.values())]
        known = [name for name in parts[0] if all(name in part for part in parts)]
        names = [name for name in (_ALL, *self.groups) for _ in positions]
        return {self.by: names, **{name: [value for part in parts for value in part[name]] for name in known}}


def _arguments(content: Mapping[str, Any]) -> dict[str, Any]:
    return {name: content[name] for name in (*_COLUMNS, "method")}
