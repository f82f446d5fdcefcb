"""Does the position-based model hold in a click log? If not, what is wrong, and what to do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from swaprank.clicks.bias.bias_agreement import Agreement, agreement
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.clicks.models.click_dependence import (
    SIGNIFICANT,
    Dependence,
    NextDependence,
    clicks_below_clicks,
    dependence_on_next,
    dependence_sentences,
    harmful,
)
from swaprank.clicks.models.click_model_comparison import ClickModelComparison, compare_models
from swaprank.clicks.models.click_model_names import ModelName
from swaprank.parameters import Bounds, check_parameter
from swaprank.rendering.result import Result
from swaprank.rendering.tables import Blocks, Table, counted, decimals
from swaprank.seeds import random_generator

_COMPARED: tuple[ModelName, ...] = ("pbm", "dcm", "dbn", "ubm")
_MOST_SESSIONS = 200_000
"""More are not needed to see what does harm, and would take minutes."""
_MATERIAL_BITS = 0.002
_FEWEST_HELD_OUT = 100
"""Sessions: the spread of fewer says little."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class ModelCheck(Result):
    """Whether the position-based model holds in a log: tests, and what to do in words.

    >>> import swaprank as sr
    >>> (data,) = sr.datasets.random_search(20, random_state=0)
    >>> log, _ = sr.datasets.clicks(data, data.column("match"), 5000, n_shown=4, model="cascade", random_state=0)
    >>> check = sr.clicks.check_model(log)
    >>> check.holds, check.below_clicks[0].observed
    (False, 0)
    """

    n_sessions: int
    below_clicks: tuple[Dependence, ...]
    """Clicks below clicks: all, then by the distance of the last click above."""
    below: NextDependence
    """Whether a document's click rate depends on what stands right below it."""
    agreements: tuple[Agreement, ...]
    """Harvesting against swaps, and against harvesting with logged propensities, where the log can tell them."""
    models: ClickModelComparison
    """The position-based model and others, on a fifth of the sessions that they were not fitted on."""

    @property
    def holds(self) -> bool:
        """True if nothing speaks against the position-based model."""
        return not self.sentences()

    def sentences(self) -> list[str]:
        """What contradicts the model, and what to do about it; empty if nothing does."""
        found = dependence_sentences(self.below_clicks, self.below)
        found += [sentence for each in self.agreements if (sentence := _contradiction(each))]
        if (better := self._better()) is not None:
            found.append(better)
        return found

    def _better(self) -> str | None:
        """The sentence about a model that predicts held-out clicks better than the position-based one."""
        names = [score.model for score in self.models]
        if names[0] == "pbm" or self.models.scores[0].n_sessions < _FEWEST_HELD_OUT:
            return None
        more, low, _ = self.models.differences[names.index("pbm")]
        # The interval is of 1.96 standard errors.
        if more < _MATERIAL_BITS or more * 1.96 < SIGNIFICANT * (more - low):
            return None
        best, pbm = self.models.scores[0], self.models.scores[names.index("pbm")]
        return (
            f"The model {best.model} predicts held-out clicks better than the position-based one: {best.bits:.4f} bits "
            f"a row against {pbm.bits:.4f}. Train with its labels: `ClickModel.training_data`, or `swaprank clicks "
            f"train --click-model {best.model}`."
        )

    def _blocks(self) -> Blocks:
        rows = [
            [each.where, f"{each.rows:,}", f"{each.observed:,}", f"{each.expected:,.1f}", _z(each.z)]
            for each in self.below_clicks
            if each.rows
        ]
        blocks: list[Table | str] = [Table(["clicks", "rows", "observed", "expected", "z"], rows)]
        for each in self.agreements:
            values = zip(each.first.tolist(), each.second.tolist(), each.p.tolist(), strict=True)
            cells = [[str(k), decimals(a), decimals(b), decimals(p)] for k, (a, b, p) in enumerate(values, start=1)]
            blocks.append(Table(["position", *each.names, "p of difference"], cells))
        bits = [[score.model, decimals(score.bits)] for score in self.models]
        blocks.append(Table(["model", "bits a row, held out"], bits))
        blocks.append(f"What stands right below: z = {_z(self.below.z)}, {self.below.n_compared:,} documents compared.")
        sessions = counted(self.n_sessions, "session", "sessions")
        nothing = f"In {sessions}, nothing speaks against the position-based model."
        if not self.agreements and not self.below.n_compared and all(each.z != each.z for each in self.below_clicks):
            nothing = f"{sessions} cannot tell whether the position-based model holds: there are too few clicks."
        return [*blocks, *(self.sentences() or [nothing])]

    def _values(self) -> Mapping[str, Any]:
        return {
            "holds": self.holds,
            "sentences": self.sentences(),
            "n_sessions": self.n_sessions,
            "below_clicks": [each._asdict() for each in self.below_clicks],
            "below": {**self.below._asdict(), "z": self.below.z},
            "agreements": [each._asdict() for each in self.agreements],
            "models": self.models.to_dict(),
        }

    def _columns(self) -> Mapping[str, list[Any]]:
        return {
            "clicks": [each.where for each in self.below_clicks],
            "rows": [each.rows for each in self.below_clicks],
            "observed": [each.observed for each in self.below_clicks],
            "expected": [each.expected for each in self.below_clicks],
            "z": [each.z for each in self.below_clicks],
        }


def check_model(
    log: ClickLog,
    *,
    max_position: int = 10,
    random_state: int | None = 0,
    n_threads: int | None = None,
) -> ModelCheck:
    """Check whether the position-based model holds in a log: `position_bias`, `unbiased` and `evaluate` rest on it.

    It looks at clicks below clicks, at what stands below a document, at estimates of position bias that should agree,
    and at how well click models predict held-out clicks. Of a large log, it takes 200,000 sessions at random.

    Args:
        log: The clicks; every grade above 0 is one.
        max_position: Compare estimates of position bias up to this position, or as far as the log can tell.
        random_state: The seed of the sessions that are taken and held out.
        n_threads: The number of threads. The default is all cores. The result does not depend on it.

    >>> import swaprank as sr
    >>> (data,) = sr.datasets.random_search(20, random_state=0)
    >>> log, _ = sr.datasets.clicks(data, data.column("match"), 5000, n_shown=4, random_state=0)
    >>> print(sr.clicks.check_model(log))
    clicks               rows  observed  expected     z
    ------------------  -----  --------  --------  ----
    below a click       5,340       508     497.0  +0.8
    last click 1 above  2,549       296     303.4  -0.6
    last click 2 above  2,209       199     181.1  +1.9
    last click 3 above  1,382        97      96.5  +0.1
    <BLANKLINE>
    position  harvest   swaps  p of difference
    --------  -------  ------  ---------------
    1          1.0000  1.0000                -
    2          0.4986  0.5004           1.0000
    3          0.3215  0.3285           1.0000
    4          0.2235  0.2332           1.0000
    <BLANKLINE>
    model  bits a row, held out
    -----  --------------------
    ubm                  0.4592
    pbm                  0.4594
    dbn                  0.4660
    dcm                  0.4842
    <BLANKLINE>
    What stands right below: z = -0.2, 36 documents compared.
    <BLANKLINE>
    In 5,000 sessions, nothing speaks against the position-based model.
    """
    check_parameter("max_position", max_position, Bounds(True, 2, np.inf))
    if log.n_sessions > _MOST_SESSIONS:
        log = log.subset(np.sort(random_generator(random_state).permutation(log.n_sessions)[:_MOST_SESSIONS]))
    above = clicks_below_clicks(log)
    last = min(max_position, log.max_position)
    others = ["swaps"] if log.propensity is None else ["swaps", "weighted"]
    compared = [_agreement(log, other, last) for other in others] if last > 1 else []
    return ModelCheck(
        n_sessions=log.n_sessions,
        below_clicks=tuple(above),
        below=dependence_on_next(log, same_above=harmful(above) is not None),
        agreements=tuple(each for each in compared if each is not None),
        models=compare_models(log, models=_COMPARED, random_state=random_state, n_threads=n_threads),
    )


def _agreement(log: ClickLog, other: str, last: int) -> Agreement | None:
    """As many positions as both ways can tell."""
    while last > 1:
        if (found := agreement(log, other, last)) is not None:
            return found
        last -= 1
    return None


def _contradiction(found: Agreement) -> str | None:
    if (worst := found.worst) is None:
        return None
    one, two = found.first[worst - 1], found.second[worst - 1]
    numbers = f"at position {worst} ({one:.3f} against {two:.3f}, p = {found.p[worst - 1]:.1g})"
    if found.names[1] == "weighted":
        return (
            f"Documents that moved and logged propensities contradict each other {numbers}: the ranker moves documents "
            "for a reason that has to do with the user. Use the logged propensities."
        )
    return (
        f"Documents that moved and neighbours that swapped contradict each other {numbers}: other documents on the "
        "page, or the user, play a role. Swap neighbours at random and estimate from swaps, or use another click model."
    )


def _z(z: float) -> str:
    return "-" if z != z else f"{z:+.1f}"
