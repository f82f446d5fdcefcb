"""Options that several verbs share, written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Judged documents: LETOR/SVMlight text, CSV, TSV or Parquet, also .gz .xz .zst; or TREC qrels.",
    ),
]
Metrics = Annotated[
    list[str],
    typer.Option("--metric", "-m", help="A measure, such as ndcg@10, map or 'p@5(rel=2)'; may be given several times."),
]
Convention = Annotated[
    str, typer.Option(help="What the names of measures mean: standard, trec, letor, mslr or lightgbm.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
