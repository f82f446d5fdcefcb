"""For the site's reference: examples in docstrings, which stand there as `>>>` lines, become blocks of code."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

EXAMPLE = re.compile(r"(?:^>>> .*\n?)(?:^(?!\s*$).*\n?|^\s*\n(?=>>> ))*", re.MULTILINE)


class DoctestBlocks(Extension):
    """Put a fence around every run of lines that begins with `>>>` and ends with a blank line."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called once for every object that has been loaded."""
        if obj.docstring is not None:
            text = obj.docstring.value
            obj.docstring.value = EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text)
