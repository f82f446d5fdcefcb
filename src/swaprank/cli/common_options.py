"""Options that several verbs share, written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_ENDINGS = (
    "LETOR/SVMlight text (.txt .letor .svm .dat, then .gz .xz .zst if packed) or a table (.csv .tsv .parquet) with "
    "columns label and qid"
)

JudgedFile = Annotated[
    Path,
    typer.Argument(metavar="DATA", help=f"Judged documents: {_ENDINGS}; or TREC qrels, told by their four columns."),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model that train, tune or combine has saved.")]
TrainFile = Annotated[Path, typer.Argument(metavar="TRAIN", help=f"Judged documents to learn from: {_ENDINGS}.")]
InfoFile = Annotated[
    Path | None,
    typer.Argument(metavar="FILE", help=f"Judged documents: {_ENDINGS}; or a model.", show_default=False),
]
Figure = Annotated[
    Path | None, typer.Option("--figure", help="Draw it into this file (.svg, .png, .pdf; needs Matplotlib).")
]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same output.")]
Threads = Annotated[
    int | None,
    typer.Option(min=1, help="Threads to use; all cores if not given. The result does not depend on it."),
]
Metrics = Annotated[
    list[str],
    typer.Option("--metric", "-m", help="A measure, such as ndcg@10, map or 'p@5(rel=2)'; may be given several times."),
]
Convention = Annotated[
    str, typer.Option(help="What the names of measures mean: standard, trec, letor, mslr or lightgbm.")
]
RankerName = Annotated[
    str | None,
    typer.Option(
        "--ranker",
        help="The kind of ranker, such as lambdamart or smoothrank; `swaprank info --rankers` lists them.",
        show_default="lambdamart",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of the ranker, such as n_leaves=15; may be given several times. "
        "`swaprank info --ranker lambdamart` lists those of LambdaMART.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
