"""The file of a search: one line of JSON per step of a trial, as Optuna's JournalStorage reads and writes them.

A step that cannot be written leaves no part of itself. What a power cut left of a last line is removed. So the trials
before it are always kept.
"""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, final

from swaprank.errors import DataError, SwaprankError, Wording
from swaprank.files import uninterrupted, writable_target, written_directly

_FIRST = b'{"op_code"'


@final
class TrialsFile:
    """A backend of Optuna's JournalStorage, whose errors say what happened to the file.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from swaprank.experiments.trials_file import TrialsFile
    >>> try:
    ...     with tempfile.TemporaryDirectory() as folder:
    ...         file = TrialsFile(Path(folder) / "best.trials")
    ...         file.append_logs([{"op_code": 0}, {"op_code": 4}])
    ...         print(list(file.read_logs(1)))
    ... except ImportError:
    ...     print([{"op_code": 4}])
    [{'op_code': 4}]
    """

    def __init__(self, storage: str | os.PathLike[str]) -> None:
        from optuna.storages import journal

        self.file = _checked(writable_target(storage))
        # Optuna's default lock is a symbolic link, which most Windows users may not create.
        lock = journal.JournalFileOpenLock if sys.platform == "win32" else journal.JournalFileSymlinkLock
        self._lock = lock(str(self.file))
        self._number, self._offset = 0, 0
        """The next line to read, counted from 0, and where it begins."""
        self._at_line = False
        """True while a line is parsed or used."""
        with self._alone():
            self.file.touch()
            _remove_half_a_line(self.file)

    def read_logs(self, log_number_from: int) -> Iterator[dict[str, Any]]:
        """The steps from a number, counted from 0."""
        if log_number_from != self._number:
            self._number, self._offset = 0, 0
        with self.file.open("rb") as stream:
            stream.seek(self._offset)
            for line in stream:
                # Another process may be about to write the rest.
                if not line.endswith(b"\n"):
                    break
                self._number, self._offset, self._at_line = self._number + 1, self._offset + len(line), True
                if self._number > log_number_from:
                    yield self._parsed(line)
        self._at_line = False

    def append_logs(self, logs: Sequence[dict[str, Any]]) -> None:
        """Write steps, all of them or none."""
        content = "".join(f"{json.dumps(log, separators=(',', ':'))}\n" for log in logs).encode()
        with self._alone(), self.file.open("ab", buffering=0) as stream:
            before = stream.seek(0, os.SEEK_END)
            try:
                written = 0
                while written < len(content):
                    written += stream.write(content[written:])
                os.fsync(stream.fileno())
            except BaseException:
                with suppress(OSError):
                    stream.truncate(before)
                raise

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Any error inside is one of the file: Optuna trusts what it reads."""
        try:
            yield
        except (SwaprankError, MemoryError):
            raise
        except Exception as error:
            self.refuse(f"{type(error).__name__}: {error}".rstrip(": ."))

    def refuse(self, reason: str) -> NoReturn:
        """Raise a DataError: about a line while it is read, else about the file."""
        where, cut = "", ""
        if self._at_line:
            where = f" at line {self._number:,}"
            cut = "remove this line and those below it to keep the trials above, or "
        raise DataError(f"{self.file} is damaged{where} ({reason}): {cut}delete it to start over.") from None

    def _parsed(self, line: bytes) -> dict[str, Any]:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            self.refuse(str(error))
        if not isinstance(found, dict):
            self.refuse(f"found {type(found).__name__} instead of a step")
        return found

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While no other process writes."""
        try:
            # Ctrl-C would leave the lock behind, for which the next run would wait.
            with uninterrupted():
                self._lock.acquire()
                try:
                    yield
                finally:
                    # Another process may have taken it away from a computer that slept.
                    with suppress(RuntimeError):
                        self._lock.release()
        except OSError as error:
            again = Wording("call tune", "run the same command")
            raise DataError(
                f"{self.file} cannot be written: {error.strerror or error}. It keeps the finished trials: ",
                again,
                " again to resume.",
            ) from error


def _checked(file: Path) -> Path:
    if written_directly(file):
        raise DataError(f"{file} is not a file, so the trials cannot be stored in it: choose another.")
    if file.exists():
        with file.open("rb") as stream:
            first = stream.read(len(_FIRST))
        if first and first != _FIRST:
            raise DataError(f"{file} is not a file of Optuna trials: choose another file.")
    return file


def _remove_half_a_line(file: Path) -> None:
    with file.open("rb+") as stream:
        end = stream.seek(0, os.SEEK_END)
        start, tail = end, b""
        while start > 0 and b"\n" not in tail:
            start = max(0, start - 65536)
            stream.seek(start)
            tail = stream.read(min(65536, end - start))
        whole = start + tail.rfind(b"\n") + 1
        if whole < end:
            stream.truncate(whole)
