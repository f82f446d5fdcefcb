"""Claim: with compiled kernels in the wheel, the first fit of every ranker takes at most 3 s longer than the second.

    python benchmarks/cold_start.py [--empty] [RANKER ...]

Run it with the Python of an environment into which the wheel was installed (tools/build_wheel.py). Every ranker is
trained in a process of its own, with an empty cache. With --empty, kernels in the package are not used either, so
that all are compiled: that is what an installation from source does.

    first - second fit    a new ranker is fitted to the same small data twice
    prediction            the first of another process, which loads the saved model, minus the second
    compiled              kernels that were compiled, not loaded, in both processes
    CPU                   seconds of CPU time of the first fit
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
    parser.add_argument("--measured", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measured:
        if options.empty:
            import swaprank.compilation.storage

            setattr(swaprank.compilation.storage, "PACKAGED", Path(os.devnull))  # noqa: B010
        print(json.dumps(predict(*options.arguments) if len(options.arguments) == 1 else train(*options.arguments)))
        return
    from swaprank.registry import RANKERS

    print("| ranker | first - second fit, s | prediction, s | compiled | CPU, s |")
    print("|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.arguments or RANKERS:
            model = str(Path(folder) / "model.swaprank")
            fitted = run(options.empty, name, model)
            found = run(options.empty, model)
            compiled = int(fitted["compiled"] + found["compiled"])
            print(
                f"| {name} | {fitted['fit']:.2f} | {found['predict']:.2f} | {compiled} | {fitted['cpu']:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
