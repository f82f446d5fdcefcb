"""Reading the rankings that commands score or evaluate: score files, TREC runs, models, and columns of the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import swaprank as sr
from swaprank.cli.output import print_detail
from swaprank.files import existing_file

if TYPE_CHECKING:
    from swaprank.cli.options import Columns

_PEER_MODELS = (".json", ".ubj")
"""Endings of models of other libraries."""


def is_model(file: Path) -> bool:
    """True if a file is a swaprank model."""
    from swaprank.model_files.container import MAGIC
    from swaprank.reading.text_files import is_stream

    if is_stream(existing_file(file)):
        return False
    with file.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def load_any(file: Path) -> sr.Ranker:
    """Read a model of swaprank or of another library."""
    return sr.load(file) if is_model(file) else sr.import_model(file)


def read_rankings(
    data: Path,
    given: Mapping[str, str],
    columns: Columns,
    by: str | None = None,
    read: Callable[[Path, Path, sr.Dataset | sr.trec.Qrels, Columns], Any] | None = None,
) -> tuple[sr.Dataset | sr.trec.Qrels, dict[str, Any]]:
    """Read judged documents, and rankings of them by name: from a file, or by a column or feature of the data.

    `by` is a column of a table that is kept as a side column, too. `read` reads a file; `read_ranking` if None.
    """
    from swaprank.evaluation.segments import keep_column
    from swaprank.reading.formats import is_table
    from swaprank.reading.read import read_judged

    print_detail(f"reading {data}")
    by_column = [text for text in given.values() if not Path(text).exists() and not _is_path(text)]
    wanted = [text.removeprefix("-") for text in by_column] if is_table(data) else []
    kept = keep_column(columns, by, data)
    wanted = list(dict.fromkeys((*kept.get("columns", ()), *wanted)))
    judged = read_judged(data, **{**kept, "columns": wanted} if wanted else kept)
    return judged, {
        name: _by_column(judged, text)
        if text in by_column
        else (read or read_ranking)(Path(text), data, judged, columns)
        for name, text in given.items()
    }


def _is_path(text: str) -> bool:
    """True for what must be a file: it has a folder, or an ending as files have."""
    return Path(text).name != text or Path(text).suffix.lower() in (".swaprank", ".txt", ".run", ".json")


def _by_column(judged: sr.Dataset | sr.trec.Qrels, name: str) -> Any:
    from swaprank.evaluation.given_scores import column_scores

    if isinstance(judged, sr.trec.Qrels):
        raise sr.errors.DataError(f"there is no file '{name}', and judgements of TREC have no columns.")
    try:
        return column_scores(judged, name)
    except sr.errors.DataError as error:
        raise sr.errors.DataError(f"there is no file '{name}', and ", error) from None


def read_ranking(file: Path, data: Path, judged: sr.Dataset | sr.trec.Qrels, columns: Columns) -> Any:
    """Read scores or a TREC run, or score the documents with a model; `judged` is the content of `data`."""
    if not is_model(file):
        scores = sr.trec.read_scores(file)
        if not isinstance(scores, sr.trec.Run) and not isinstance(judged, sr.trec.Qrels) and len(scores) != len(judged):
            raise sr.errors.DataError(f"{file} has {len(scores):,} scores, but {data} has {len(judged):,} documents.")
        return scores
    model = sr.load(file)
    return model.predict(documents_for(model, file, data, judged, columns))


def documents_for(
    model: sr.Ranker, file: Path, data: Path, judged: sr.Dataset | sr.trec.Qrels, columns: Columns
) -> sr.Dataset:
    """The documents with the features of a model that is in `file`; `judged` is the content of `data`."""
    if isinstance(judged, sr.trec.Qrels):
        raise sr.errors.DataError(f"{file} is a model and needs features, but {data} is a qrels file without features.")
    print_detail(f"scoring with {file}: {model.size_}")
    same_features = [str(name) for name in model.feature_names_in_] == list(judged.feature_names)
    return judged if same_features else read_for(model, data, columns)


def read_for(model: sr.Ranker, data: Path, columns: Columns, *, unlabeled: bool = False) -> sr.Dataset:
    """Read documents with the features of a model: a sparse file may lack the last ones, a table may have more."""
    from swaprank.reading.read import read_matching

    print_detail(f"reading {data}")
    names = [str(name) for name in model.feature_names_in_]
    return read_matching(data, names, model.categories_, unlabeled=unlabeled, **columns)


def read_with_documents(file: Path, data: Path, judged: sr.Dataset | sr.trec.Qrels, columns: Columns) -> Any:
    """Scores, or a model with the documents as it sees them."""
    from swaprank.reporting.explorer.exploration import Ranking

    if not is_model(file) and file.suffix not in _PEER_MODELS:
        return read_ranking(file, data, judged, columns)
    model = load_any(file)
    documents = documents_for(model, file, data, judged, columns)
    return Ranking(file.stem, model.predict(documents), model, documents)
