"""Compare Solr with swaprank on data of your own: trees are trained on a file, its documents indexed and reranked.

python tools/engines/real_data.py train.txt
python tools/engines/real_data.py train.txt --rows 2000 --trees 300 --url http://localhost:8983/solr/products
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT))

import numpy as np  # noqa: E402
from ask_solr import Solr, definitions, solr  # noqa: E402
from engine import Engine  # noqa: E402

import swaprank as sr  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rows", type=int, default=2000, help="documents to index, the first of the file")
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--url", help="a core of a Solr that runs; it is emptied")
    given = parser.parse_args()
    data = sr.read(given.data)
    ranker = sr.LambdaMART(n_trees=given.trees).fit(data)
    names = [f"feature{at + 1}" for at in range(data.n_features)]
    X = np.asarray(data.features[: given.rows], np.float32)
    with (
        tempfile.TemporaryDirectory() as folder,
        solr(Engine("solr")) if given.url is None else nullcontext(given.url) as address,
    ):
        server = Solr(address)
        server.enable_ranking()
        server.empty()
        server.index("real", X)
        features = definitions(names, "real", None)
        server.define(features)
        file = Path(folder) / "model.json"
        ranker.export(file, "solr", features=features, name="real", missing="zero")
        server.put_model(file.read_bytes())
        found = server.rerank("real", "real", "real", len(X))
        content = file.read_bytes()
        n_trees = len(json.loads(content)["params"]["trees"])
        print(f"Solr {server.version()}: {n_trees} trees, {len(X):,} documents, a model of {len(content):,} bytes")
    rows = [int(each["id"].rpartition(" ")[2]) for each in found]
    own = ranker.predict(np.where(np.isnan(X), np.float32(0), X))
    apart = np.abs(own[rows] - [each["score"] for each in found]).max() / np.abs(own).max()
    print(f"largest difference: {apart:.1e} of the largest score")
    print(f"documents of a higher rank with a lower score of ours: {np.sum(np.diff(own[rows]) > 0)}")


if __name__ == "__main__":
    main()
