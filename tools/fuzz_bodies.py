"""Ask a server's models with damaged bodies: an answer has finite scores, or is an error that says why.

    python tools/fuzz_bodies.py [--cases 20000] [--seed 0] [--case 123]

The same seed gives the same cases; `--case` runs one of them.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import warnings
from collections import Counter
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from damage import ODD_VALUES, Rng, damaged, pick

import swaprank as sr
from swaprank.serving.answering import Answering
from swaprank.serving.models import Models
from swaprank.serving.request_bodies import ARROW, BINARY, JSON
from swaprank.serving.request_errors import RequestError
from swaprank.serving.settings import Limits, Settings

NAMES = ["a", "b", "brand"]


def make_served(folder: Path) -> None:
    """A model with a category."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(60, 2)), rng.integers(0, 4, 60)])
    data = sr.Dataset(X, rng.integers(0, 3, 60), qid=np.arange(60) // 6, feature_names=NAMES, categorical_features=[2])
    sr.MART(n_trees=3, n_leaves=4, min_docs_in_leaf=3).fit(data).save(folder / "model.swaprank")


@cache
def answering(folder: Path) -> Answering:
    settings = Settings(limits=Limits(documents=1000), drift_share=1.0, pages=folder / "pages.jsonl")
    return Answering(Models({"model": folder / "model.swaprank"}), settings)


def body_case(rng: Rng, folder: Path) -> str:
    """Ask with a damaged body; returns what came back."""
    kind = pick(rng, [JSON, JSON, BINARY, ARROW])
    route = pick(rng, ["rank", "score"])
    content = {JSON: json_body, BINARY: binary_body, ARROW: arrow_body}[kind](rng)
    if rng.random() < 0.7:
        content = damaged(content, rng)
    given = {"session": "s"} if rng.random() < 0.2 else {}
    try:
        answer = answering(folder).answer(route, None, kind, content, given, "id")
    except RequestError as error:
        if not (400 <= error.status < 500 and error.message):
            raise AssertionError(f"status {error.status}") from error
        return f"refused with {error.status}"
    except sr.errors.SwaprankError:
        return "refused by the model"
    if not np.isfinite(json.loads(answer.content)["scores"]).all():
        raise AssertionError("a score is not finite")
    return "answered"


def json_body(rng: Rng) -> bytes:
    """Rows or objects, and sometimes an odd value somewhere."""
    rows: list[Any] = [[float(rng.normal()), None, int(rng.integers(4))] for _ in range(int(rng.integers(1, 6)))]
    if rng.random() < 0.5:
        rows = [dict(zip(NAMES, [*row[:2], str(row[2])], strict=True)) for row in rows]
    body: dict[str, Any] = {"documents": rows}
    if rng.random() < 0.5:
        body |= {"k": 3, "query": "q", "session": "s", "ids": [f"d{at}" for at in range(len(rows))]}
    if rng.random() < 0.5:
        odd = pick(rng, ODD_VALUES)
        place = pick(rng, ["k", "documents", "ids", "query", "session", "row", "value"])
        if place == "row":
            rows[0] = odd
        elif place == "value":
            rows[0] = {"a": odd} if isinstance(rows[0], dict) else [odd, 1, 2]
        else:
            body[place] = odd
    return json.dumps(body).encode("utf-8", "surrogatepass")


def binary_body(rng: Rng) -> bytes:
    rows = rng.normal(size=(int(rng.integers(1, 6)), 3)).astype("<f4")
    rows[:, 2] = rng.integers(0, 4, len(rows))
    return rows.tobytes()


def arrow_body(rng: Rng) -> bytes:
    import pyarrow

    columns: dict[str, Any] = {"a": rng.normal(size=4), "b": [1, None, 3, 4], "brand": ["0", "1", None, "9"]}
    if rng.random() < 0.5:
        columns["docid"] = ["w", "x", "y", "z"]
    if rng.random() < 0.3:
        columns[pick(rng, ["a", "b", "c", "docid"])] = [pick(rng, [None, 1.5, "x", True, b"y", [1], {"a": 1}])] * 4
    table = pyarrow.table(columns)
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="run only this case")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make_served(folder)
        for case in range(options.cases) if options.case is None else [options.case]:
            try:
                counts[body_case(np.random.default_rng((options.seed, case)), folder)] += 1
            except Exception as error:
                if options.case is not None:
                    raise
                print(f"case {case}: {type(error).__name__}: {str(error)[:300]}")
                counts["failed"] += 1
    print(f"seed {options.seed}: {counts.total()} tried, {counts['failed']} failed; {dict(counts)}")
    sys.exit(counts["failed"] > 0)


if __name__ == "__main__":
    main()
