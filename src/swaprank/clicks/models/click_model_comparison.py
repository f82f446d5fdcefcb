"""Which click model predicts the clicks of pages best that it has not seen?"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, final, get_args

import numpy as np

from swaprank.arrays import Floats
from swaprank.clicks.logs.click_counts import sums
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.clicks.models.click_model_fit import fit_model
from swaprank.clicks.models.click_model_names import ModelName
from swaprank.clicks.models.click_model_score import ClickModelScore, row_bits, score_rows
from swaprank.errors import DataError, ParameterError
from swaprank.evaluation.significance import mean_interval
from swaprank.parameters import check_word
from swaprank.rendering.result import Result
from swaprank.rendering.tables import Blocks, Table, counted, decimals

_HELD_OUT = 0.2
_FEWEST_SESSIONS = 10
"""Two held-out sessions have an interval."""
_MOST_PLACES = 10
"""Columns of the printed table; the data frame has all."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class ClickModelComparison(Result):
    """Click models on pages that they were not fitted on, the best first; prints as two tables and a sentence.

    >>> import swaprank as sr
    >>> (data,) = sr.datasets.random_search(20, random_state=0)
    >>> log, _ = sr.datasets.clicks(data, data.column("match"), 3000, n_shown=3, model="cascade", random_state=0)
    >>> comparison = sr.clicks.compare_models(log, models=["pbm", "dcm"], random_state=0)
    >>> isinstance(comparison, sr.clicks.ClickModelComparison), comparison.best
    (True, 'dcm')
    """

    scores: tuple[ClickModelScore, ...]
    n_parameters: tuple[int, ...]
    n_fitted: int
    """The sessions that the models were fitted on."""
    differences: tuple[tuple[float, float, float], ...]
    """Bits a row more than the best model, and the 95% interval of it over sessions."""

    @property
    def best(self) -> str:
        """The name of the best model."""
        return self.scores[0].model

    def __iter__(self) -> Iterator[ClickModelScore]:
        return iter(self.scores)

    def sentence(self) -> str:
        """The result in words."""
        best = self.scores[0]
        words = f"{best.model} predicts the clicks of {counted(best.n_sessions, 'session', 'sessions')} best, with "
        words += f"{best.bits:.4f} bits a row"
        if len(self.scores) == 1:
            return f"{words}."
        more, low, high = self.differences[1]
        unsure = ", which may be luck" if low <= 0 else ""
        interval = f"(95% interval {decimals(low)} to {decimals(high)}{unsure})"
        return f"{words}; {self.scores[1].model} needs {more:.4f} more {interval}."

    def _blocks(self) -> Blocks:
        rows = [
            [each.model, f"{n:,}", f"{each.log_likelihood:,.1f}", decimals(each.bits), decimals(each.perplexity)]
            for each, n in zip(self.scores, self.n_parameters, strict=True)
        ]
        n_places = min(len(self.scores[0].shown), _MOST_PLACES)
        places = [[each.model, *map(decimals, each.perplexity_by_position[:n_places])] for each in self.scores]
        return [
            Table(["model", "parameters", "log-likelihood", "bits a row", "perplexity"], rows),
            Table(["perplexity at", *map(str, range(1, n_places + 1))], places),
            f"{self.sentence()} Fitted on {counted(self.n_fitted, 'session', 'sessions')}; each click is predicted "
            "from the clicks above it.",
        ]

    def _values(self) -> Mapping[str, Any]:
        models = [
            {**score.to_dict(), "n_parameters": n, "more_bits": more, "more_bits_low": low, "more_bits_high": high}
            for score, n, (more, low, high) in zip(self.scores, self.n_parameters, self.differences, strict=True)
        ]
        return {"best": self.best, "n_fitted": self.n_fitted, "models": models}

    def _columns(self) -> Mapping[str, list[Any]]:
        columns: dict[str, list[Any]] = {
            "model": [each.model for each in self.scores],
            "n_parameters": list(self.n_parameters),
            "log_likelihood": [each.log_likelihood for each in self.scores],
            "bits": [each.bits for each in self.scores],
            "perplexity": [each.perplexity for each in self.scores],
        }
        for place in range(len(self.scores[0].shown)):
            columns[f"perplexity_{place + 1}"] = [each.perplexity_by_position[place] for each in self.scores]
        return columns


def compare_models(
    log: ClickLog,
    held_out: ClickLog | None = None,
    models: Iterable[ModelName] | None = None,
    *,
    random_state: int | None = 0,
    n_threads: int | None = None,
) -> ClickModelComparison:
    """Fit click models to a log, and compare how well they predict the clicks on other pages.

    Args:
        log: The clicks to fit on.
        held_out: The clicks to predict. The default is a random fifth of the sessions of `log`, which are then not
            fitted on.
        models: Names of models, as for `fit_model`; the default is all.
        random_state: The seed of the random fifth.
        n_threads: The number of threads. The default is all cores. The result does not depend on it.

    >>> import swaprank as sr
    >>> (data,) = sr.datasets.random_search(20, random_state=0)
    >>> log, _ = sr.datasets.clicks(data, data.column("match"), 3000, n_shown=3, random_state=0)
    >>> print(sr.clicks.compare_models(log, models=["pbm", "rate_by_place"], random_state=0))
    model          parameters  log-likelihood  bits a row  perplexity
    -------------  ----------  --------------  ----------  ----------
    pbm                   266          -696.5      0.5582      1.4725
    rate_by_place           3          -854.7      0.6851      1.6078
    <BLANKLINE>
    perplexity at       1       2       3
    -------------  ------  ------  ------
    pbm            1.5611  1.4869  1.3753
    rate_by_place  1.9310  1.5548  1.3843
    <BLANKLINE>
    pbm predicts the clicks of 600 sessions best, with 0.5582 bits a row; rate_by_place needs 0.1268 more (95% interval
    0.1031 to 0.1506). Fitted on 2,400 sessions; each click is predicted from the clicks above it.
    """
    names = list(get_args(ModelName) if models is None else models)
    if not names or len(set(names)) < len(names):
        raise ParameterError(f"models must be one or more different names; found {names!r}.")
    for name in names:
        check_word("model", name, get_args(ModelName))
    if held_out is None:
        if log.n_sessions < _FEWEST_SESSIONS:
            raise DataError(
                f"click models are compared on a fifth of the sessions, which takes {_FEWEST_SESSIONS} sessions; found "
                f"{log.n_sessions}."
            )
        log, held_out = log.split((1 - _HELD_OUT, _HELD_OUT), random_state=random_state)
    clicked = held_out.click > 0
    found: list[tuple[ClickModelScore, int, Floats]] = []
    for name in names:
        model = fit_model(log, name, n_threads=n_threads)
        chance = model.probabilities(held_out, n_threads)
        score = score_rows(name, held_out.n_sessions, held_out.position, clicked, chance)
        found.append(
            (score, model.n_parameters, sums(held_out.session, row_bits(clicked, chance), held_out.n_sessions))
        )
    found.sort(key=lambda each: -each[0].log_likelihood)
    scale = held_out.n_sessions / held_out.n_rows
    return ClickModelComparison(
        scores=tuple(score for score, _, _ in found),
        n_parameters=tuple(n for _, n, _ in found),
        n_fitted=log.n_sessions,
        differences=tuple(_more_bits((bits - found[0][2]) * scale) for _, _, bits in found),
    )


def _more_bits(of_sessions: Floats) -> tuple[float, float, float]:
    return float(np.mean(of_sessions)), *mean_interval(of_sessions)
