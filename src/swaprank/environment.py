"""The environment of a process: versions, the CPU level, threads, and the folders of compiled kernels."""

import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

from swaprank.compilation.levels import LEVEL, VARIABLE, cpu_levels
from swaprank.compilation.storage import PACKAGED, STORAGE, is_trusted, is_writable
from swaprank.threads import thread_count
from swaprank.version import __version__


def versions() -> dict[str, str]:
    """Versions of the packages that results depend on.

    >>> from swaprank.environment import versions
    >>> list(versions())
    ['swaprank', 'python', 'numpy', 'numba', 'scipy']
    """
    others = {name: version(name) for name in ("numpy", "numba", "scipy")}
    return {"swaprank": __version__, "python": platform.python_version(), **others}


def environment() -> dict[str, Any]:
    """The environment as plain Python values.

    >>> from swaprank.environment import environment
    >>> sorted(environment())
    ['cpu', 'kernels', 'packages', 'platform', 'python', 'swaprank', 'threads']
    """
    problem = STORAGE.problem
    if STORAGE.saved_to and not problem and not is_writable(STORAGE.saved_to):
        problem = f"{STORAGE.saved_to} is not writable"
    return {
        "swaprank": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": {"level": LEVEL.name, "levels": [level.name for level in cpu_levels()]},
        "threads": thread_count(None),
        "packages": _package_versions(),
        "kernels": {
            "loaded_from": {str(folder): len(list(folder.glob("*.kernel"))) for folder in STORAGE.folders()},
            "saved_to": None if problem else str(STORAGE.saved_to),
            "problem": problem,
        },
    }


def _package_versions() -> dict[str, str | None]:
    """The version of every package that swaprank can use; None if it is not installed."""
    names = {re.split(r"[^\w.-]", required)[0] for required in requires("swaprank") or ()} | {"llvmlite"}
    versions: dict[str, str | None] = {}
    for name in sorted(names - {"swaprank"}):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    return versions


def environment_text() -> str:
    """The environment as lines of text."""
    found = environment()
    kernels, packages = found["kernels"], found["packages"]
    loaded = [f"{number} in {folder}" for folder, number in kernels["loaded_from"].items()]
    unused = [] if is_trusted(PACKAGED) or not PACKAGED.exists() else [f"not in {PACKAGED}: others can write to it"]
    return "\n".join(
        [
            f"swaprank  {found['swaprank']}",
            f"Python    {found['python']}, {found['platform']}",
            f"CPU       level {LEVEL.name}; this CPU has {', '.join(found['cpu']['levels'])} ({VARIABLE} chooses)",
            f"threads   {found['threads']}",
            f"packages  {', '.join(f'{name} {number}' for name, number in packages.items() if number)}",
            f"missing   {', '.join(name for name, number in packages.items() if not number) or 'none'}",
            f"kernels   {'; '.join([*loaded, *unused]) or 'none compiled yet'}",
            f"saved to  {kernels['saved_to'] or 'nowhere: ' + kernels['problem']}",
        ]
    )


def show_versions() -> None:
    """Print what a bug report needs: versions, the CPU level, threads, and where compiled kernels are stored.

    >>> import swaprank as sr
    >>> sr.show_versions()  # doctest: +ELLIPSIS
    swaprank  ...
    Python    ...
    CPU       level ...
    """
    print(environment_text())  # noqa: T201
