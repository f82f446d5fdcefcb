"""Files are replaced as a whole or not at all; links, devices, pipes and permissions stay."""

from __future__ import annotations

import errno
import gzip
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from swaprank.errors import DataError
from swaprank.files import existing_file, file_in, replacing, writable_target, written_directly

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX files")
is_root = hasattr(os, "geteuid") and os.geteuid() == 0


def write(path: Path | str, content: bytes = b"new") -> None:
    with replacing(path) as stream:
        stream.write(content)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_a_new_file_follows_the_umask_and_an_old_one_keeps_its_mode(tmp_path: Path, umask: None) -> None:
    write(tmp_path / "new")
    assert mode_of(tmp_path / "new") == 0o640
    for mode in (0o600, 0o644, 0o666, 0o755):
        old = tmp_path / f"{mode:o}"
        old.write_bytes(b"old")
        old.chmod(mode)
        with replacing(old) as stream:
            stream.write(b"secret")
            (part,) = tmp_path.glob("*.part")
            assert mode_of(part) == mode
        assert (old.read_bytes(), mode_of(old)) == (b"secret", mode)


@pytest.mark.skipif(not is_root, reason="only root may change owners")
def test_root_keeps_the_owner(tmp_path: Path) -> None:
    file = tmp_path / "model"
    file.write_bytes(b"old")
    os.chown(file, 4321, 1234)
    file.chmod(0o600)
    write(file)
    assert (file.stat().st_uid, file.stat().st_gid, mode_of(file)) == (4321, 1234, 0o600)


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "v1").write_bytes(b"old")
    (tmp_path / "current").symlink_to("models/v1")
    (tmp_path / "alias").symlink_to(tmp_path / "current")
    write(tmp_path / "alias")
    assert (tmp_path / "alias").is_symlink()
    assert (tmp_path / "current").is_symlink()
    assert (tmp_path / "models" / "v1").read_bytes() == b"new"
    (tmp_path / "next").symlink_to("models/v2")
    write(tmp_path / "next")
    assert (tmp_path / "next").is_symlink()
    assert (tmp_path / "models" / "v2").read_bytes() == b"new"
    assert sorted(path.name for path in (tmp_path / "models").iterdir()) == ["v1", "v2"]
    (tmp_path / "nowhere").symlink_to("absent/v1")
    (tmp_path / "loop").symlink_to("loop")
    for bad, message in (("nowhere", "there is no folder .*absent"), ("loop", "Too many levels")):
        with pytest.raises(DataError, match=message):
            writable_target(tmp_path / bad)


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.gz"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    assert writable_target(pipe) == pipe
    write(pipe, b"x" * 100_000)
    reader.join()
    assert gzip.decompress(found[0]) == b"x" * 100_000
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe.gz"]


def test_a_pipe_without_a_reader_is_an_error_with_its_name(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    opened = threading.Timer(0.2, os.close, [reader])
    opened.start()
    with pytest.raises(DataError, match="pipe cannot be written: Broken pipe"):
        write(pipe, b"x" * 1_000_000)


@pytest.mark.skipif(not is_root, reason="only root may make devices")
def test_devices_are_written_to_as_root(tmp_path: Path) -> None:
    """A copy of /dev/null: the real one must survive a failing test."""
    device, link = tmp_path / "null", tmp_path / "link"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        os.mknod(tmp_path / "disk", 0o600 | stat.S_IFBLK, os.makedev(7, 200))
        device.write_bytes(b"")
    except OSError:
        pytest.skip("no devices in this container")
    link.symlink_to(device)
    for path in (device, link):
        write(path)
        assert stat.S_ISCHR(device.stat().st_mode)
    assert link.is_symlink()
    with pytest.raises(DataError, match="disk is a disk or a socket"):
        write(tmp_path / "disk")


@pytest.mark.parametrize("before", [b"", b"first\n"])
def test_standard_output_is_continued(before: bytes, tmp_path: Path) -> None:
    """Also if it goes to a file, which `>>` must not lose."""
    out = tmp_path / "out"
    out.write_bytes(before)
    code = "from swaprank.files import replacing\nwith replacing('/dev/stdout') as s: s.write(b'scores')\nprint('!')"
    with out.open("ab") as stream:
        subprocess.run([sys.executable, "-c", code], stdout=stream, check=True)
    assert out.read_bytes() == before + b"scores!\n"
    piped = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    assert piped.stdout == b"scores!\n"
    assert written_directly("/dev/stdout")
    assert written_directly("/dev/fd/1")


def test_everything_else_is_refused(tmp_path: Path) -> None:
    import socket

    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(tmp_path)  # The path of a socket has at most 108 bytes.
        listening.bind("socket")
        os.chdir(here)
        for path, message in ((tmp_path / "socket", "disk or a socket"), (tmp_path, "is a folder")):
            with pytest.raises(DataError, match=message):
                write(path)
    with pytest.raises(DataError, match=r"null (byte|character)"):
        writable_target("a\0b")
    for check in (writable_target, existing_file):
        with pytest.raises(DataError, match=r"File name too long|there is no file"):
            check(tmp_path / ("x" * 256))


def test_names_of_255_bytes(tmp_path: Path) -> None:
    for name in ("x" * 255, "é" * 127):
        write(tmp_path / name)
        assert (tmp_path / name).read_bytes() == b"new"
    assert len(list(tmp_path.iterdir())) == 2


def test_no_permission() -> None:
    """In a process of its own, which gives up the rights of root."""
    with TemporaryDirectory() as folder:
        if is_root:
            os.chown(folder, 65534, 65534)
        child = os.fork()
        if child == 0:
            try:
                if is_root:
                    os.setgroups([])
                    os.setgid(65534)
                    os.setuid(65534)
                _check_permissions(Path(folder))
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0


def _check_permissions(tmp_path: Path) -> None:
    protected = tmp_path / "model"
    protected.write_bytes(b"old")
    protected.chmod(0o444)
    with pytest.raises(DataError, match="model is write-protected"):
        write(protected)
    protected.chmod(0o644)
    tmp_path.chmod(0o500)
    with pytest.raises(DataError, match="no permission to write to the folder"):
        write(protected)
    tmp_path.chmod(0o700)
    assert protected.read_bytes() == b"old"
    protected.chmod(0o200)
    with pytest.raises(DataError, match="model cannot be read: there is no permission"):
        existing_file(protected)
    write(protected)
    assert mode_of(protected) == 0o200


@pytest.mark.parametrize("name", ["scores", "scores.gz", "scores.xz", "scores.zst"])
def test_a_full_disk_leaves_the_old_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit on the size of files stands for the disk; nothing new may be left."""
    import resource

    file = tmp_path / name
    file.write_bytes(b"old")
    noise = os.urandom(200_000)
    limits, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(DataError, match=f"{name} cannot be written: {os.strerror(errno.EFBIG)}"):
            write(file, noise)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert file.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == [name]

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match=f"{name} cannot be written: No space left on device"):
        write(file)
    assert file.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == [name]


def _write_and_wait(path: Path, writing: object, done: object) -> None:
    with replacing(path) as stream:
        stream.write(b"slow")
        stream.flush()
        writing.set()  # type: ignore[attr-defined]
        done.wait()  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["model", "y" * 255])
def test_parts_of_killed_processes_are_removed_and_of_others_not(name: str, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    file, writing, done = tmp_path / name, context.Event(), context.Event()
    (tmp_path / f".other{name[:200]}.0123abcd.part").write_bytes(b"of another file")
    (tmp_path / f".{name[:200]}.mine.part").write_bytes(b"of a user")
    others = {path.name for path in tmp_path.iterdir()}
    process = context.Process(target=_write_and_wait, args=(file, writing, done))
    process.start()
    assert writing.wait(60)
    (part,) = {path.name for path in tmp_path.iterdir()} - others
    write(file, b"quick")
    assert {path.name for path in tmp_path.iterdir()} == {name, part, *others}
    process.kill()
    process.join()
    write(file, b"later")
    assert {path.name for path in tmp_path.iterdir()} == {name, *others}
    assert file.read_bytes() == b"later"


def test_the_file_is_on_disk_before_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a power cut leaves an empty file where the old one was."""
    file, events = tmp_path / "model", []

    def sync(descriptor: int) -> None:
        status = os.fstat(descriptor)
        events.append("folder" if stat.S_ISDIR(status.st_mode) else f"{status.st_size} bytes, {file.exists()}")

    monkeypatch.setattr(os, "fsync", sync)
    write(file, b"12345")
    assert events == ["5 bytes, False", "folder"]


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes")
def test_a_pipe_with_the_name_of_a_temporary_file_does_not_stop_writing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".out.txt.0123abcd.part")
    with replacing(tmp_path / "out.txt") as stream:
        stream.write(b"done")
    assert (tmp_path / "out.txt").read_bytes() == b"done"


def test_a_name_in_a_folder_is_no_link_but_the_folder_may_be_one(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "results").symlink_to("real")
    assert file_in(tmp_path / "results", "a.txt") == tmp_path / "results" / "a.txt"
    (tmp_path / "real" / "a.txt").symlink_to("absent")
    (tmp_path / "real" / "Fold1").symlink_to(tmp_path)
    with pytest.raises(DataError, match=r"a\.txt is a link to absent, which would be overwritten: remove the link"):
        file_in(tmp_path / "results", "a.txt")
    with pytest.raises(DataError, match="Fold1 is a link to"):
        file_in(tmp_path / "results", "Fold1", "new.json")
