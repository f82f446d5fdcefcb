"""`swaprank generate`: ranking data made to order."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from swaprank.cli.common_options import Seed
from swaprank.cli.output import say, tell


class Target(StrEnum):
    """The hidden function that labels the documents."""

    NET = "net"
    POLYNOMIAL = "polynomial"


class Ending(StrEnum):
    """How the files are packed; all of them can be read back."""

    TXT = ".txt"
    GZ = ".txt.gz"
    XZ = ".txt.xz"
    ZST = ".txt.zst"


Number = TypeVar("Number", int, float)

PART_NAMES = {1: ("data",), 2: ("train", "test"), 3: ("train", "vali", "test")}


def generate(
    target: Annotated[
        Target,
        typer.Argument(
            metavar="net|polynomial", help="What labels the documents: a random net or a random polynomial."
        ),
    ],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to write train.txt, vali.txt and test.txt.")],
    queries: Annotated[str, typer.Option(help="Queries in each part, up to three.")] = "800,100,100",
    features: Annotated[int, typer.Option(min=1, help="Features of a document.")] = 50,
    documents: Annotated[int, typer.Option(min=1, help="Documents of a query.")] = 50,
    levels: Annotated[str, typer.Option(help="Relevance levels: a number, or the shares of each, lowest first.")] = "6",
    ending: Annotated[Ending, typer.Option(help="Ending of the files, which says how they are packed.")] = Ending.TXT,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over files of these names.")] = False,
    seed: Seed = 0,
) -> None:
    """Write artificial ranking data, labelled by one hidden function in all parts [Burges2005, section 5.1]."""
    from swaprank.data.datasets import random_net, random_polynomial
    from swaprank.errors import DataError
    from swaprank.reading.letor_writing import write_letor

    make = random_net if target is Target.NET else random_polynomial
    sizes = _numbers("--queries", queries, int, "whole numbers separated by commas")
    if len(sizes) not in PART_NAMES:
        raise typer.BadParameter(f"--queries takes up to three parts, found {len(sizes)}.")
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}{ending}" for name in PART_NAMES[len(sizes)]]
    for path in paths:
        if path.exists() and not overwrite:
            raise DataError(f"{path} is there already: name another folder, or write over it with --overwrite.")
    tell(f"drawing {sum(sizes):,} queries")
    parts = make(
        sizes,
        n_features=features,
        n_documents=documents,
        levels=_levels(levels),
        random_state=seed,
    )
    for path, part in zip(paths, parts, strict=True):
        write_letor(part, path)
        say(f"{path}: {len(part):,} documents, {part.n_queries:,} queries")


def _levels(text: str) -> int | list[float]:
    words = "a whole number, or shares separated by commas"
    return _numbers("--levels", text, float, words) if "," in text else _numbers("--levels", text, int, words)[0]


def _numbers(option: str, text: str, kind: type[Number], words: str) -> list[Number]:
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"{option} takes {words}; found '{text}'.") from None
