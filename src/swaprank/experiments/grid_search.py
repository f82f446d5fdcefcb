"""Grid search: the candidates of a grid, and training all of them to keep the best on a validation set.

Finished trials are saved, so that an interrupted search can be resumed.
"""

import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, final

from sklearn.base import clone

import swaprank as sr
from swaprank.data.fingerprints import data_digest
from swaprank.errors import DataError, ParameterError, did_you_mean
from swaprank.experiments.folds import FoldData
from swaprank.experiments.ranker_parameters import parse_settings, training_parameters
from swaprank.files import file_in, replacing, uninterrupted
from swaprank.model_files.plain_json import check_configuration, format_parameters, from_json, plain_values, to_json
from swaprank.parameters import own_name
from swaprank.peer_names import ARGUMENTS
from swaprank.rankers.rounds import Callback
from swaprank.registry import load, ranker_class, ranker_maker


def candidates(name: str, ranker: sr.Ranker, grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """All combinations of the grid values that apply to a ranker; one empty candidate if none do.

    >>> import swaprank as sr
    >>> from swaprank.experiments.grid_search import candidates
    >>> candidates("mart", sr.MART(), {"n_leaves": (7, 15), "net.hidden": [(5,)], "mart.l2": [0.0, 1.0]})
    [{'n_leaves': 7, 'l2': 0.0}, {'n_leaves': 7, 'l2': 1.0}, {'n_leaves': 15, 'l2': 0.0}, {'n_leaves': 15, 'l2': 1.0}]
    """
    own = values_for(name, type(ranker), grid)
    for parameter, values in own.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or len(values) == 0:
            raise ParameterError(f"the grid of {parameter} must be a list of one or more values; found {values!r}.")
    return [dict(zip(own, values, strict=True)) for values in product(*own.values())]


def values_for(name: str, kind: type[sr.Ranker], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values for one ranker: "parameter" applies to all rankers that have it; "name.parameter" overrides it."""
    names = kind.accepted_names()
    common = {names[key]: value for key, value in values.items() if key in names}
    prefix = f"{name}."
    named = {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}
    return {**common, **{own_name(kind, key, name): value for key, value in named.items()}}


def find_parameter(key: str, rankers: Mapping[str, type[sr.Ranker]]) -> tuple[type[sr.Ranker], str]:
    """A ranker with the parameter that is meant by "parameter" or "name.parameter", and the name it has there.

    >>> import swaprank as sr
    >>> from swaprank.experiments.grid_search import find_parameter
    >>> find_parameter("num_leaves", {"net": sr.RankNet, "trees": sr.MART})[1]
    'n_leaves'
    >>> find_parameter("n_leafs", {"net": sr.RankNet, "trees": sr.MART})
    Traceback (most recent call last):
    ...
    swaprank.errors.ParameterError: no ranker has a parameter 'n_leafs'; did you mean 'n_leaves'?
    """
    name, dot, parameter = key.rpartition(".")
    if dot and name not in rankers:
        raise ParameterError(f"'{key}': there is no ranker '{name}'; {did_you_mean(name, rankers)}")
    meant = {name: rankers[name]} if dot else rankers
    for label, kind in meant.items():
        if len(meant) == 1 or parameter in kind.accepted_names():
            return kind, own_name(kind, parameter, label)
    known = [each for kind in meant.values() for each in kind.declared]
    suggestion = did_you_mean(ARGUMENTS.get(parameter, parameter), known)
    raise ParameterError(f"no ranker has a parameter '{parameter}'; {suggestion}")


def parse_grid(texts: Iterable[str], kinds: Mapping[str, str]) -> dict[str, list[Any]]:
    """Parse grids such as "n_leaves=7,15" or "lambdarank.hidden=(10,),(20,)"; `kinds` maps names to kinds of rankers.

    >>> from swaprank.experiments.grid_search import parse_grid
    >>> parse_grid(["n_leaves=7,15", "lambdarank.hidden=(10,),(5,5)"], {"mart": "mart", "lambdarank": "lambdarank"})
    {'n_leaves': [7, 15], 'lambdarank.hidden': [(10,), (5, 5)]}
    """
    classes = {name: ranker_class(kind) for name, kind in kinds.items()}
    grid: dict[str, list[Any]] = {}
    for text in texts:
        key, equals, values = text.partition("=")
        if not equals or not values:
            raise ParameterError(f"write a grid as name=value,value, found '{text}'.")
        if key in grid:
            raise ParameterError(f"there are two grids for {key}: put all values into one.")
        grid[key] = [_parse_value(key, value, classes) for value in _split_at_commas(values)]
    return grid


def _parse_value(key: str, text: str, rankers: Mapping[str, type[sr.Ranker]]) -> Any:
    kind, parameter = find_parameter(key, rankers)
    return parse_settings(kind.kind, [f"{parameter}={text}"])[parameter]


def make_rankers(kinds: Mapping[str, str], settings: Iterable[str], **defaults: Any) -> dict[str, sr.Ranker]:
    """Create rankers by name from settings such as "n_trees=50" or "lambdarank.n_epochs=20".

    Args:
        kinds: The kind of each ranker, by name.
        settings: Parameters of all rankers that have them, or of one ranker.
        defaults: Parameters that the settings override; rankers without such a parameter ignore it.

    >>> from swaprank.experiments.grid_search import make_rankers
    >>> make_rankers({"a": "mart", "b": "ranknet"}, ["a.n_trees=5", "n_epochs=7"], random_state=3)
    {'a': MART(n_trees=5, random_state=3), 'b': RankNet(n_epochs=7, random_state=3)}
    """
    classes = {name: ranker_class(kind) for name, kind in kinds.items()}
    values = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise ParameterError(f"write a setting as name=value, found '{setting}'.")
        values[key] = _parse_value(key, text, classes)
    rankers = {}
    for name, kind in classes.items():
        own = {key: value for key, value in defaults.items() if key in kind.declared}
        rankers[name] = ranker_maker(kinds[name])(**{**own, **values_for(name, kind, values)})
    return rankers


def _split_at_commas(text: str) -> list[str]:
    """Split at the commas outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def search_configuration(
    ranker: sr.Ranker, searched: Container[str], metric: sr.metrics.Metric, train: sr.Dataset, valid: sr.Dataset
) -> dict[str, Any]:
    """Everything that the result of one trial depends on, except the searched parameters, as plain JSON values.

    >>> import swaprank as sr
    >>> from swaprank.experiments.grid_search import search_configuration
    >>> (data,) = sr.datasets.random_net((5,), n_features=2, random_state=0)
    >>> configuration = search_configuration(sr.MART(n_trees=9), ["n_leaves"], sr.metric("map"), data, data)
    >>> configuration["n_trees"], configuration["validation_metric"], "n_leaves" in configuration
    (9, 'map', False)
    """
    configuration = {
        "ranker": ranker.kind,
        "metric": str(ranker.metric),
        **training_parameters(ranker),
        "validation_metric": str(metric),
        "train": data_digest(train),
        "valid": data_digest(valid),
        "swaprank": sr.__version__,
    }
    return plain_values({name: value for name, value in configuration.items() if name not in searched})


class GridTrial(NamedTuple):
    """One trained candidate of a grid."""

    parameters: dict[str, Any]
    value: float
    """The metric on the validation set."""
    seconds: float


@final
class FinishedTrials:
    """The finished trials of a grid and the best ranker so far.

    Args:
        grid: All candidates.
        path: Trials are saved to path + ".json" and the best model to path + ".swaprank" after every trial, and are
            loaded from there if they exist. If None, they are only kept in memory.
        configuration: What the trials depend on; saved trials must have the same.
    """

    def __init__(
        self, grid: Sequence[dict[str, Any]], path: Path | None = None, configuration: Mapping[str, Any] | None = None
    ) -> None:
        self.grid = grid
        self.path = path
        self.configuration = dict(configuration or {})
        self.trials: list[GridTrial] = []
        self._ranker: sr.Ranker | None = None
        if path is not None and self._file(".json").exists():
            self._load(self._file(".json"))

    @property
    def best(self) -> GridTrial:
        """The trial with the highest value; the first of equal ones."""
        return max(self.trials, key=lambda trial: trial.value)

    @property
    def ranker(self) -> sr.Ranker:
        """The ranker of the best trial, fitted."""
        if self._ranker is None:
            self._ranker = load(self._file(".swaprank"))
        return self._ranker

    def add(self, trial: GridTrial, ranker: sr.Ranker) -> None:
        """Add a finished trial and save it."""
        with uninterrupted():
            self.trials.append(trial)
            if self.best is trial:
                self._ranker = ranker
                if self.path is not None:
                    ranker.save(self._file(".swaprank"))
            if self.path is not None:
                content = {"configuration": self.configuration, "trials": [each._asdict() for each in self.trials]}
                with replacing(self._file(".json")) as stream:
                    stream.write(to_json(content))

    def _file(self, ending: str) -> Path:
        assert self.path is not None  # noqa: S101
        return file_in(self.path.parent, self.path.name + ending)

    def _load(self, file: Path) -> None:
        try:
            content = from_json(file.read_bytes())
            saved, trials = dict(content["configuration"]), [GridTrial(**each) for each in content["trials"]]
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{file} is damaged ({error}): delete it to start over.") from None
        grid = [plain_values(candidate) for candidate in self.grid]
        finished = [trial.parameters for trial in trials]
        # A grid may have new candidates, but every saved trial must belong to it.
        current = finished if all(candidate in grid for candidate in finished) else grid
        check_configuration(file, {**saved, "grid": finished}, {**self.configuration, "grid": current})
        if not self._file(".swaprank").exists():
            raise DataError(f"{self._file('.swaprank')} is missing: delete {file} to start over.")
        # JSON has lists where the grid may have tuples.
        self.trials = [trial._replace(parameters=self.grid[grid.index(trial.parameters)]) for trial in trials]


def grid_search(
    ranker: sr.Ranker,
    metric: sr.metrics.Metric,
    parts: FoldData,
    finished: FinishedTrials,
    callbacks: Sequence[Callback],
    title: str,
    log: Callable[[str], object],
) -> None:
    """Train every candidate of the grid that is not finished yet, and measure it on the validation set.

    Lines of the log begin with the title.
    Ctrl-C raises KeyboardInterrupt; the interrupted training does not count as a trial.
    """
    done = [trial.parameters for trial in finished.trials]
    remaining = [candidate for candidate in finished.grid if candidate not in done]
    if done:
        share = f"{len(done)} of {len(finished.grid)} " if remaining else ""
        log(f"{title}  {share}already trained")
    for candidate in remaining:
        started = time.perf_counter()
        learner: sr.Ranker = clone(ranker).set_params(**candidate)
        learner.fit(parts.train, valid=parts.vali, metrics=[metric], callbacks=callbacks)
        scores = learner.predict(parts.vali)
        value = sr.evaluate(parts.vali, scores, metric, n_threads=learner.n_threads).results[0].mean
        seconds = time.perf_counter() - started
        # If the metric is undefined on every validation query, all candidates are equal.
        finished.add(GridTrial(candidate, value if value == value else 0.0, seconds), learner)
        label = f"{format_parameters(candidate)}: " if candidate else ""
        log(f"{title}  {label}vali {metric} {value:.4f}, {learner.size_}, {seconds:.1f} s")


def parse_range(ranker: str, text: str) -> tuple[str, Any]:
    """Parse "name=low..high" or "name=value,value" for a kind of ranker.

    >>> from swaprank.experiments.grid_search import parse_range
    >>> parse_range("mart", "n_leaves=7..63"), parse_range("mart", "objective=squared,logistic")
    (('n_leaves', (7, 63)), ('objective', ['squared', 'logistic']))
    """
    name, _, span = text.partition("=")
    low, dots, high = span.partition("..")
    values = parse_grid([f"{name}={low},{high}" if dots else text], {ranker: ranker})[name]
    return name, tuple(values) if dots else values
