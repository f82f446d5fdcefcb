"""Every example in a docstring runs, and every public name has one."""

import doctest
import importlib
import inspect
import pkgutil
import warnings
from types import ModuleType

import pytest

import swaprank as sr

MODULES = [name for _, name, _ in pkgutil.walk_packages(sr.__path__, "swaprank.") if name.split(".")[1] != "cli"]
SLOW = {"swaprank.rankers.smoothrank", "swaprank.instruments.certify", "swaprank.spark", "swaprank.ray"}
"""Modules whose examples train for a while."""
NEEDED = {"swaprank.torch": "torch", "swaprank.spark": "pyspark", "swaprank.ray": "ray.data"}
"""What is needed for examples, and not installed for the tests."""
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def examples(module: ModuleType) -> list[doctest.DocTest]:
    return [test for test in doctest.DocTestFinder().find(module) if test.examples]


def public_functions(module: ModuleType) -> dict[str, object]:
    """Those that the module makes, not those that it imports; or the names that it lists as its own."""
    if hasattr(module, "__all__"):
        return {f"{module.__name__}.{name}": getattr(module, name) for name in module.__all__}
    return {
        f"{module.__name__}.{name}": function
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if not name.startswith("_") and function.__module__ == module.__name__
    }


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in MODULES]
)
def test_examples_run(name: str) -> None:
    if name in NEEDED:
        pytest.importorskip(NEEDED[name], reason=f"{NEEDED[name]} is not installed")
        # Such large libraries warn of each other's versions.
        warnings.simplefilter("ignore")
    for test in examples(importlib.import_module(name)):
        failed, _ = doctest.DocTestRunner(optionflags=OPTIONS).run(test)
        assert failed == 0, test.name


@pytest.mark.parametrize("name", [name for name in dir(sr) if not name.startswith("_")])
def test_every_public_name_has_an_example(name: str) -> None:
    public = getattr(sr, name)
    shown = public_functions(public) if isinstance(public, ModuleType) else {name: public}
    assert shown
    for each, documented in shown.items():
        assert ">>> " in (inspect.getdoc(documented) or ""), f"{each} has no example"
