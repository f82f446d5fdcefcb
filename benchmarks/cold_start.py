"""Claim: with compiled kernels in the wheel, the first fit of every ranker takes at most 3 s longer than the second.

    python benchmarks/cold_start.py [--empty] [--demo] [RANKER ...]

Run it with the Python of an environment into which the wheel was installed (tools/build_wheel.py). Every ranker is
trained in a process of its own, with an empty cache. With --empty, kernels in the package are not used either, so
that all are compiled: that is what an installation from source does.

    first - second fit    a new ranker is fitted to the same small data twice
    prediction            the first of another process, which loads the saved model, minus the second
    compiled              kernels that were compiled, not loaded, in both processes
    CPU                   seconds of CPU time of the first fit

--demo runs `swaprank demo` twice instead, the first time with an empty cache.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from recording import Recording, add_record


def train(name: str, model: str) -> dict[str, float]:
    import swaprank as sr
    from swaprank.compilation.storage import STORAGE
    from swaprank.registry import ranker_class

    parts = sr.datasets.random_search((60, 20), random_state=0)
    kind: Any = ranker_class(name)
    options: dict[str, Any] = {kind.can.rounds_parameter: 5} if kind.can.rounds_parameter else {}
    combines = kind.can.learns_from == "rankers"
    if combines:
        options = {"members": [sr.MART(n_trees=5).fit(parts[0]), sr.LinearRegressionRanker().fit(parts[0])]}
    seconds, cpu = [], time.process_time()
    for _ in range(2):
        start = time.perf_counter()
        ranker = kind(**options)
        ranker.fit(parts[0]) if combines else ranker.fit(parts[0], valid=parts[1])
        seconds.append(time.perf_counter() - start)
        if len(seconds) == 1:
            cpu = time.process_time() - cpu
    ranker.save(model)
    return {"fit": seconds[0] - seconds[1], "cpu": cpu, "compiled": STORAGE.n_compiled}


def predict(model: str) -> dict[str, float]:
    import swaprank as sr
    from swaprank.compilation.storage import STORAGE

    ranker = sr.load(model)
    rows = [[0.5] * ranker.n_features_in_]
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        ranker.predict(rows)
        seconds.append(time.perf_counter() - start)
    return {"predict": seconds[0] - seconds[1], "compiled": STORAGE.n_compiled}


def run(empty: bool, *arguments: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as cache:
        options = ["--measured", *(["--empty"] if empty else [])]
        environment = os.environ | {"NUMBA_CACHE_DIR": cache}
        command = [sys.executable, __file__, *options, *arguments]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return dict(json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("arguments", nargs="*", metavar="RANKER")
    parser.add_argument("--empty", action="store_true")
    parser.add_argument("--demo", action="store_true")
    add_record(parser)
    parser.add_argument("--measured", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measured:
        if options.empty:
            import swaprank.compilation.storage

            setattr(swaprank.compilation.storage, "PACKAGED", Path(os.devnull))  # noqa: B010
        print(json.dumps(predict(*options.arguments) if len(options.arguments) == 1 else train(*options.arguments)))
        return
    with Recording(options) as recording, tempfile.TemporaryDirectory() as folder:
        kernels = "compiled on first use" if options.empty else "from the package, where it has them"
        recording.says(f"Kernels {kernels}")
        if options.demo:
            report_demo(recording, Path(folder))
        else:
            report(recording, options, str(Path(folder) / "model.swaprank"))


def report(recording: Recording, options: argparse.Namespace, model: str) -> None:
    from swaprank.registry import RANKERS

    table = recording.table("rankers", "", "First - second fit, s", "Prediction, s", "Compiled", "CPU, s")
    for name in options.arguments or RANKERS:
        fitted = run(options.empty, name, model)
        found = run(options.empty, model)
        compiled = int(fitted["compiled"] + found["compiled"])
        table.add(name, f"{fitted['fit']:.2f}", f"{found['predict']:.2f}", compiled, f"{fitted['cpu']:.1f}")


def report_demo(recording: Recording, folder: Path) -> None:
    table = recording.table("demo", "`swaprank demo`", "Seconds")
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "kernels")}
    for run_title in ("First run, kernels are compiled", "Second run"):
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "swaprank", "demo"], check=True, capture_output=True, env=environment, cwd=folder
        )
        table.add(run_title, f"{time.perf_counter() - start:.0f}")


if __name__ == "__main__":
    main()
