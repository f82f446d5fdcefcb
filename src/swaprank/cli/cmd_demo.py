"""`swaprank demo`: the whole way from data to a verdict, in a minute."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from swaprank.cli.common_options import Seed
from swaprank.cli.output import Verbosity, say, show, verbosity


def demo(
    folder: Annotated[Path, typer.Option("--output", "-o", help="Where to put data, models and the report.")] = Path(
        "swaprank-demo"
    ),
    seed: Seed = 0,
) -> None:
    """Train five rankers on generated data, compare them, certify one, combine two, and write a report."""
    from swaprank.reproduction import demonstration

    say(f"Documents of an imaginary search engine, in {folder}:\n")
    parts = demonstration.make_data(folder, seed)
    for name, part in parts.items():
        say(f"  {name + '.txt':<10}{part}")

    say("\nFive rankers; the first time on a machine, most of this is compiling:\n")
    with _waiting("training"):
        for trained in demonstration.train_all(folder, seed):
            say(f"  {trained.command}  ({trained.seconds:.1f} s)")

    say("\nTrees and net together, by the mix that is exactly best on the validation queries:\n")
    both = demonstration.combine_two(folder, parts["vali"])
    say(f"  {both.size_}: NDCG@10 {both.value_:.4f} there\n")

    say("On the test queries, with 95% intervals and paired tests against the regression:\n")
    show(f"{demonstration.compare_all(folder, parts['test'])}\n")
    say("What is best on the validation queries, as the mix of the two, need not be the best on others.\n")

    say(f"Is {demonstration.CERTIFIED} at a local optimum of NDCG@10 on what it learned from?\n")
    with _waiting("certifying"):
        certificate = demonstration.certify_one(folder, parts["train"])
    say(f"{certificate}\n")
    if not certificate.passed:
        say("It climbs a smooth measure, and is held to a regression: --polish, below, goes on from there.\n")

    with _waiting("writing the report"):
        page = demonstration.write_report(folder)
    say(f"{page}: LambdaMART on the test queries, in a browser\n")
    trees, linear, test = folder / "lambdamart.swaprank", folder / "smoothrank.swaprank", folder / "test.txt"
    say(
        f"Next:\n"
        f"  {_command('explain', trees, test, '--qid', parts['test'].qids[0])}\n"
        f"  {_command('certify', linear, folder / 'train.txt', '--polish', '-o', folder / 'better.swaprank')}\n"
        f"  swaprank info YOUR_DATA.txt\n"
        f"  swaprank train YOUR_DATA.txt --valid YOUR_VALI.txt -o model.swaprank\n"
        f"  swaprank --help"
    )


def _command(*words: object) -> str:
    return shlex.join(["swaprank", *map(str, words)])


@contextmanager
def _waiting(words: str) -> Iterator[None]:
    """Something that moves while nothing else does, on a terminal."""
    if verbosity.get() is Verbosity.QUIET or not sys.stdout.isatty():
        yield
        return
    from rich.console import Console

    with Console().status(words):
        yield
