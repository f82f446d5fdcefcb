"""How often 95% intervals of means and of differences cover the truth, beside Student's t.

    python benchmarks/intervals.py [--repetitions 2000] [--queries 10 30 100]

Few queries, skewed metrics such as MRR and success@1, many ties. The width is the median of the intervals.
"""

import argparse
from collections.abc import Callable

import numpy as np
from recording import Recording, add_record

from swaprank.arrays import Floats
from swaprank.evaluation.randomization import randomize
from swaprank.evaluation.significance import bounded_interval, mean_interval

RNG = np.random.default_rng(0)
Draw = Callable[[int], Floats]
Interval = Callable[[Floats], tuple[float, float]]


def reciprocal_ranks(n: int, p: float) -> Floats:
    """The reciprocal rank of the first relevant document, among ten."""
    ranks = RNG.geometric(p, n)
    return np.where(ranks > 10, 0.0, 1 / ranks)


MEANS: dict[str, Draw] = {
    "success@1, mean .5": lambda n: (RNG.random(n) < 0.5).astype(float),
    "success@1, mean .9": lambda n: (RNG.random(n) < 0.9).astype(float),
    "success@1, mean .97": lambda n: (RNG.random(n) < 0.97).astype(float),
    "MRR, mean .56": lambda n: reciprocal_ranks(n, 0.35),
    "MRR, mean .92": lambda n: reciprocal_ranks(n, 0.85),
    "AP, 70% are 0": lambda n: RNG.beta(1, 2, n) * (RNG.random(n) < 0.3),
    "NDCG, mean .8": lambda n: RNG.beta(8, 2, n),
    "skewed, mean .09": lambda n: RNG.beta(0.3, 3, n),
}
DIFFERENCES: dict[str, Draw] = {
    "normal": lambda n: RNG.normal(0.05, 0.2, n),
    "MRR, 80% ties": lambda n: np.where(RNG.random(n) < 0.8, 0, reciprocal_ranks(n, 0.5) - reciprocal_ranks(n, 0.35)),
    "success@1, 90% ties": lambda n: RNG.choice([-1.0, 0.0, 1.0], n, p=[0.02, 0.9, 0.08]),
    "success@1, 50% ties": lambda n: RNG.choice([-1.0, 0.0, 1.0], n, p=[0.2, 0.5, 0.3]),
    "skewed, no ties": lambda n: np.where(RNG.random(n) < 0.7, RNG.beta(0.3, 3, n), -0.03),
}


def _bounded(values: Floats) -> tuple[float, float]:
    return bounded_interval(values, (0.0, 1.0))


def _randomized(values: Floats) -> tuple[float, float]:
    return randomize(values, 1000, 0, 1.0).interval(0.05, 1, (-1.0, 1.0))


def report(
    recording: Recording, title: str, draws: dict[str, Draw], ours: Interval, options: argparse.Namespace
) -> None:
    columns = ("Student's t covers", "Width", "Ours covers", "Width, ours")
    table = recording.table(title.lower(), title, "Queries", *columns, n_names=2)
    for name, draw in draws.items():
        true = float(draw(2_000_000).mean())
        for n in options.queries:
            samples = [draw(n) for _ in range(options.repetitions)]
            cells = []
            for interval in (mean_interval, ours):
                ends = np.array([interval(sample) for sample in samples])
                covered = ((ends[:, 0] <= true + 1e-12) & (true - 1e-12 <= ends[:, 1])).mean()
                cells += [f"{100 * covered:.1f}%", f"{np.median(ends[:, 1] - ends[:, 0]):.3f}"]
            table.add(name, n, *cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--queries", type=int, nargs="+", default=[10, 30, 100])
    add_record(parser)
    options = parser.parse_args()
    with Recording(options) as recording:
        recording.says(f"{options.repetitions:,} samples each, 95% intervals")
        report(recording, "Mean", MEANS, _bounded, options)
        report(recording, "Difference", DIFFERENCES, _randomized, options)


if __name__ == "__main__":
    main()
