"""What commands of clicks share: logs with features, rankings by name, and estimates of several rankings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import swaprank as sr
from swaprank.cli.output import print_detail, print_info, print_json, print_result
from swaprank.cli.rankings import load_any
from swaprank.clicks.models.click_model_names import MODELS

DocumentsFile = Annotated[
    Path | None,
    typer.Option(
        "--documents",
        help="Documents with features, as for predict, if the log has none: matched by query and document id.",
        show_default="features of the log",
    ),
]
Missing = Annotated[
    Literal["error", "drop", "nan"],
    typer.Option(
        help="Documents of the log that --documents lacks: end with an error, leave out their rows, or take all their "
        "features for missing values."
    ),
]

ClickModelName = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="Train with the examination of this click model, fitted on the same log: "
        f"{', '.join(name for name, kind in MODELS.items() if kind.documents)}.",
    ),
]


def fit_with_click_model(ranker: Any, name: Any, clicks: Any, held_out: Any, callbacks: Any) -> None:
    """Train a ranker on the labels of a click model."""
    from swaprank.clicks.learning.click_training import check_linear_gains

    check_linear_gains(ranker)
    model = sr.clicks.fit_model(clicks, name, n_threads=ranker.n_threads)
    valid = None if held_out is None else model.training_data(held_out)
    ranker.fit(model.training_data(clicks), valid=valid, callbacks=callbacks)


def read_log(
    log: Path, log_columns: dict[str, Any], documents: Path | None, missing: Any, by: str | None = None
) -> Any:
    """Read a click log. `by` is a column to read as well, which describes the session."""
    context = log_columns.get("context", [])
    if by is not None and by not in context:
        log_columns = {**log_columns, "context": [*context, by]}
    print_detail(f"reading {log}")
    if documents is None:
        return sr.clicks.read_clicks(log, **log_columns)
    clicks = sr.clicks.read_clicks(log, **{**log_columns, "features": []})
    print_detail(f"reading {documents}")
    return clicks.join(_read_documents(documents, log_columns), missing=missing)


def _read_documents(file: Path, log_columns: dict[str, Any]) -> sr.Dataset:
    """Documents without labels; the columns of ids in a table have the same names as in the log."""
    from swaprank.reading.formats import is_table

    columns: dict[str, Any] = {}
    if is_table(file):
        columns = {"docid": "docid", **{name: log_columns[name] for name in ("qid", "docid") if name in log_columns}}
        columns |= {"features": log_columns["features"]} if "features" in log_columns else {}
    return sr.read(file, unlabeled=True, **columns)


def ranking_of(text: str, clicks: Any) -> Any:
    """A model, or the feature of that name as scores."""
    from swaprank.clicks.evaluation.ranked_pairs import feature_of_pairs

    if Path(text).exists():
        return load_any(Path(text))
    if text not in clicks.feature_names:
        known = (
            sr.errors.did_you_mean(text, clicks.feature_names) if clicks.feature_names else "the log has no features."
        )
        raise sr.errors.DataError(f"'{text}' is neither a file nor a feature of the log; {known}")
    return feature_of_pairs(clicks, text)


def print_contradictions(clicks: Any) -> None:
    """Print what in a log contradicts the position-based model, if anything does."""
    from swaprank.clicks.models.click_dependence import quick_check

    for sentence in quick_check(clicks):
        print_info(f"\n{sentence}")


def print_evaluations(results: Mapping[str, Any], comparison: Any, json: bool) -> None:
    """Print the estimates of one or several rankings by name, and their comparison, if there is one."""
    if json:
        values = {"evaluations": {name: result.to_dict() for name, result in results.items()}}
        print_json(values | ({} if comparison is None else {"comparison": comparison.to_dict()}))
        return
    for name, result in results.items():
        print_result(f"{name}\n\n{result}\n" if len(results) > 1 else str(result))
    if comparison is not None:
        print_result(str(comparison))
