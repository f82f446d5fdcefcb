"""Files that change while they are read are an error with their name: never a crash, and never a mix of old and new."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from swaprank.errors import DataError
from swaprank.reading import text_files
from swaprank.reading.tables import read_table
from swaprank.reading.text_files import text_lines

pytestmark = pytest.mark.slow

# All moments: before the first read of a piece, before the second, … In a process of its own, which a crash would end.
AT_EVERY_READ = """
import os, sys
from pathlib import Path
from swaprank.errors import DataError
from swaprank.reading import letor_block, text_files
from swaprank.reading.letor import read_letor

letor_block._LEAST_CHUNK, text_files._PIECE_BYTES, text_files._TAIL_BYTES = 2000, 700, 64
lines = [f"{k % 3} qid:{k // 9} 1:{k / 7:.6f} 2:{k} 5:-{k}.25 #docid = d{k}\\n" for k in range(200)]
old = "".join(lines)
n = len(old)
short = "1 qid:1 1:1\\n"
new = {
    "empty": "",
    "half": old[: n // 2],
    "within a line": old[: n - 9],
    "many short lines": (short * n)[: n // len(short) * len(short)],
    "one character per line": "1\\n" * (n // 2),
    "long numbers": "".join(f"1 qid:1 1:{'7' * 300}.{'3' * 300}\\n" for _ in range(n // 600)),
    "one line": "1 qid:1" + " 1:1" * (n // 4),
    "other features": old.replace(" 5:", " 7:").replace(" 1:", " 0:"),
    "long ids": old.replace("qid:", "qid:aaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
    "longer": old * 3,
    "comments": "# comment\\n" * (n // 10),
    "spaces": " " * n,
    "NUL": "\\0" * n,
}
file = Path(sys.argv[1])
read_into, n_reads, at, content = text_files.TextFile._read_into, 0, -1, ""

def changing(self, buffer, position):
    global n_reads
    if n_reads == at:
        with file.open("r+b") as stream:
            stream.write(content.encode())
            stream.truncate()
    n_reads += 1
    return read_into(self, buffer, position)

text_files.TextFile._read_into = changing
for n_threads in (1, 3):
    for name, content in new.items():
        at, total = -1, 1
        while at < total:
            file.write_text(old)
            os.utime(file, (1e9, 1e9))
            n_reads = 0
            try:
                data = read_letor(file, n_threads=n_threads)
                outcome = f"read {len(data)} documents"
            except DataError as error:
                outcome = str(error)
            print(n_threads, name, at, outcome, sep="|")
            total = n_reads if at < 0 else total
            at += 1
"""


def test_a_change_at_any_moment_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "train.txt"
    done = subprocess.run([sys.executable, "-c", AT_EVERY_READ, str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    outcomes = [line.split("|") for line in done.stdout.splitlines()]
    assert len(outcomes) > 700
    for _, name, at, outcome in outcomes:
        if at == "-1":
            assert outcome == "read 200 documents"
        else:
            expected = (f"{file} was changed while it was read", f"{file} was truncated while it was read")
            # The first read is of the head, before anything is parsed.
            assert outcome.startswith((*expected, f"{file} is binary") if at == "0" else expected), (name, at, outcome)


READ_AGAIN_AND_AGAIN = """
import sys
import swaprank as sr
for _ in range(int(sys.argv[2])):
    try:
        print(len(sr.read(sys.argv[1])))
    except sr.errors.DataError as error:
        print(str(error).replace(sys.argv[1], "FILE"))
"""


@pytest.mark.parametrize("ending", ["txt", "csv"])
def test_a_writer_at_work(ending: str, tmp_path: Path) -> None:
    """A real process reads while this one truncates and rewrites the file in place."""
    file = tmp_path / f"train.{ending}"
    header = "" if ending == "txt" else "label,qid,a,b\n"
    form = "{} qid:{} 1:{} 2:{}\n" if ending == "txt" else "{},{},{},{}\n"
    versions = [
        (header + "".join(form.format(k % 3, k // 50, value, k) for k in range(n))).encode()
        for n, value in ((60_000, "0.123456"), (80_000, "1"), (20_000, "123456789.123456"))
    ]
    file.write_bytes(versions[0])
    command = [sys.executable, "-c", READ_AGAIN_AND_AGAIN, str(file), "30"]
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    k = 0
    while reader.poll() is None:
        k += 1
        with file.open("r+b") as stream:
            if k % 2:
                stream.truncate(len(versions[0]) // 3)
            stream.write(versions[k % 3])
            stream.truncate()
    out, err = reader.communicate()
    assert reader.returncode == 0, err[-2000:]
    assert len(out.splitlines()) == 30
    # A number: nothing was written from the start to the end of reading.
    assert all(line.isdecimal() or "FILE" in line for line in out.splitlines())


def truncated(file: Path) -> None:
    os.truncate(file, 10)


def rewritten(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.write(b"9 9 9 9\n")


@pytest.mark.parametrize("change", [truncated, rewritten])
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_lines(change: Callable[[Path], None], ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "_BLOCK_BYTES", 100)
    monkeypatch.setattr(text_files, "_PACKED_BYTES", 50)
    from swaprank.files import replacing

    file = tmp_path / f"judged.qrels{ending}"
    with replacing(file) as stream:
        stream.write(b"".join(b"%d 0 %d 1\n" % (k, k * 7919 % 9973) for k in range(2000)))
    os.utime(file, (1e9, 1e9))
    lines = text_lines(file)
    next(lines)
    change(file)
    with pytest.raises(DataError, match=f"{file} was changed while it was read"):
        list(lines)


def test_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "clicks.csv"
    file.write_text("label,qid,a\n1,1,2\n")
    os.utime(file, (1e9, 1e9))
    polars = pytest.importorskip("polars")
    read_csv = polars.read_csv

    def check(*sources: object, **options: object) -> object:
        # Given a path, Polars would map the file.
        assert isinstance(sources[0], bytes)
        return read_csv(*sources, **options)

    monkeypatch.setattr(polars, "read_csv", check)
    assert len(read_table(file)) == 1
