"""Imports point one way, between packages and within them, lazy ones included."""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import swaprank as sr
from tests.conftest import PROJECT

SOURCE = Path(sr.__path__[0])


@cache
def modules() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


def room(module: str) -> str:
    """The package or root module that a module is in: "metrics" of swaprank.metrics.parse."""
    return module.split(".")[1]


def imported(path: Path, tree: ast.Module) -> set[str]:
    """All modules of ours that a file names: imports anywhere in it, and dotted names in texts, as registries have."""
    found = set()
    typing_only = {
        id(each)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for each in ast.walk(node)
    }
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only or id(node) in docstrings:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
            found.add(node.value)
    return {name for name in found if name.startswith("swaprank.")}


def package_graph() -> dict[str, set[str]]:
    rooms = {path.stem if path.parent == SOURCE else path.relative_to(SOURCE).parts[0] for path in modules()} - {
        "__init__"
    }
    graph: dict[str, set[str]] = {name: set() for name in rooms}
    for path, tree in modules().items():
        here = path.stem if path.parent == SOURCE else path.relative_to(SOURCE).parts[0]
        if here in rooms:
            graph[here] |= {room(name) for name in imported(path, tree)} & rooms - {here}
    return graph


ORDER = (
    "version", "errors", "peer_names", "parameters", "compilation", "arrays", "seeds", "threads", "collective",
    "kernels", "elementary", "lanes", "exact_sums", "environment", "files", "model_files", "data", "rendering",
    "reading", "metrics", "objectives", "models", "trees", "nets", "linear", "exchange", "cluster", "rankers",
    "ensembles", "reranking", "baselines", "papers", "registry", "serving", "evaluation", "clicks", "datasets", "trec",
    "instruments", "torch", "spark", "ray", "trackers", "experiments", "reporting", "reproduction", "cli", "__main__",
)  # fmt: skip
"""From left to right: every package imports only what stands before it. CONTRIBUTING.md shows it."""


def test_the_map_for_contributors_has_the_order_of_imports() -> None:
    table = (PROJECT / "CONTRIBUTING.md").read_text("utf-8").partition("| Package or module |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
    assert tuple(name for row in rows for name in re.findall(r"`(\w+)/?`", row)) == ORDER


def test_imports_between_packages_point_one_way() -> None:
    graph = package_graph()
    TopologicalSorter(graph).prepare()  # raises CycleError
    assert set(graph) == set(ORDER)
    wrong = {
        name: sorted(after for after in needs if ORDER.index(after) > ORDER.index(name))
        for name, needs in graph.items()
    }
    assert {name: after for name, after in wrong.items() if after} == {}


def module_graph(package: Path) -> dict[str, set[str]]:
    """The modules of a package, and which others of it each names; modules of the root are a package, too."""
    own = {path.stem: tree for path, tree in modules().items() if path.parent == package and path.stem != "__init__"}
    prefix = ".".join(("swaprank", *package.relative_to(SOURCE).parts)) + "."
    return {
        name: {
            other.removeprefix(prefix).split(".")[0]
            for other in imported(package / f"{name}.py", tree)
            if other.startswith(prefix)
        }
        & own.keys() - {name}
        for name, tree in own.items()
    }


@pytest.mark.parametrize("package", sorted({path.parent for path in modules()}), ids=lambda path: path.name)
def test_imports_within_a_package_have_no_cycle(package: Path) -> None:
    """Neither through imports inside of functions nor through names of modules in texts."""
    TopologicalSorter(module_graph(package)).prepare()  # raises CycleError


@pytest.mark.parametrize("package", sorted({path.parent.parent for path in modules()} - {SOURCE.parent, SOURCE}))
def test_imports_between_the_folders_of_a_package_have_no_cycle(package: Path) -> None:
    prefix = ".".join(("swaprank", *package.relative_to(SOURCE).parts)) + "."
    graph: dict[str, set[str]] = {}
    for path, tree in modules().items():
        if path.parent.parent == package:
            names = {
                name.removeprefix(prefix).split(".")[0] for name in imported(path, tree) if name.startswith(prefix)
            }
            graph.setdefault(path.parent.name, set()).update(names - {path.parent.name})
    TopologicalSorter(graph).prepare()  # raises CycleError


def derived_classes() -> set[str]:
    """The classes of models and rankers, but not their two interfaces."""
    bases = {
        node.name: {ast.unparse(base) for base in node.bases}
        for path, tree in modules().items()
        if path.parent.name in ("models", "rankers", "baselines", "ensembles")
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
    known: set[str] = set()
    found = {"Model", "Ranker"}
    while found != known:
        known = set(found)
        found |= {name for name, above in bases.items() if above & known}
    return found - {"Model", "Ranker"}


def test_nobody_outside_asks_which_class_a_ranker_or_model_is() -> None:
    """A model says itself what it can do. What is for others to tell apart are the values of `Model.for_export`."""
    classes = derived_classes()
    for path, tree in modules().items():
        if path.parent.name in ("rankers", "baselines", "ensembles", "models", "linear"):
            continue
        for node in ast.walk(tree):
            question: ast.AST | None = None
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
                question = node.args[1]
            elif isinstance(node, ast.MatchClass):
                question = node.cls
            if question is not None:
                asked = {each.id for each in ast.walk(question) if isinstance(each, ast.Name)}
                assert not asked & classes, f"{path.name}: {ast.unparse(node)}"


def test_only_the_last_packages_use_the_public_names() -> None:
    users = {
        path.relative_to(SOURCE).parts[0]
        for path, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import) and any(alias.name == "swaprank" for alias in node.names)
    }
    assert users == {"experiments", "reporting", "reproduction", "cli"}
