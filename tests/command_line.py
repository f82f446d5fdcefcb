"""Run the command line: in this process, or in one of its own where signals, real streams or imports matter."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from contextvars import copy_context
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pytest

from swaprank.cli import main

_WITH_SIGNALS = """
import signal
for name in ("SIGTERM", "SIGHUP"):
    if hasattr(signal, name):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
"""Under nohup, or in the background of a script, the tests themselves were told to ignore some signals."""


class Ended(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


def here(*arguments: object, folder: Path | None = None, encoding: str = "utf-8") -> Ended:
    """Run a command in this process, which takes no time to start.

    Args:
        arguments: The command-line arguments.
        folder: The working directory.
        encoding: That of the terminal.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding, newline="\n", write_through=True) for _ in range(2))
    with (
        mock.patch.dict(os.environ, COLUMNS="200"),
        contextlib.chdir(folder or Path.cwd()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as end,
    ):
        copy_context().run(main, [str(argument) for argument in arguments])
    printed = (stream.buffer.getvalue().decode(encoding) for stream in (out, err))
    return Ended(int(end.value.code or 0), *printed)


def swaprank(*arguments: object, folder: Path | None = None, before: str = "", **environment: str) -> Ended:
    """Run a command in its own process, with real exit codes and streams.

    Args:
        arguments: The command-line arguments.
        folder: The working directory.
        before: Python code to run first, which breaks something.
        environment: Environment variables to set.
    """
    command = [sys.executable, "-c", f"{_WITH_SIGNALS}{before}\nfrom swaprank.__main__ import main; main()"]
    variables = {**os.environ, "COLUMNS": "200", **environment}
    command += map(str, arguments)
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=variables, check=False)
    return Ended(done.returncode, done.stdout, done.stderr)
