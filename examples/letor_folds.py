"""Cross-validate rankers over LETOR's five folds: tune on vali, print a table per fold, test over all test queries.

    python examples/letor_folds.py                              # on generated folds
    python examples/letor_folds.py MQ2008 --output results      # on Fold1, …, Fold5 of train.txt, vali.txt, test.txt

With --output, the model and chosen parameters of every fold are saved, and an interrupted run resumes.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import swaprank as sr


def write_folds(folder: Path, n_queries: int) -> None:
    """Write folds as LETOR does: of five parts, three are for training, one for validation and one for testing."""
    (data,) = sr.datasets.random_search((n_queries,), n_documents=20, random_state=0)
    parts = np.array_split(np.random.default_rng(0).permutation(n_queries), 5)
    for first in range(5):
        rotated = parts[first:] + parts[:first]
        queries = {"train": np.concatenate(rotated[:3]), "vali": rotated[3], "test": rotated[4]}
        fold = folder / f"Fold{first + 1}"
        fold.mkdir(parents=True)
        for name, chosen in queries.items():
            sr.write_letor(data.subset(np.sort(chosen)), fold / f"{name}.txt")


def cross_validate(folder: Path, output: Path | None, convention: str, quick: bool) -> sr.experiments.CrossValidation:
    """Cross-validate four rankers; the trees have a small grid."""
    n_trees, patience = (20, 5) if quick else (300, 50)
    rankers = {
        "regression": sr.LinearRegressionRanker(),
        "MART": sr.MART(n_trees=n_trees, early_stopping_rounds=patience),
        "LambdaMART": sr.LambdaMART("ndcg@10", n_trees=n_trees, early_stopping_rounds=patience),
        "LambdaRank": sr.LambdaRank("ndcg@10", n_epochs=5 if quick else 100),
    }
    return sr.cross_validate(
        folder,
        rankers,
        ["ndcg@10", "map"],
        grid={"n_leaves": (7,) if quick else (7, 15)},
        output=output,
        baseline="MART",
        convention=convention,
        log=print,
    )


def main() -> None:
    """Cross-validate on the given folder or on generated folds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="folder with Fold1, Fold2, …; default: generated data")
    parser.add_argument("--output", type=Path, help="folder for models and results")
    parser.add_argument("--convention", default="standard", help="letor: the convention of LETOR's published tables")
    parser.add_argument("--quick", action="store_true", help="little data and few trees, for a quick test")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder
        if folder is None:
            folder = Path(temporary) / "folds"
            write_folds(folder, n_queries=50 if options.quick else 300)
        print(f"\n{cross_validate(folder, options.output, options.convention, options.quick)}")


if __name__ == "__main__":
    main()
