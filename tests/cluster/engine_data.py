"""Judged documents as Spark and Ray users have them: text, missing values, weights, and rows in any order."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import swaprank as sr

NUMBERS = ["match", "title_match", "authority", "age_days"]


def frame(n_queries: int, seed: int, first: int = 0) -> pd.DataFrame:
    """Ten documents a query, in no order; the columns of labels and query ids have names of their own."""
    (data,) = sr.datasets.random_search((n_queries,), n_documents=10, random_state=seed)
    rng = np.random.default_rng(seed)
    values = {name: data.column(name).astype(np.float64) for name in NUMBERS}
    values["match"][rng.random(len(data)) < 0.1] = np.nan
    brands = np.array(["nike", "asics", "puma", None], dtype=object)
    rows = pd.DataFrame(values).assign(
        brand=brands[rng.integers(0, 4, len(data))],
        shop=rng.integers(1, 6, len(data)),
        query=[f"q{query}" for query in np.repeat(np.arange(first, first + n_queries), 10)],
        clicked=data.labels,
        weight=rng.uniform(0.1, 1, len(data)),
        id=np.arange(len(data)),
    )
    # The same values are repeated, so that the order of rows decides.
    rows[NUMBERS] = rows[NUMBERS].round(1)
    return rows.sample(frac=1, random_state=seed).reset_index(drop=True)


TRAIN, VALI = frame(40, 0), frame(15, 1, 1000)
COLUMNS: dict[str, Any] = {"label": "clicked", "qid": "query", "sample_weight": "weight"}
"""The names of columns, as `Dataset.from_frame`, `sr.spark.fit` and `sr.ray.fit` take them."""


def dataset(of: pd.DataFrame, **options: Any) -> sr.Dataset:
    ignore = [] if "id" in options.values() or "id" not in of else ["id"]
    return sr.Dataset.from_frame(of, **COLUMNS, **{"ignore": ignore} | options)


def saved(ranker: sr.Ranker, folder: Path) -> bytes:
    ranker.save(folder / "model.swaprank")
    return (folder / "model.swaprank").read_bytes()


def ancestors(process: int) -> list[int]:
    """The processes that have started a process, one after the other."""
    found = list[int]()
    while process > 1:
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        found.append(process)
    return found
