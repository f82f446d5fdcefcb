"""What the package promises before anything is computed."""

import os
import re
import subprocess
import sys
from importlib.metadata import version
from importlib.resources import files

import pytest

import swaprank as sr

HEAVY = ("numba", "scipy", "sklearn", "pandas", "polars", "pyarrow", "narwhals", "rich", "typer", "torch", "lightgbm")


def modules_after(code: str) -> set[str]:
    shown = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in shown.stdout.splitlines()[-1].split()}


def test_import_loads_nothing_heavy() -> None:
    assert not modules_after("import swaprank") & {*HEAVY, "numpy"}


def test_a_data_set_needs_no_compiler() -> None:
    assert not modules_after("import swaprank; swaprank.Dataset([[1.0]], [1], qid=[1])") & set(HEAVY)


def test_help_loads_no_numbers() -> None:
    code = "from swaprank.cli import app\ntry:\n    app(['--help'])\nexcept SystemExit:\n    pass"
    assert not modules_after(code) & {"numpy", "numba", "scipy", "sklearn", "pandas", "polars"}


def test_every_public_name_loads() -> None:
    for name in dir(sr):
        assert getattr(sr, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError):
        _ = sr.lambdamart  # type: ignore[attr-defined]


def test_it_is_typed_and_versioned() -> None:
    assert (files("swaprank") / "py.typed").is_file()
    assert (files("swaprank") / "__init__.pyi").is_file()
    assert version("swaprank") == sr.__version__


BIG_ENOUGH_FOR_THREADS = """
import swaprank as sr
(data,) = sr.datasets.random_net((2000,), n_features=2, n_documents=20, random_state=0)
def measured():
    return sr.evaluate(data, data.column(0), ["ndcg@10", "map", "mrr"], n_threads=4).to_json(per_query=True)
expected = measured()
"""


@pytest.mark.slow
def test_several_threads_may_evaluate_at_once() -> None:
    code = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool:
    assert set(pool.map(lambda _: measured(), range(32))) == {expected}
"""
    modules_after(BIG_ENOUGH_FOR_THREADS + code)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_evaluates_after_its_parent_did() -> None:
    code = """
import os
import re
child = os.fork()
if child == 0:
    os._exit(0 if measured() == expected else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert measured() == expected
"""
    modules_after(BIG_ENOUGH_FOR_THREADS + code)


@pytest.mark.slow
def test_numba_is_left_as_it_was_found() -> None:
    code = """
import numba, os
before = (numba.config.THREADING_LAYER, numba.config.NUMBA_NUM_THREADS, dict(os.environ))
import swaprank as sr
sr.metric("ndcg").mean([0, 1], [1.0, 2.0], [0, 2])
assert before == (numba.config.THREADING_LAYER, numba.config.NUMBA_NUM_THREADS, dict(os.environ))
"""
    modules_after(code)


@pytest.mark.slow
def test_the_first_page_has_all_names_and_is_short() -> None:
    stub = (files("swaprank") / "__init__.pyi").read_text("utf-8")
    names = {line.rpartition(" as ")[2] for line in stub.splitlines()} - {"__version__"}
    assert len(names) <= 45
    assert names == set(dir(sr)) - {"__version__"}
    assert names <= set(re.findall(r"\w+", str(sr.__doc__)))
    code = "import pydoc, swaprank; print(pydoc.plain(pydoc.render_doc(swaprank)).count('\\n'))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(shown.stdout) < 120
