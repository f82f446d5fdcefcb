"""Kernels compiled for one state of the sources must not serve another.

Numba keys its cache on the file of the outermost kernel and misses edits of the kernels it calls, so the tests keep a
cache of their own for every state of the code that kernels are made of; docstrings and comments are not part of it. Set
before anything imports Numba.
"""

import ast
import hashlib
import os
import signal
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
SHARED_DATA = PROJECT.parent / "shared" / "data"


def _kernel_code(path: Path) -> str:
    """The code of a module that kernels are compiled from, without docstrings and comments; empty for any other."""
    text = path.read_text("utf-8")
    if "swaprank.kernels" not in text and "@intrinsic" not in text:
        return ""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body[0] = ast.Pass()
    return ast.unparse(tree)


def _sources_digest() -> str:
    spec = find_spec("swaprank")
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    digest = hashlib.sha256(str(package).encode())
    for path in sorted(package.rglob("*.py")):
        digest.update(_kernel_code(path).encode())
    return digest.hexdigest()[:16]


_user = os.getuid() if hasattr(os, "getuid") else "user"
os.environ.setdefault(
    "NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / f"swaprank-kernels-{_user}" / _sources_digest())
)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    if not SHARED_DATA.is_dir():
        pytest.skip("the real data sets are not beside this checkout (../shared/data)")
    return SHARED_DATA


@pytest.fixture(autouse=True)
def ctrl_c_interrupts() -> Iterator[None]:
    """Whatever the shell: it tells background jobs to ignore Ctrl-C, and a test of interruption would never end."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
