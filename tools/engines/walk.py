"""Run the commands of a page of the documentation, one block after another, with an engine from Maven's artifacts.

python tools/engines/walk.py solr
python tools/engines/walk.py solr --url http://localhost:8983/solr/products     # a core that has nothing yet
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

from ask_solr import solr
from engine import HERE, Engine

PROJECT = HERE.parents[1]
ON_THE_PAGE = {"solr": "localhost:8983/solr/products", "opensearch": "localhost:9200"}
"""The address of each engine on its page."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=list(ON_THE_PAGE))
    parser.add_argument("--url", help="a server that runs")
    given = parser.parse_args()
    if given.url is None and given.engine != "solr":
        parser.error("give --url: only Solr can be started here.")
    page = (PROJECT / "docs" / "exchange" / f"{given.engine}_search.md").read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    paths = [str(Path(sys.executable).parent), os.environ["PATH"]]
    with (
        tempfile.TemporaryDirectory() as folder,
        solr(Engine("solr")) if given.url is None else nullcontext(given.url) as address,
    ):
        for block in blocks:
            command = [
                "bash",
                "-euo",
                "pipefail",
                "-c",
                block.replace(ON_THE_PAGE[given.engine], address.removeprefix("http://")),
            ]
            subprocess.run(command, cwd=folder, check=True, env={**os.environ, "PATH": os.pathsep.join(paths)})


if __name__ == "__main__":
    main()
