"""Reading the files that commands score or evaluate: score files, TREC runs and models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import swaprank as sr
from swaprank.cli.output import print_detail
from swaprank.files import existing_file

if TYPE_CHECKING:
    from swaprank.cli.options import Columns


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
    data: Path, files: Mapping[str, Path], columns: Columns
) -> tuple[sr.Dataset | sr.trec.Qrels, dict[str, Any]]:
    """Read judged documents, and a ranking of them from each file."""
    from swaprank.reading.read import read_judged

    print_detail(f"reading {data}")
    judged = read_judged(data, **columns)
    return judged, {name: read_ranking(file, data, judged, columns) for name, file in files.items()}


def read_ranking(file: Path, data: Path, judged: sr.Dataset | sr.trec.Qrels, columns: Columns) -> Any:
    """Read scores or a TREC run, or score the documents with a model; `judged` is the content of `data`."""
    if not is_model(file):
        scores = sr.read_scores(file)
        if not isinstance(scores, sr.trec.Run) and not isinstance(judged, sr.trec.Qrels) and len(scores) != len(judged):
            raise sr.errors.DataError(f"{file} has {len(scores):,} scores, but {data} has {len(judged):,} documents.")
        return scores
    if isinstance(judged, sr.trec.Qrels):
        raise sr.errors.DataError(f"{file} is a model and needs features, but {data} is a qrels file without features.")
    model = sr.load(file)
    print_detail(f"scoring with {file}: {model.size_}")
    same_features = [str(name) for name in model.feature_names_in_] == list(judged.feature_names)
    return model.predict(judged if same_features else read_for(model, data, columns))


def read_for(model: sr.Ranker, data: Path, columns: Columns, *, unlabeled: bool = False) -> sr.Dataset:
    """Read documents with the features of a model: a sparse file may lack the last ones, a table may have more."""
    from swaprank.reading.read import read_matching

    print_detail(f"reading {data}")
    names = [str(name) for name in model.feature_names_in_]
    return read_matching(data, names, model.categories_, unlabeled=unlabeled, **columns)
