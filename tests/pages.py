"""The code of README.md and docs/ runs, and the `text` block after it is what it prints.

Blocks of `python` run on every page, blocks of `sh` and `toml` on the page of the command line, blocks of `py` nowhere.
tests/test_documentation.py compares, tools/refresh_docs.py writes.
"""

import contextlib
import io
import re
import shlex
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.command_line import here

PROJECT = Path(__file__).parent.parent
COMMANDS = PROJECT / "docs" / "command_line.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

ELSEWHERE = ("demo", "reproduce", "report")
"""Commands with tests of their own, which take too long here."""

_VERSIONS = re.compile(r"With NumPy [\d.]+ and SciPy [\d.]+")


def runnable() -> list[Path]:
    """The pages with code that runs."""
    pages = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]
    return [page for page in pages if "```python" in page.read_text("utf-8")]


def refreshed(page: Path) -> str:
    """The text of a page with what its code prints now; it runs in the current folder."""
    text = _VERSIONS.sub(_versions(), page.read_text("utf-8"))
    names: dict[str, Any] = {}
    printed: str | None = None
    parts, end = list[str](), 0
    for block in BLOCK.finditer(text):
        language, code = block.groups()
        if language == "text" and printed is not None and comparable(printed) != comparable(code):
            parts += [text[end : block.start(2)], printed]
            end = block.end(2)
        printed = None
        if language == "python":
            printed = _printed_by_python(code, page.name, names)
        elif page == COMMANDS and language == "sh":
            printed = _printed_by_commands(code)
        elif page == COMMANDS and language == "toml":
            Path(code.splitlines()[0].removeprefix("# ")).write_text(code, "utf-8")
    return "".join([*parts, text[end:]])


def is_of_these_versions(page: Path) -> bool:
    """False for a page that says it was made with other versions of NumPy and SciPy."""
    return _VERSIONS.findall(page.read_text("utf-8")) in ([], [_versions()])


def comparable(text: str) -> str:
    """The text without times, and with ten digits of fractions: SciPy's last digits depend on the C library."""
    lines, times = text.splitlines(), slice(0)
    for number, line in enumerate(lines):
        header = re.search(r" +seconds\b", line)
        times = slice(*header.span()) if header else times if line else slice(0)
        lines[number] = line[: times.start] + line[times.stop :] if times.stop else line
    return re.sub(r"-?\d+\.\d{11,}", lambda found: f"{float(found[0]):.10f}", "\n".join(lines))


def commands(code: str) -> list[str]:
    """The lines of a block of `sh`; what goes on in the next line is one."""
    return re.sub(r"\\\n *", "", code).splitlines()


def _versions() -> str:
    return f"With NumPy {version('numpy')} and SciPy {version('scipy')}"


def _printed_by_python(code: str, name: str, names: dict[str, Any]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, name, "exec"), names)
    return printed.getvalue()


def _printed_by_commands(code: str) -> str:
    printed = ""
    for line in commands(code):
        arguments = shlex.split(line, comments=True)
        if arguments[:1] == ["printf"]:
            subprocess.run(["bash", "-c", line], check=True)
        if arguments[:1] == ["swaprank"] and arguments[1] not in ELSEWHERE:
            ended = here(*arguments[1:])
            assert ended.code == (1 if "ends with 1" in line else 0), (line, ended.err)
            printed += ended.out
    return printed
