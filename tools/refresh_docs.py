"""Write what the code blocks of README.md and docs/ print now into the `text` blocks after them.

    python tools/refresh_docs.py [PAGE ...]

For a change that moves figures, such as other defaults. Read the difference: the sentences around the figures must
still be true. tests/test_documentation.py compares the same blocks.
"""

import contextlib
import os
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).parent.parent
sys.path.insert(0, str(PROJECT))

from tests.pages import refreshed, runnable  # noqa: E402

MQ2008 = PROJECT.parent / "shared" / "data" / "mq2008"


def main() -> None:
    os.environ.setdefault("MQ2008", str(MQ2008))  # what docs/tutorials/real_set.md reads
    for page in [Path(name).resolve() for name in sys.argv[1:]] or runnable():
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            new = refreshed(page)
        if new != page.read_text("utf-8"):
            page.write_text(new, "utf-8")
            print(f"changed: {page.relative_to(PROJECT)}")


if __name__ == "__main__":
    main()
