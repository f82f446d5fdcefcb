"""`swaprank warm`: compile kernels ahead."""

import time
from typing import Annotated

import typer

from swaprank.cli.output import print_info, progress_bar


def warm(
    rankers: Annotated[
        list[str] | None, typer.Argument(metavar="[RANKER]...", help="Rankers to compile for; all if none is given.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Number of processes; one per core by default.")] = None,
) -> None:
    """Compile kernels ahead, for a container image or before a first run.

    They are stored in the folder of the package, where every user of this installation finds them. If it is not
    writable, or if NUMBA_CACHE_DIR is set, they are stored in the cache of this user.
    """
    from swaprank.experiments.warming import warm as compile_ahead

    start = time.perf_counter()
    with progress_bar() as update:
        done = compile_ahead(
            rankers or (), jobs, lambda number, total, name: update(number, total, "compiling", f"{name} is ready")
        )
    print_info(
        f"{done.folder} has {done.n_files} compiled kernels, {done.n_bytes / 1e6:.1f} MB "
        f"({time.perf_counter() - start:.0f} s)."
    )
