"""The best of some candidates by a validation set, kept in files so that an interrupted search goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, final

from sklearn.base import clone

from swaprank.errors import DataError
from swaprank.evaluation.evaluate import evaluate
from swaprank.experiments.fingerprints import data_digest
from swaprank.experiments.folds import Parts
from swaprank.experiments.ranker_parameters import plain_parameters
from swaprank.files import replacing
from swaprank.metrics.metric import Metric
from swaprank.model_files.plain_json import from_json, to_json
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.rounds import Callback
from swaprank.registry import load
from swaprank.version import __version__

Tell = Callable[[str], object]


class Tried(NamedTuple):
    """A candidate that was trained."""

    parameters: dict[str, Any]
    value: float
    """The metric on the validation set."""
    seconds: float


class Found(NamedTuple):
    """The best candidate, and all of them."""

    ranker: Ranker
    best: Tried
    tried: list[Tried]


@final
class Keeper:
    """What was tried, and the best ranker so far: in memory, and in two files if there is a place for them."""

    def __init__(self, place: Path | None, plan: Mapping[str, Any], grid: Sequence[Mapping[str, Any]]) -> None:
        self.place = place
        self.plan = from_json(to_json(dict(plan)))
        self.grid = [dict(candidate) for candidate in grid]
        self.tried: list[Tried] = []
        self._ranker: Ranker | None = None
        if place is not None and self._file(".json").exists():
            self._resume()

    @property
    def best(self) -> Tried | None:
        """Of equally good candidates, the first."""
        return max(self.tried, key=lambda tried: tried.value, default=None)

    @property
    def ranker(self) -> Ranker:
        """The best candidate, fitted."""
        if self._ranker is None:
            self._ranker = load(self._file(".swaprank"))
        return self._ranker

    def add(self, tried: Tried, ranker: Ranker) -> None:
        """Remember a candidate; whoever stops us now finds it again."""
        self.tried.append(tried)
        if self.best is tried:
            self._ranker = ranker
            if self.place is not None:
                ranker.save(self._file(".swaprank"))
        if self.place is not None:
            content = {"plan": self.plan, "tried": [each._asdict() for each in self.tried]}
            with replacing(self._file(".json")) as stream:
                stream.write(to_json(content))

    def _file(self, ending: str) -> Path:
        assert self.place is not None  # noqa: S101
        return self.place.with_name(self.place.name + ending)

    def _resume(self) -> None:
        file = self._file(".json")
        try:
            content = from_json(file.read_bytes())
            plan, tried = content["plan"], [Tried(**each) for each in content["tried"]]
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{file} is damaged ({error}): remove it to train anew.") from None
        changed = [name for name in {**plan, **self.plan} if plan.get(name) != self.plan.get(name)]
        if changed:
            was, now = (", ".join(f"{name} {_short(of.get(name))}" for name in changed) for of in (plan, self.plan))
            raise DataError(
                f"{file} comes from another configuration: it has {was}; now it would be {now}. Give another output "
                "folder, or remove that file to train anew."
            )
        if tried and not self._file(".swaprank").exists():
            raise DataError(f"{self._file('.swaprank')} is missing: remove {file} to train anew.")
        for each in tried:
            parameters = _as_parameters(each.parameters)
            if parameters not in self.grid:
                raise DataError(
                    f"{file} has tried {words(parameters) or 'no grid'}, which is not in the grid now. A grid may "
                    "grow; for another one give another output folder, or remove that file to train anew."
                )
            # The file has them by name, the grid as they were given.
            self.tried.append(each._replace(parameters=self.grid[self.grid.index(parameters)]))


def plan_of(ranker: Ranker, judge: Metric, parts: Parts) -> dict[str, Any]:
    """All that the outcome of a search depends on but the grid, as plain values."""
    return {
        "ranker": ranker.kind,
        "metric": str(ranker.metric),
        **plain_parameters(ranker),
        "judge": str(judge),
        "train": data_digest(parts.train),
        "vali": data_digest(parts.vali),
        "swaprank": __version__,
    }


def search(
    ranker: Ranker, judge: Metric, parts: Parts, keeper: Keeper, callbacks: Sequence[Callback], tell: Tell
) -> Found:
    """Train every candidate of the keeper that has not been, and give the best on the validation set.

    Ctrl-C ends the search: what a training has until then is no result.
    """
    done = [tried.parameters for tried in keeper.tried]
    left = [candidate for candidate in keeper.grid if candidate not in done]
    if done:
        tell(f"{len(done)} of {len(keeper.grid)} trained before" if left else "trained before")
    for candidate in left:
        started = time.perf_counter()
        learner: Ranker = clone(ranker).set_params(**candidate)
        learner.fit(parts.train, valid=parts.vali, metrics=[judge], callbacks=callbacks)
        if learner.interrupted_:
            raise KeyboardInterrupt
        value = evaluate(parts.vali, learner.predict(parts.vali), [judge], n_threads=learner.n_threads).results[0].mean
        seconds = time.perf_counter() - started
        # A validation set on which the metric is defined for no query prefers nobody.
        keeper.add(Tried(dict(candidate), value if value == value else 0.0, seconds), learner)
        tell(f"{words(candidate)}{': ' if candidate else ''}vali {judge} {value:.4f}, {learner.size_}, {seconds:.1f} s")
    best = keeper.best
    assert best is not None  # noqa: S101
    return Found(keeper.ranker, best, keeper.tried)


def words(parameters: Mapping[str, Any]) -> str:
    """Parameters as the command line takes them.

    >>> from swaprank.experiments.grid_search import words
    >>> words({"n_leaves": 7, "hidden": (10, 5)})
    'n_leaves=7 hidden=(10,5)'
    """
    return " ".join(f"{name}={_short(value)}" for name, value in parameters.items())


def _short(value: Any) -> str:
    if isinstance(value, float) and len(repr(value)) > 8:
        return f"{value:.4g}"
    text = str(value).replace(" ", "").replace("'", "")
    return text if len(text) <= 40 else f"{text[:37]}…"


def _as_parameters(plain: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()}
