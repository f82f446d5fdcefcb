"""How well a click model predicts the clicks of a log."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import Bools, Floats, Ints
from swaprank.clicks.logs.click_counts import sums
from swaprank.elementary import logs2
from swaprank.rendering.result import Result
from swaprank.rendering.tables import Blocks, Table, decimals

_LN2 = 0.6931471805599453


@final
@dataclass(frozen=True, repr=False)
class ClickModelScore(Result):
    """How well a click model predicts clicks, each from the clicks above it on its page.

    >>> import swaprank as sr
    >>> log = sr.clicks.ClickLog(
    ...     session=[1, 1, 2, 2], qid=[7] * 4, docid=["a", "b"] * 2, position=[1, 2] * 2, click=[1, 0, 1, 1]
    ... )
    >>> score = sr.clicks.fit_model(log, "rate_by_place").evaluate(log)
    >>> round(score.bits, 2), round(score.perplexity, 2)
    (0.64, 1.56)
    """

    model: str
    n_sessions: int
    n_rows: int
    log_likelihood: float
    """The natural logarithm of the probability of all clicks."""
    shown: tuple[int, ...]
    """The number of documents that were shown at position 1, 2, …"""
    clicks: tuple[int, ...]
    expected: tuple[float, ...]
    """The clicks at each position that the model expects."""
    bits_by_position: tuple[float, ...]
    """Bits a row at position 1, 2, …; NaN where nothing was shown."""

    @property
    def bits(self) -> float:
        """Bits a row: the mean of -log2 P(click or none | clicks above)."""
        return -self.log_likelihood / _LN2 / self.n_rows

    @property
    def perplexity(self) -> float:
        """2 to the power of the bits: 1 if all is foreseen, 2 for tossing a coin."""
        return float(2**self.bits)

    @property
    def perplexity_by_position(self) -> tuple[float, ...]:
        """The perplexity of each position."""
        return tuple(2**bits for bits in self.bits_by_position)

    def _blocks(self) -> Blocks:
        columns = self._columns()
        rows = [
            [str(k), f"{n:,}", f"{c:,}", f"{e:,.1f}", decimals(p)]
            for k, n, c, e, p in zip(*columns.values(), strict=True)
        ]
        sentence = (
            f"{self.model}: log-likelihood {self.log_likelihood:,.1f}, {self.bits:.4f} bits a row, perplexity "
            f"{self.perplexity:.4f}; every click is predicted from the clicks above it."
        )
        return [Table(["position", "shown", "clicks", "expected", "perplexity"], rows), sentence]

    def _values(self) -> Mapping[str, Any]:
        more = {"bits": self.bits, "perplexity": self.perplexity, "perplexity_by_position": self.perplexity_by_position}
        return {**asdict(self), **more}

    def _columns(self) -> Mapping[str, tuple[Any, ...]]:
        return {
            "position": tuple(range(1, len(self.shown) + 1)),
            "shown": self.shown,
            "clicks": self.clicks,
            "expected": self.expected,
            "perplexity": self.perplexity_by_position,
        }


def row_bits(click: Bools, chance: Floats) -> Floats:
    """-log2 of the probability of what happened, for each row."""
    return -logs2(np.where(click, chance, 1.0 - chance))


def score_rows(
    model: str, n_sessions: int, position: Ints | NDArray[np.int32], click: Bools, chance: Floats
) -> ClickModelScore:
    """The score of predictions, one for each row."""
    bits = row_bits(click, chance)
    n, places = int(position.max()), position.astype(np.int64) - 1
    shown = np.bincount(position, minlength=n + 1)[1:]
    by_position = sums(places, bits, n) / np.where(shown > 0, shown, np.nan)
    return ClickModelScore(
        model=model,
        n_sessions=n_sessions,
        n_rows=len(bits),
        log_likelihood=-_LN2 * float(bits.sum()),
        shown=tuple(shown.tolist()),
        clicks=tuple(np.bincount(position[click], minlength=n + 1)[1:].tolist()),
        expected=tuple(sums(places, chance, n).tolist()),
        bits_by_position=tuple(by_position.tolist()),
    )
