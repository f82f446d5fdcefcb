"""What was trained on what, with which parameters and versions."""

from __future__ import annotations

import inspect
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from swaprank.data.dataset import Dataset
from swaprank.data.summary import Summary, summarize
from swaprank.metrics.metric import Metric
from swaprank.rankers.ranker import Ranker
from swaprank.registry import ranker_class
from swaprank.reporting.markup import Html, details, join, paragraph, shortened, table, tag, text
from swaprank.reporting.sources import FileTrace
from swaprank.reporting.subject import Section
from swaprank.version import __version__

_PACKAGES = ("numpy", "numba", "scipy", "scikit-learn")
_LONGEST = 200


def provenance_section(
    ranker: Ranker,
    model_file: FileTrace | None,
    sets: list[tuple[str, Dataset, FileTrace | None]],
) -> Section:
    """The ranker with all its parameters, the data, and the software.

    >>> import swaprank as sr
    >>> from swaprank.reporting.provenance import provenance_section
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> "n_trees" in provenance_section(sr.MART(n_trees=2).fit(data), None, [("Data", data, None)]).body
    True
    """
    data = [] if model_file is None or model_file.record is None else [_training(model_file.record)]
    data += [tag("div", tag("h3", title), _facts(_data_facts(summarize(each), file))) for title, each, file in sets]
    body = join(
        [
            tag(
                "div",
                tag("div", tag("h3", "Model"), _facts(_model_facts(ranker, model_file))),
                *data,
                class_="trio" if len(data) > 1 else "pair",
            ),
            tag("h3", "Parameters"),
            *_parameter_tables(ranker),
            tag("h3", "Software"),
            _facts(_software()),
        ]
    )
    return Section("provenance", "Provenance", body)


def _facts(facts: list[tuple[str, object]]) -> Html:
    return tag("dl", join(join([tag("dt", name), tag("dd", value)]) for name, value in facts), class_="facts")


def _file_facts(file: FileTrace | None) -> list[tuple[str, object]]:
    if file is None:
        return []
    digest = tag("code", file.sha256[:16], title=file.sha256)
    return [("file", tag("bdi", file.name)), ("file size", f"{file.n_bytes:,} bytes"), ("SHA-256", join([digest, "…"]))]


def _model_facts(ranker: Ranker, file: FileTrace | None) -> list[tuple[str, object]]:
    facts: list[tuple[str, object]] = [
        ("ranker", type(ranker).__name__),
        ("size", ranker.size_),
        ("learned for", _value(ranker.metric)),
        ("features", f"{ranker.n_features_in_:,}"),
    ]
    sets = sorted(name for name, of_set in ranker.history_.items() if any(of_set.values()))
    if sets:
        facts.append(("measured on", ", ".join(sets)))
    if ranker.interrupted_:
        facts.append(("interrupted", "yes: this is the best model until then"))
    if file is not None:
        facts += _file_facts(file)
        facts.append(("written by", f"swaprank {file.swaprank}" if file.swaprank else "an unknown version"))
    return facts


def _training(record: dict[str, Any]) -> Html:
    """What the record of a training run says: which data, and which versions then."""
    facts: list[tuple[str, object]] = []
    for role, words in (("train", "learned from"), ("valid", "watched"), ("base", "began with")):
        if role in record:
            facts.append((words, tag("bdi", Path(str(record[role])).name)))
            facts += [("", _fact(name, value)) for name, value in _inner(_inner(record, "data"), role).items()]
    then = _inner(record, "versions")
    if then:
        facts.append(("with", ", ".join(f"{name} {value}" for name, value in then.items())))
    return tag("div", tag("h3", "Training"), _facts(facts))


def _inner(record: dict[str, Any], name: str) -> dict[str, Any]:
    """A table of a record, which people may have edited."""
    found = record.get(name)
    return found if isinstance(found, dict) else {}


def _fact(name: str, value: Any) -> Html:
    if name == "digest":
        return join(["digest ", tag("code", str(value)[:16], title=str(value)), "…"])
    return text(f"{value:,} {name}" if isinstance(value, int) else f"{name} {value}")


def _data_facts(summary: Summary, file: FileTrace | None) -> list[tuple[str, object]]:
    lengths = summary.list_lengths
    low, high = summary.label_range
    facts: list[tuple[str, object]] = [
        *_file_facts(file),
        ("documents", f"{summary.n_documents:,}"),
        ("queries", f"{summary.n_queries:,}"),
        ("list length", f"{lengths['min']:g} to {lengths['max']:g}, median {lengths['median']:g}"),
        ("labels", f"{low:g} to {high:g}"),
        ("queries without a relevant document", f"{summary.n_without_relevant:,}"),
        ("queries with one label only", f"{summary.n_one_label:,}"),
    ]
    for name, found in (
        ("missing values", list(summary.missing)),
        ("constant features", summary.constant),
        ("all-zero features", summary.all_zero),
    ):
        if found:
            facts.append((name, tag("bdi", _names(found))))
    return facts


def _names(names: list[str]) -> str:
    shown = ", ".join(shortened(name, 30) for name in names[:6])
    return f"{len(names):,}: {shown}" + (", …" if len(names) > 6 else "")


def _parameter_tables(ranker: Ranker) -> list[Html]:
    """The ranker's own, and those of the members of an ensemble."""
    return [_parameters(type(ranker), ranker.get_params(deep=False)), *_member_tables(ranker.members_)]


def _member_tables(members: Sequence[Mapping[str, Any]]) -> list[Html]:
    kinds = [ranker_class(member["ranker"]) for member in members]
    return [
        details(
            f"Parameters of ranker {at}, {kind.__name__}",
            _parameters(kind, member["parameters"]),
            *_member_tables(member["members"]),
        )
        for at, (kind, member) in enumerate(zip(kinds, members, strict=True), start=1)
    ]


def _parameters(kind: type[Ranker], parameters: Mapping[str, Any]) -> Html:
    defaults = {name: each.default for name, each in inspect.signature(kind).parameters.items()}
    changed, usual_ones = [], []
    for name, value in sorted(parameters.items()):
        if name in ("base_ranker", "members"):
            continue
        written, usual = _value(value), _value(defaults[name])
        if written == usual:
            usual_ones.append([name, written])
        else:
            changed.append([name, tag("b", written), usual])
    shown = table(["Parameter", "Value", "Default"], changed, left=3, class_="data parameters")
    if not changed:
        shown = paragraph("All are as they are by default.", class_="note")
    if not usual_ones:
        return shown
    others = table(["Parameter", "Value"], usual_ones, left=2, class_="data parameters")
    return join([shown, details(f"{len(usual_ones)} parameters as they are by default", others)])


def _value(value: Any) -> str:
    if isinstance(value, Metric):
        return shortened(value, _LONGEST)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list):
        value = tuple(value)
    return shortened(value if isinstance(value, str) else repr(value), _LONGEST)


def _software() -> list[tuple[str, object]]:
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    packages = [(name, _version(name)) for name in _PACKAGES]
    return [
        ("made", made),
        ("swaprank", __version__),
        ("Python", platform.python_version()),
        *packages,
        ("system", f"{platform.system()} {platform.machine()}"),
    ]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
