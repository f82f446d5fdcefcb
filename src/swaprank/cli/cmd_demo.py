"""`swaprank demo`: train, compare and inspect rankers on generated data."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from swaprank.cli.options import Seed
from swaprank.cli.output import print_info, print_result, spinner


def demo(
    folder: Annotated[Path, typer.Option("--output", "-o", help="Folder for data, models and the report.")] = Path(
        "swaprank-demo"
    ),
    seed: Seed = 0,
) -> None:
    """Train five rankers on generated data, combine two, compare all, certify one, and write a report."""
    from swaprank.reproduction import demonstration

    print_info(f"Generated data of an imaginary search engine, in {folder}:\n")
    parts = demonstration.make_data(folder, seed)
    for name, part in parts.items():
        print_info(f"  {demonstration.data_file(folder, name).name:<10}{part}")

    print_info("\nTraining five rankers (the first run on a machine spends most of its time compiling):\n")
    with spinner("training"):
        results = demonstration.run_all(
            folder, seed, lambda trained: print_info(f"  {trained.command}  ({trained.seconds:.1f} s)")
        )

    print_info("\nThe optimal mix of trees and net on the validation queries:\n")
    both, certificate = results.combination, results.certificate
    print_info(f"  {both.size_}: NDCG@10 {both.value_:.4f}\n")

    print_info("All models on the test queries, with paired tests against the regression:\n")
    print_result(f"{results.comparison}\n")
    print_info("The mix is optimal on the validation queries, but not necessarily on the test queries.")
    print_info(
        "RankNet learns from all pairs alike, LambdaRank also from what their swaps change in the metric: with 300 "
        "queries, the two are about equally good.\n"
    )

    print_info(f"Is {demonstration.CERTIFIED} at a local optimum of NDCG@10 on its training data?\n")
    print_info(f"{certificate}\n")
    if not certificate.passed:
        print_info(
            "SmoothRank maximizes a smooth approximation with regularization. --polish (below) improves the model.\n"
        )

    print_info(f"{results.report}: report about LambdaMART; open it in a browser\n")
    trees, linear = folder / "lambdamart.swaprank", folder / "smoothrank.swaprank"
    train, test = (demonstration.data_file(folder, part) for part in ("train", "test"))
    print_info(
        f"Next steps:\n"
        f"  {_command('explain', trees, test, '--query', parts['test'].qids[0])}\n"
        f"  {_command('certify', linear, train, '--polish', '-o', folder / 'better.swaprank')}\n"
        f"  swaprank info YOUR_DATA.txt\n"
        f"  swaprank train YOUR_DATA.txt --valid YOUR_VALI.txt -o model.swaprank\n"
        f"  swaprank --help"
    )


def _command(*arguments: object) -> str:
    return shlex.join(["swaprank", *map(str, arguments)])
