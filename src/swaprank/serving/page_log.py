"""Pages that were shown, as JSON lines in the schema of User Behavior Insights, which `swaprank clicks` reads.

Clicks on them are events with the same `query_id`, logged by whoever sees them.
"""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, final

import msgspec


@final
class PageLog:
    """A file that pages are appended to.

    It is opened for every page, so it may be moved away at any time; a line is written at once, so any number of
    processes may append to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(
        self,
        query_id: str,
        query: str,
        documents: list[str],
        session: str | None,
        attributes: dict[str, Any],
    ) -> None:
        """Append a page; OSError if that is not possible.

        >>> import pathlib, tempfile
        >>> from swaprank.serving.page_log import PageLog
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "pages.jsonl"
        >>> PageLog(path).add("q1", "shoes", ["b", "a"], "s1", {"variant": "new"})
        >>> path.read_text().partition(',"timestamp"')[0]
        '{"query_id":"q1","user_query":"shoes","client_id":"s1","query_response_hit_ids":["b","a"]'
        """
        page = {
            "query_id": query_id,
            "user_query": query,
            "client_id": session,
            "query_response_hit_ids": documents,
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "query_attributes": attributes,
        }
        line = msgspec.json.encode(page) + b"\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
        try:
            if os.write(descriptor, line) < len(line):
                raise OSError(f"only a part of a page was written to {self.path}")
        finally:
            os.close(descriptor)
