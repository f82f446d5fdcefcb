"""Log lines as JSON, one object each."""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, final

LOGGER = logging.getLogger("swaprank.serving")


def log(level: int, event: str, **fields: Any) -> None:
    """Log an event with its fields."""
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, event, extra={"fields": fields})


@final
class JsonLines(logging.Formatter):
    """A formatter that writes the time, the level, the event and its fields.

    >>> import logging
    >>> from swaprank.serving.structured_logs import JsonLines
    >>> record = logging.makeLogRecord({"msg": "reload", "levelname": "INFO", "fields": {"model": "new"}})
    >>> JsonLines().format(record).partition(",")[2]
    '"level":"info","event":"reload","model":"new"}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": time, "level": record.levelname.lower(), "event": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["traceback"] = "".join(traceback.format_exception(*record.exc_info))
        return json.dumps(line, separators=(",", ":"), default=str)  # ASCII: nothing that a terminal would obey


def log_to_standard_error(*, quiet: bool = False) -> None:
    """Write log lines to standard error, those of uvicorn, too; only warnings and errors if quiet."""
    level = logging.WARNING if quiet else logging.INFO
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name, least in (("swaprank.serving", level), ("uvicorn", max(level, logging.WARNING))):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(least)
