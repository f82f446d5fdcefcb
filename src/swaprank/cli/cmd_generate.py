"""`swaprank generate`: artificial ranking data."""

from pathlib import Path
from typing import Annotated, Literal, TypeVar

import typer

import swaprank as sr
from swaprank.cli.options import Seed
from swaprank.cli.output import print_detail, print_info
from swaprank.files import file_in

Number = TypeVar("Number", int, float)

PART_NAMES = {1: ("data",), 2: ("train", "test"), 3: ("train", "vali", "test")}


def generate(
    target: Annotated[
        Literal["net", "polynomial"],
        typer.Argument(
            metavar="net|polynomial",
            help="Function that labels the documents: a random neural net or a random polynomial.",
        ),
    ],
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Output folder for train.txt, vali.txt and test.txt.")
    ],
    queries: Annotated[
        str, typer.Option(help="Number of queries per file: up to three numbers, separated by commas.")
    ] = "800,100,100",
    features: Annotated[int, typer.Option(min=1, help="Number of features.")] = 50,
    documents: Annotated[int, typer.Option(min=1, help="Number of documents per query.")] = 50,
    levels: Annotated[
        str,
        typer.Option(help="Number of relevance levels, or the fraction of each, lowest first, separated by commas."),
    ] = "6",
    ending: Annotated[
        Literal[".txt", ".txt.gz", ".txt.xz", ".txt.zst"],
        typer.Option(help="Ending of the files, which selects the compression."),
    ] = ".txt",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Overwrite existing files.")] = False,
    seed: Seed = 0,
) -> None:
    """Generate ranking data whose labels come from a hidden random function [Burges2005, section 5.1].

    One number in --queries writes data.txt; two write train.txt and test.txt; three add vali.txt.
    """
    make = sr.datasets.random_net if target == "net" else sr.datasets.random_polynomial
    sizes = _numbers("--queries", queries, int, "whole numbers separated by commas")
    if len(sizes) not in PART_NAMES:
        raise typer.BadParameter(f"--queries takes up to three numbers; found {len(sizes)}.")
    folder.mkdir(parents=True, exist_ok=True)
    paths = [file_in(folder, f"{name}{ending}") for name in PART_NAMES[len(sizes)]]
    for path in paths:
        if path.exists() and not overwrite:
            raise sr.errors.DataError(f"{path} already exists: choose another folder, or use --overwrite.")
    print_detail(f"generating {sum(sizes):,} queries")
    parts = make(sizes, n_features=features, n_documents=documents, levels=_levels(levels), random_state=seed)
    for path, part in zip(paths, parts, strict=True):
        sr.write_letor(part, path)
        print_info(f"{path}: {len(part):,} documents, {part.n_queries:,} queries")


def _levels(text: str) -> int | list[float]:
    form = "a whole number, or fractions separated by commas"
    return _numbers("--levels", text, float, form) if "," in text else _numbers("--levels", text, int, form)[0]


def _numbers(option: str, text: str, kind: type[Number], form: str) -> list[Number]:
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"{option} takes {form}; found '{text}'.") from None
