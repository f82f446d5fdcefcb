"""Ask real engines for the scores of exported rankers, and record them for the tests.

    python tools/engines/record.py rankers           # train the rankers, and write them with their documents
    python tools/engines/record.py solr              # Solr from Maven Central; also ranklib, vespa
    python tools/engines/record.py solr --url http://localhost:8983/solr/products

The engines are run on the recorded rankers, so that they all answer for the same ones. With --url, a server that runs
is asked, and its documents, features and models are deleted. The pages of docs/exchange say how to start one.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT))

import numpy as np  # noqa: E402
from engine import Engine  # noqa: E402
from tests.exchange.recordings import FOLDER, Recording, file_name, own_scores  # noqa: E402


def write_json(file: Path, content: Any) -> None:
    text = json.dumps(content, separators=(",", ":"))
    # Without the time, so that the same content is the same file.
    file.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{file}: {file.stat().st_size:,} bytes")


def write_rankers() -> None:
    from rankers import documents, rankers

    (FOLDER / "rankers").mkdir(parents=True, exist_ok=True)
    found = rankers()
    for name, ranker in found.items():
        ranker.save(FOLDER / "rankers" / f"{file_name(name)}.swaprank")
    rows = {
        name: [[None if np.isnan(value) else float(str(value)) for value in row] for row in documents(name, ranker)]
        for name, ranker in found.items()
    }
    write_json(FOLDER / "documents.json.gz", rows)


def ask(name: str, version: str | None, url: str | None) -> Recording:
    """The answers of an engine."""
    match name:
        case "solr":
            from solr_answers import solr_answers

            return solr_answers(Engine(name, version), url)
        case "opensearch" | "elasticsearch":
            from ltr_answers import ltr_answers

            if url is None:
                raise SystemExit("give --url: Maven Central has no Learning to Rank plugin.")
            return ltr_answers(name, url)
        case "vespa":
            from vespa_answers import vespa_answers

            return vespa_answers(Engine(name, version))
        case _:
            from ranklib_answers import ranklib_answers

            return ranklib_answers(Engine(name, version))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["rankers", "solr", "ranklib", "vespa", "opensearch", "elasticsearch"])
    parser.add_argument("--version", help="of Maven's artifacts, instead of the one in pom.xml")
    parser.add_argument("--url", help="ask a server that runs: of a core of Solr, or of OpenSearch or Elasticsearch")
    parser.add_argument("-o", "--output", type=Path, default=FOLDER, help="the folder for the recording")
    given = parser.parse_args()
    if given.what == "rankers":
        write_rankers()
        return
    found = ask(given.what, given.version, given.url)
    own = [own_scores(each) for each in found.answers]
    apart = [
        np.abs(each.scores - mine).max() / np.abs(mine).max() for each, mine in zip(found.answers, own, strict=True)
    ]
    print(f"{len(own)} answers, apart from our scores by at most {max(apart):.1e} of the largest score")
    write_json(given.output / f"{given.what}-{found.version}.json.gz", found.as_json())


if __name__ == "__main__":
    main()
