"""Compiled kernels on disk: found again if nothing changed that matters, and compiled if anything did."""

import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import pytest

from swaprank.compilation.levels import LEVEL, VARIABLE, cpu_levels
from swaprank.compilation.storage import STORAGE, Storage, cache_folder, is_trusted, make_private

pytestmark = pytest.mark.slow

needs_users = pytest.mark.skipif(not hasattr(os, "getuid"), reason="no users and modes on this system")

HELPER = """
from swaprank.kernels import kernel

FACTOR = 2.0

@kernel
def scaled(x):
    '''The input, scaled.'''
    return FACTOR * x
"""
CALLER = """
from typing import NamedTuple
from helper import scaled
from swaprank.compilation.storage import STORAGE
from swaprank.kernels import kernel

class Pair(NamedTuple):
    first: float
    second: float

@kernel
def difference(pair):
    return scaled(pair.first) - pair.second

print(difference(Pair(5.0, 1.0)), STORAGE.n_compiled)
"""


FORKING = """
import json, os, sys
import numba
numba.njit(lambda x: x)(1)  # imports what compiling needs
for line in sys.stdin:
    folder, environment, code = json.loads(line)
    child = os.fork()
    if child == 0:
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            os.dup2(os.open(os.path.join(folder, name), os.O_RDWR | os.O_CREAT | os.O_TRUNC), number)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
sys.dont_write_bytecode = True
exec(code, {"__name__": "__main__"})
"""
"""A process that has imported Numba, and forks for every program: they begin where they import swaprank."""


class Kernels:
    """A folder with a kernel that calls a kernel in another file, run in processes that share a cache."""

    forking: ClassVar[subprocess.Popen[str] | None] = None

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache" / "swaprank"
        (folder / "helper.py").write_text(HELPER)
        (folder / "caller.py").write_text(CALLER)

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.folder / f"{name}.py"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    def run(self, before: str = "", **variables: str) -> str:
        """What the caller prints: the result, and how many kernels were compiled."""
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(self.folder / "cache"), **variables}
        code = f"{before}\nimport caller"
        if Kernels.forking is None:
            command = [sys.executable, "-B", "-c", code]
            ended = subprocess.run(
                command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
            )
            assert ended.returncode == 0, ended.stderr
            return ended.stdout.strip()
        assert Kernels.forking.stdin is not None
        assert Kernels.forking.stdout is not None
        print(json.dumps([str(self.folder), environment, code]), file=Kernels.forking.stdin, flush=True)
        assert Kernels.forking.stdout.readline() == "0\n", (self.folder / "stderr").read_text()
        return (self.folder / "stdout").read_text().strip()


@pytest.fixture(autouse=True, scope="module")
def forking() -> Iterator[None]:
    if not hasattr(os, "fork"):
        yield
        return
    command = [sys.executable, "-c", FORKING]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as Kernels.forking:
        yield
        assert Kernels.forking.stdin is not None
        Kernels.forking.stdin.close()
    Kernels.forking = None


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of kernels whose cache is filled."""
    kernels = Kernels(tmp_path_factory.mktemp("kernels"))
    assert kernels.run() == "9.0 1"
    return kernels.folder


@pytest.fixture
def kernels(compiled: Path, tmp_path: Path) -> Kernels:
    """A copy in another folder, with other times of files."""
    shutil.copytree(compiled / "cache", tmp_path / "cache", copy_function=shutil.copyfile)
    return Kernels(tmp_path)


def test_another_process_in_another_folder_compiles_nothing(kernels: Kernels, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kernels, "forking", None)
    assert kernels.run() == "9.0 0"


def test_docstrings_comments_and_lines_do_not_matter(kernels: Kernels) -> None:
    kernels.edit("helper", "The input, scaled.", "Another text.")
    kernels.edit("caller", "@kernel", "# A comment.\n\n\n@kernel")
    assert kernels.run() == "9.0 0"


@pytest.mark.parametrize(
    ("name", "old", "new", "result"),
    [
        ("helper", "return FACTOR * x", "return FACTOR + x", "6.0"),
        ("helper", "FACTOR = 2.0", "FACTOR = 3.0", "14.0"),
        ("caller", "scaled(pair.first) - pair.second", "scaled(pair.second) - pair.first", "-3.0"),
        ("caller", "    first: float\n    second: float", "    second: float\n    first: float", "-3.0"),
        ("caller", "(pair):", "(pair, more=1.0):", "9.0"),
    ],
    ids=["a callee in another file", "a constant in another file", "the kernel", "the order of fields", "a default"],
)
def test_an_edit_compiles_anew(kernels: Kernels, name: str, old: str, new: str, result: str) -> None:
    kernels.edit(name, old, new)
    assert kernels.run() == f"{result} 1"


def test_a_tuple_that_moved_to_another_module_compiles_anew(kernels: Kernels) -> None:
    (kernels.folder / "pairs.py").write_text(
        "from typing import NamedTuple\n\nclass Pair(NamedTuple):\n    first: float\n    second: float\n"
    )
    start, end = CALLER.index("class Pair"), CALLER.index("@kernel")
    kernels.edit("caller", CALLER[start:end], "from pairs import Pair\n\n")
    assert kernels.run() == "9.0 1"


def test_a_called_kernel_that_moved_to_another_module_compiles_anew(kernels: Kernels) -> None:
    (kernels.folder / "helper.py").rename(kernels.folder / "assistant.py")
    kernels.edit("caller", "from helper", "from assistant")
    assert kernels.run() == "9.0 1"
    assert kernels.run() == "9.0 0"


def test_another_version_of_numba_compiles_anew(kernels: Kernels) -> None:
    assert kernels.run("import numba; numba.__version__ = '0.0.1'") == "9.0 1"


@pytest.mark.skipif(len(cpu_levels()) == 1, reason="this CPU has one level")
def test_another_level_compiles_anew(kernels: Kernels) -> None:
    other = next(level.name for level in cpu_levels() if level != LEVEL)
    assert kernels.run(**{VARIABLE: other}) == "9.0 1"


def test_an_unknown_level_is_an_error() -> None:
    command = [sys.executable, "-c", "import swaprank.kernels"]
    environment = {**os.environ, VARIABLE: "z80"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert f"{VARIABLE} is 'z80'; this CPU has {cpu_levels()[0].name}" in ended.stderr


@pytest.mark.parametrize("damage", [b"", b"garbage", None], ids=["empty", "garbage", "a flipped bit"])
def test_a_damaged_file_is_compiled_anew(kernels: Kernels, damage: bytes | None) -> None:
    (path,) = kernels.cache.glob("*.kernel")
    contents = bytearray(path.read_bytes())
    contents[-100] ^= 1
    path.write_bytes(bytes(contents) if damage is None else damage)
    assert kernels.run() == "9.0 1"
    assert kernels.run() == "9.0 0"


@pytest.mark.parametrize(
    "content", ["b''", "b'garbage'", "pickle.dumps(7)", "pickle.dumps((1, 2))", "whole[:-9]", "b'(' * 99"]
)
def test_a_file_of_something_else_is_compiled_anew(kernels: Kernels, content: str) -> None:
    (path,) = kernels.cache.glob("*.kernel")
    whole = path.read_bytes()[32:]
    payload = eval(content, {"pickle": pickle, "whole": whole})
    path.write_bytes(hashlib.sha256(payload).digest() + payload)
    assert kernels.run() == "9.0 1"
    assert path.read_bytes()[32:] != payload
    assert kernels.run() == "9.0 0"


@needs_users
@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777])
def test_a_folder_that_others_can_write_to_is_not_used(kernels: Kernels, mode: int) -> None:
    kernels.cache.chmod(mode)
    assert kernels.run() == "9.0 1"
    assert kernels.run("from swaprank.compilation.storage import STORAGE; print(STORAGE.problem)") == "None\n9.0 1"
    assert kernels.cache.stat().st_mode & 0o7777 == mode


@needs_users
def test_a_folder_of_another_user_is_not_used(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a folder to another user")
    os.chown(tmp_path, 1234, 1234)
    tmp_path.chmod(0o755)
    assert not is_trusted(tmp_path)


@needs_users
def test_a_cache_that_root_made_helps_a_user_who_cannot_write_to_it(kernels: Kernels) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    for path in (kernels.folder, *kernels.folder.parents):
        if not path.stat().st_mode & 0o005:
            path.chmod(0o755)  # pytest's folders are private
    # Numba imports most of itself for the first compilation, and the other user may not read this Python.
    compile_one = "from swaprank.kernels import kernel\nkernel(lambda x: x)(1)"
    become = f"{compile_one}\nimport os; os.setgid(1234); os.setuid(1234)"
    assert kernels.run(become, HOME="/nonexistent") == "9.0 1"
    kernels.edit("helper", "FACTOR = 2.0", "FACTOR = 3.0")
    say = "import atexit; from swaprank.compilation.storage import STORAGE"
    say += "; atexit.register(lambda: print(STORAGE.problem))"
    result, problem = kernels.run(f"{become}\n{say}", HOME="/nonexistent").splitlines()
    assert result == "14.0 1"
    assert "Permission denied" in problem


def test_nothing_is_saved_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home(cls: type[Path]) -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", classmethod(no_home))
    storage = Storage()
    assert cache_folder() is None
    storage.save("name", b"payload")
    assert storage.load("name") is None
    assert storage.problem == "there is no home folder, and NUMBA_CACHE_DIR is not set"


def test_unused_files_are_deleted_and_used_ones_kept(tmp_path: Path) -> None:
    storage = Storage()
    storage.saved_to = tmp_path / "swaprank"
    for name in ("old.kernel", "used.kernel"):
        storage.save(name, name.encode())
        os.utime(storage.saved_to / name, (0, 0))
    assert storage.load("used.kernel") == b"used.kernel"
    storage.save("new.kernel", b"")
    assert sorted(path.name for path in storage.saved_to.iterdir()) == ["new.kernel", "used.kernel"]


def test_a_full_disk_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    storage = Storage()
    storage.saved_to = blocked / "swaprank"
    storage.save("name", b"payload")
    assert storage.problem is not None
    with pytest.raises(OSError, match="file"):
        make_private(blocked)


def test_this_process_uses_the_cache() -> None:
    assert STORAGE.saved_to in STORAGE.folders() or STORAGE.n_compiled == 0


def test_processes_that_start_together_compile_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kernels, "forking", None)
    kernels = Kernels(tmp_path)
    with ThreadPoolExecutor(3) as pool:
        printed = sorted(pool.map(lambda _: kernels.run(), range(3)))
    assert printed == ["9.0 0", "9.0 0", "9.0 1"]
    assert len(list(kernels.cache.iterdir())) == 1


def test_a_process_that_fails_to_compile_lets_others_compile(kernels: Kernels) -> None:
    kernels.edit("helper", "return FACTOR * x", "return FACTOR * x.nothing")
    with pytest.raises(AssertionError, match="Unknown attribute 'nothing'"):
        kernels.run()
    assert [path.suffix for path in kernels.cache.iterdir()] == [".kernel"]
