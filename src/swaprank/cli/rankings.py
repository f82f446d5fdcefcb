"""Rankings that verbs are given: files of scores, TREC runs, or models, which score the documents first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from swaprank.cli.output import tell

if TYPE_CHECKING:
    from swaprank.data.dataset import Dataset
    from swaprank.data.judgements import Qrels
    from swaprank.rankers.ranker import Ranker


def is_model(file: Path) -> bool:
    """Whether a file begins as our models do."""
    from swaprank.files import existing_file
    from swaprank.model_files.container import MAGIC
    from swaprank.reading.text_files import is_stream

    if is_stream(existing_file(file)):
        return False
    with file.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def read_ranking(file: Path, data: Path, judged: Dataset | Qrels) -> Any:
    """Scores of the documents in `data`, which were read as `judged`; or a TREC run."""
    from swaprank.data.judgements import Qrels, Run
    from swaprank.errors import DataError
    from swaprank.reading.score_files import read_scores
    from swaprank.registry import load

    if not is_model(file):
        scores = read_scores(file)
        if not isinstance(scores, Run) and not isinstance(judged, Qrels) and len(scores) != len(judged):
            raise DataError(f"{file} has {len(scores):,} scores, but {data} has {len(judged):,} documents.")
        return scores
    if isinstance(judged, Qrels):
        raise DataError(f"{file} is a model, which scores features, and {data} has none: it is a qrels file.")
    model = load(file)
    tell(f"scoring with {file}: {model.size_}")
    return model.predict(judged if fits(model, judged) else _read_for(model, data))


def fits(model: Ranker, data: Dataset) -> bool:
    """Whether a data set has the features of a model, in their order."""
    return [str(name) for name in model.feature_names_in_] == list(data.feature_names)


def _read_for(model: Ranker, data: Path) -> Dataset:
    """A sparse file may lack the last features of the training file, and a table has more columns."""
    from swaprank.reading.read import read_matching

    return read_matching(data, [str(name) for name in model.feature_names_in_])
