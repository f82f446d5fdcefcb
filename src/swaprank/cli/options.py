"""Options that several verbs share, written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_ENDINGS = "LETOR/SVMlight text (.txt .letor .svm .dat, then .gz .xz .zst if packed) or a table (.csv .tsv .parquet)"

DataFile = Annotated[Path, typer.Argument(metavar="FILE", help=f"Judged documents: {_ENDINGS}.")]
JudgedFile = Annotated[
    Path,
    typer.Argument(metavar="DATA", help=f"Judged documents: {_ENDINGS}; or TREC qrels, told by their four columns."),
]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same output.")]
Metrics = Annotated[
    list[str],
    typer.Option("--metric", "-m", help="A measure, such as ndcg@10, map or 'p@5(rel=2)'; may be given several times."),
]
Convention = Annotated[
    str, typer.Option(help="What the names of measures mean: standard, trec, letor, mslr or lightgbm.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
