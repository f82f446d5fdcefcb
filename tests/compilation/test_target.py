"""Our compiler is derived from inner classes of Numba: they have what it needs; without it, Numba compiles itself."""

import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import swaprank as sr
from swaprank.compilation import cache, target
from swaprank.compilation.levels import LEVEL
from swaprank.compilation.storage import STORAGE
from swaprank.kernels import NEWEST_TRIED, inlined_kernel, kernel

pytestmark = pytest.mark.slow

DERIVED = (
    target.KernelLibrary,
    target.KernelCodegen,
    target.KernelContext,
    target.KernelTarget,
    target.InnerKernel,
    target.Kernel,
    target._InnerCompiler,
    cache.KernelCache,
)
OWN = {"_link", "_linked", "_below", "_own_module", "inner", "released_lock", "_file_name", "_type", "targetdescr"}
"""What the derived classes add."""


@pytest.mark.parametrize("derived", DERIVED, ids=lambda derived: str(derived.__name__))
def test_what_we_override_exists_in_numba_and_takes_as_many_arguments(derived: type) -> None:
    base = derived.__mro__[1]
    for name, ours in vars(derived).items():
        if name in OWN or (name.startswith("__") and name != "__init__") or name.startswith("_abc"):
            continue
        assert hasattr(base, name), f"{base.__name__} has no {name} any more"
        theirs = inspect.getattr_static(base, name, None)
        if inspect.isfunction(ours) and inspect.isfunction(theirs) and name not in ("__init__", "_pass_builder"):
            assert len(inspect.signature(ours).parameters) == len(inspect.signature(theirs).parameters), name


@kernel
def halved(x: Any) -> Any:
    return x / 2


@inlined_kernel
def both(x: Any) -> Any:
    return halved(x), halved(x) + 1.0


@kernel
def summed(values: Any) -> Any:
    total, filled = 0.0, np.empty(len(values))
    for i in range(len(values)):
        low, high = both(values[i])
        filled[i] = low * high
        total += np.sqrt(filled[i])
    if total > 100.0:
        raise ValueError("too much")
    return total


def test_a_kernel_is_linked_with_those_that_it_calls_and_compiled_for_the_level() -> None:
    values = np.array([2.0, 8.0])
    assert summed(values) == summed.py_func(values)  # type: ignore[attr-defined]
    (compiled,) = summed.overloads.values()  # type: ignore[attr-defined]
    assert isinstance(compiled.library, target.KernelLibrary)
    assert compiled.library.codegen._get_host_cpu_name() == LEVEL.cpu
    assert halved.overloads == {}  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="too much"):
        summed(np.full(100, 50.0))


def test_the_newest_version_that_was_tried_is_at_least_this_one() -> None:
    assert numba.version_info[:2] <= NEWEST_TRIED, "run all tests with it, then raise NEWEST_TRIED"
    assert STORAGE.problem is None


CHANGES = {
    "a class is gone": "import numba.core.codegen as changed; del changed.JITCodeLibrary",
    "a function is gone": "import numba.core.caching as changed, numba.core.ccallback; del changed.NullCache",
    "other arguments in a newer version": """
import numba
from numba.core.dispatcher import Dispatcher
numba.version_info = (99, 0)
before = Dispatcher.__init__
def changed(self, py_func, *, locals=None, targetoptions=None, **others):
    before(self, py_func, locals, targetoptions, **others)
Dispatcher.__init__ = changed
""",
}
USED = """
import warnings
with warnings.catch_warnings(record=True, action="always") as caught:
    import swaprank.kernels, swaprank.elementary, swaprank.lanes
assert [warning.category.__name__ for warning in caught] == ["CompilerWarning"], caught
"""


def run(code: str, folder: Path) -> str:
    """What a program prints in a process with an empty cache of its own."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_with_other_classes_inside_numba_compiles_itself_and_warns_once(change: str, tmp_path: Path) -> None:
    add = "@swaprank.kernels.kernel\ndef add(x):\n    return x + 1\nprint(add(1))"
    assert run(f"{change}\n{USED}\n{add}", tmp_path) == "2"


def test_a_newer_version_that_did_not_change_inside_is_used_without_a_warning(tmp_path: Path) -> None:
    code = """
import warnings
warnings.simplefilter("error")
import numba
numba.version_info = (99, 0)
import swaprank.kernels
print(type(swaprank.kernels.kernel(lambda x: x)).__name__)
"""
    assert run(code, tmp_path) == "Kernel"
    assert len(list(tmp_path.rglob("*.kernel"))) == 1
    assert run(code, tmp_path) == "Kernel"


def test_a_ranker_trains_with_other_classes_inside_numba(tmp_path: Path) -> None:
    """Everything is compiled anew, which takes twice as long for trees."""
    train = """
import swaprank as sr
warnings.simplefilter("error")
(data,) = sr.datasets.random_net((40,), n_features=4, random_state=0)
print(*sr.LambdaRank(hidden=(), n_epochs=2, n_threads=1).fit(data).predict(data).tolist())
sr.show_versions()
"""
    printed = run(f"{CHANGES['a class is gone']}\n{USED}\n{train}", tmp_path).splitlines()
    (data,) = sr.datasets.random_net((40,), n_features=4, random_state=0)
    expected = sr.LambdaRank(hidden=(), n_epochs=2, n_threads=1).fit(data).predict(data)
    np.testing.assert_allclose([float(word) for word in printed[0].split()], expected, rtol=1e-12)
    assert "saved to  nowhere: swaprank's compiler does not fit Numba" in printed[-1]
    assert list(tmp_path.rglob("*.nbi"))
