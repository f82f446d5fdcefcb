"""Provenance: the sources of the model and the data of a report, and the section that describes them.

Rankers and data sets are given as objects or as files. The section has the name, size and hash of each file, the
parameters, facts about the data, and software versions.
"""

import hashlib
import inspect
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import swaprank as sr
from swaprank.environment import versions
from swaprank.evaluation.segments import keep_column
from swaprank.experiments.training_run import read_record
from swaprank.files import existing_file, file_digest
from swaprank.model_files.container import parse_model
from swaprank.reading.read import read_matching
from swaprank.registry import ranker_class, ranker_of
from swaprank.reporting.markup import Html, details, join, paragraph, shortened, table, tag, text
from swaprank.reporting.subject import Section

AnyPath = str | os.PathLike[str]
Facts = list[tuple[str, object]]

_LONGEST = 200
"""Characters of a parameter's value that are shown."""


class FileInfo(NamedTuple):
    """Facts about a file.

    >>> from swaprank.reporting.provenance import FileInfo
    >>> FileInfo("model.swaprank", 10, "e3b0…", "0.2.0").name
    'model.swaprank'
    """

    name: str
    n_bytes: int
    sha256: str
    swaprank: str | None = None
    """The version of swaprank that wrote it; only for model files."""
    record: dict[str, Any] | None = None
    """The record of the training run; only for model files that have one."""


def ranker_from(given: sr.Ranker | AnyPath) -> tuple[sr.Ranker, FileInfo | None]:
    """A fitted ranker, or the ranker of a model file.

    >>> import swaprank as sr
    >>> from swaprank.reporting.provenance import ranker_from
    >>> (train,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
    >>> ranker_from(sr.MART(n_trees=1).fit(train))[1] is None
    True
    """
    if isinstance(given, sr.Ranker):
        given.check_fitted()
        return given, None
    if not isinstance(given, str | os.PathLike):
        raise sr.errors.ParameterError(f"expected a fitted ranker or a model file, found {type(given).__name__}.")
    file = existing_file(given)
    content = file.read_bytes()
    try:
        kept = parse_model(content)
        ranker = ranker_of(kept)
    except sr.errors.ModelFileError as error:
        raise sr.errors.ModelFileError(f"{given}: ", error) from None
    written_by, digest = kept.meta.get("swaprank"), hashlib.sha256(content).hexdigest()
    by = None if written_by is None else str(written_by)
    return ranker, FileInfo(file.name, len(content), digest, by, read_record(given, digest))


def data_from(
    given: sr.Dataset | AnyPath, ranker: sr.Ranker, columns: Mapping[str, Any] | None = None, by: object = None
) -> tuple[sr.Dataset, FileInfo | None]:
    """A data set with the features of the ranker, or a file of it; `columns` are those of a table, as is that of `by`.

    >>> import swaprank as sr
    >>> from swaprank.reporting.provenance import data_from
    >>> (train,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
    >>> data_from(train, sr.MART(n_trees=1).fit(train))[0] is train
    True
    """
    if isinstance(given, sr.Dataset):
        return ranker.matched(given), None
    if not isinstance(given, str | os.PathLike):
        raise sr.errors.DataError(f"expected a Dataset or a file, found {type(given).__name__}.")
    names = [str(name) for name in ranker.feature_names_in_]
    options = dict(columns or {}) if by in names else keep_column(columns or {}, by, given)
    data = read_matching(given, names, ranker.categories_, **options)
    return ranker.matched(data), file_info(given)


def file_info(path: AnyPath) -> FileInfo:
    """Name, size and SHA-256 of a file.

    >>> import pathlib, tempfile
    >>> from swaprank.reporting.provenance import file_info
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "some.txt"
    >>> _ = path.write_text("0 qid:1 1:0.5")
    >>> file_info(path).n_bytes
    13
    """
    file = Path(path)
    return FileInfo(file.name, file.stat().st_size, file_digest(file))


class DataSource(NamedTuple):
    """A data set, its role in the report, and its file if it was read from one.

    >>> import swaprank as sr
    >>> from swaprank.reporting.provenance import DataSource
    >>> DataSource("Training data", sr.Dataset([[1.0]], [1], qid=[1]), None).name
    'training data'
    """

    title: str
    data: sr.Dataset
    file: FileInfo | None

    @property
    def name(self) -> str:
        """The file name, or the role."""
        return self.title.lower() if self.file is None else self.file.name


def provenance_section(ranker: sr.Ranker, model_file: FileInfo | None, sources: list[DataSource]) -> Section:
    """The ranker with all its parameters, the data, and the software.

    >>> import swaprank as sr
    >>> from swaprank.reporting.provenance import DataSource, provenance_section
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> "n_trees" in provenance_section(sr.MART(n_trees=2).fit(data), None, [DataSource("Data", data, None)]).body
    True
    """
    parts = [_facts("Model", _model_facts(ranker, model_file))]
    if model_file is not None and model_file.record is not None:
        parts.append(_facts("Training", _training_facts(model_file.record)))
    parts += [_facts(source.title, _data_facts(source)) for source in sources]
    parts.append(_facts("Software", _software()))
    own = _parameters(type(ranker), ranker.get_params(deep=False))
    tables = tag("div", tag("h3", "Parameters"), own, *_member_tables(ranker.members_))
    body = join([tag("div", *parts, class_="columns"), tables])
    return Section("provenance", "Provenance", body)


def _facts(title: str, facts: Facts) -> Html:
    entries = [join([tag("dt", name), tag("dd", value)]) for name, value in facts]
    return tag("div", tag("h3", title), tag("dl", *entries, class_="facts"))


def _file_facts(file: FileInfo | None) -> Facts:
    if file is None:
        return []
    return [
        ("file", tag("bdi", file.name)),
        ("file size", f"{file.n_bytes:,} bytes"),
        ("SHA-256", _short_digest(file.sha256)),
    ]


def _short_digest(digest: str) -> Html:
    return join([tag("code", digest[:16], title=digest), "…"])


def _model_facts(ranker: sr.Ranker, file: FileInfo | None) -> Facts:
    facts: Facts = [
        ("ranker", type(ranker).__name__),
        ("size", ranker.size_),
        ("trained for", _value(ranker.trained_for_)),
        ("features", f"{ranker.n_features_in_:,}"),
    ]
    sets = sorted(name for name, of_set in ranker.history_.items() if any(of_set.values()))
    if sets:
        facts.append(("measured on", ", ".join(sets)))
    if ranker.interrupted_:
        facts.append(("interrupted", "yes: this is the best model up to then"))
    if file is not None:
        facts += _file_facts(file)
        facts.append(("written by", f"swaprank {file.swaprank}" if file.swaprank else "an unknown version"))
    return facts


def _training_facts(record: dict[str, Any]) -> Facts:
    """Data and software versions from the record of a training run."""
    facts: Facts = []
    for role, name in (("train", "training data"), ("valid", "validation data"), ("base", "started from")):
        if role in record:
            facts.append((name, tag("bdi", Path(str(record[role])).name)))
            facts += [("", _fact(key, value)) for key, value in _table(_table(record, "data"), role).items()]
    packages = _table(record, "versions")
    if packages:
        facts.append(("versions", ", ".join(f"{name} {value}" for name, value in packages.items())))
    return facts


def _table(record: dict[str, Any], name: str) -> dict[str, Any]:
    """A table of a record; empty if it is missing or not a table, because people may edit records."""
    found = record.get(name)
    return found if isinstance(found, dict) else {}


def _fact(name: str, value: Any) -> Html:
    if name == "digest":
        return join(["digest ", _short_digest(str(value))])
    return text(f"{value:,} {name}" if isinstance(value, int) else f"{name} {value}")


def _data_facts(source: DataSource) -> Facts:
    summary = sr.data.summarize(source.data)
    lengths, (low, high) = summary.list_lengths, summary.label_range
    facts: Facts = [
        *_file_facts(source.file),
        ("documents", f"{summary.n_documents:,}"),
        ("queries", f"{summary.n_queries:,}"),
        ("list length", f"{lengths['min']:g} to {lengths['max']:g}, median {lengths['median']:g}"),
        ("labels", f"{low:g} to {high:g}"),
        ("queries without a relevant document", f"{summary.n_without_relevant:,}"),
        ("queries with only one label", f"{summary.n_one_label:,}"),
    ]
    for name, found in (
        ("categorical features", list(summary.categorical)),
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


def _parameters(kind: type[sr.Ranker], parameters: Mapping[str, Any]) -> Html:
    defaults = {name: each.default for name, each in inspect.signature(kind).parameters.items()}
    changed, unchanged = [], []
    for name, value in sorted(parameters.items()):
        if name in ("base_ranker", "members"):
            continue
        shown, default = _value(value), _value(defaults[name])
        if shown == default:
            unchanged.append([name, shown])
        else:
            changed.append([name, tag("b", shown), default])
    parts = [table(["Parameter", "Value", "Default"], changed, left=3, class_="data parameters")]
    if not changed:
        parts = [paragraph("All parameters have their default values.", class_="note")]
    if unchanged:
        others = table(["Parameter", "Value"], unchanged, left=2, class_="data parameters")
        parts.append(details(f"{len(unchanged)} parameters with default values", others))
    return join(parts)


def _value(value: Any) -> str:
    if isinstance(value, sr.metrics.Metric):
        return shortened(value, _LONGEST)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list):
        value = tuple(value)
    return shortened(value if isinstance(value, str) else repr(value), _LONGEST)


def _software() -> Facts:
    return [
        ("made", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
        *versions().items(),
        ("scikit-learn", version("scikit-learn")),
        ("system", f"{platform.system()} {platform.machine()}"),
    ]
