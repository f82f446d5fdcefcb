"""`swaprank bin`: bin data that is larger than memory."""

from pathlib import Path
from typing import Annotated

import typer

from swaprank.cli.options import Columns, Threads
from swaprank.cli.output import print_info, progress_bar
from swaprank.files import writable_target


def bin_(
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="TRAIN",
            help="Data: LETOR/SVMlight text, or tables (.csv .tsv .parquet .arrow); a file, several, or a folder of "
            "parts, which are read in the order of their names.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="File of bins to write, such as train.bins; or a new folder, for a file of bins per file of the data, "
            "all with the same cuts, as parts for a cluster.",
        ),
    ],
    like: Annotated[
        Path | None, typer.Option(help="File of bins whose features and cuts to take: that of the training data.")
    ] = None,
    max_bins: Annotated[int, typer.Option(min=2, max=255, help="Bins per feature, at most.")] = 255,
    threads: Threads = None,
    *,
    columns: Columns,
) -> None:
    """Bin data: one byte per value, in a file that train, tune and cv use without parsing and without reading it all.

    The data is read twice, block by block, so that it may be larger than memory. Trees learn the same model from bins.
    The rows of a query must be adjacent and in one file.
    """
    from swaprank.data.bins_file import read_bins
    from swaprank.reading.binned_reading import bin_parts, read_binned
    from swaprank.reading.formats import part_files

    files = part_files(data)
    if output.suffix and output.suffix.lower() != ".bins":
        raise typer.BadParameter(f"the name of a file of bins ends in .bins, and that of a folder not; found {output}.")
    known = None if like is None else read_bins(like)
    options = {**columns, **({} if threads is None else {"n_threads": threads})}
    if not output.suffix:
        with progress_bar("row") as update:
            parts = bin_parts(files, known, max_bins, output, progress=update, **options)
        size = sum(part.stat().st_size for part in parts)
        print_info(f"{output}: {len(parts):,} files of bins with the same cuts, {size / 1e6:,.2f} MB")
        return
    writable_target(output, (*files, like))
    with progress_bar("row") as update:
        written = read_binned(files, known, max_bins, target=output, progress=update, **options)
    print_info(f"{output}: {written}, {output.stat().st_size / 1e6:,.2f} MB")
