"""Run the command line in this process: faster, where signals and real streams do not matter."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest

from swaprank.cli import main
from swaprank.cli.output import verbosity


class Ended(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


Here: TypeAlias = Callable[..., Ended]


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Here]:
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object, folder: Path) -> Ended:
        monkeypatch.chdir(folder)
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        return Ended(int(end.value.code or 0), *capsys.readouterr())

    before = verbosity.get()
    yield run
    verbosity.set(before)
