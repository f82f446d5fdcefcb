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
SOLR = "localhost:8983/solr/products"
"""The address on the page."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=["solr"])
    parser.add_argument("--url", help="a server that runs")
    given = parser.parse_args()
    page = (PROJECT / "docs" / "exchange" / f"{given.engine}_search.md").read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    paths = [str(Path(sys.executable).parent), os.environ["PATH"]]
    with (
        tempfile.TemporaryDirectory() as folder,
        solr(Engine("solr")) if given.url is None else nullcontext(given.url) as address,
    ):
        for block in blocks:
            command = ["bash", "-euo", "pipefail", "-c", block.replace(SOLR, address.removeprefix("http://"))]
            subprocess.run(command, cwd=folder, check=True, env={**os.environ, "PATH": os.pathsep.join(paths)})


if __name__ == "__main__":
    main()
