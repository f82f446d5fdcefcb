"""The same model file, byte for byte, on every CPU, BLAS, C library and number of threads.

One process trains every ranker as this CPU does it best. Another one is told that it has an old CPU: kernels for the
lowest level, NumPy without its faster loops, OpenBLAS for a CPU of 2004, a C library without its variants for newer
CPUs, and another number of threads.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from swaprank.compilation.levels import VARIABLE, cpu_levels

pytestmark = pytest.mark.slow

TRAIN = """
import sys
from pathlib import Path

import swaprank as sr

folder, n_threads = Path(sys.argv[1]), int(sys.argv[2])
train, vali = sr.datasets.random_search((40, 20), random_state=0)
nets = {"hidden": (5,), "n_epochs": 3, "log_features": True}
rankers = {
    "lambdamart": sr.LambdaMART("ndcg@10", n_trees=8),
    "lambdamart_map": sr.LambdaMART(
        "map", n_trees=4, objective=sr.objectives.LambdaRankObjective("map", normalize=True)
    ),
    "lambdamart_err": sr.LambdaMART("err", n_trees=4, n_leaves=4),
    "mart": sr.MART(n_trees=8),
    "mart_logistic": sr.MART(objective="logistic", n_trees=8),
    "lambdarank": sr.LambdaRank("ndcg@10", **nets),
    "lambdarank_relu": sr.LambdaRank("ndcg@10", **nets | {"hidden": (4, 3), "activation": "relu"}),
    "ranknet": sr.RankNet(**nets),
    "ranknet_pairs": sr.RankNet(**nets, training="pairs"),
    "smoothrank": sr.SmoothRank("ndcg", regularization=(1.0, 0.01), max_iterations=5),
    "smoothrank_map": sr.SmoothRank("map", regularization=0.1, start="pairwise", smoothing="ranks", max_iterations=5),
    "smoothrank_kernel": sr.SmoothRank("err", regularization=0.1, features="kernel_pca", n_landmarks=30,
                                       max_iterations=5),
    "smoothrank_net": sr.SmoothRank("ndcg", regularization=0.1, hidden=(3,), max_iterations=5),
    "linear_regression": sr.LinearRegressionRanker(),
    "prank": sr.baselines.PRank(n_epochs=3),
    "prank_quadratic": sr.baselines.PRank(degree=2, n_epochs=3),
    "oap_bpm": sr.baselines.OAPBPM(n_learners=5, n_epochs=3),
    "rankprop": sr.baselines.RankProp(**nets),
    "ranksvm": sr.baselines.RankSVM(regularization=(1.0, 0.01)),
    "ranksvm_hinge": sr.baselines.RankSVM(loss="hinge", regularization=0.1, average="queries"),
    "kernel_ranknet": sr.baselines.KernelRankNet(regularization=(0.1, 0.01), n_landmarks=30),
    "lambdarank_linear": sr.LambdaRank(**nets, construction="linear", diagonal=0.01),
    "rankboost": sr.baselines.RankBoost(n_rounds=10),
    "frank": sr.baselines.FRank(n_rounds=10),
    "adarank": sr.baselines.AdaRank("map"),
    "listnet": sr.baselines.ListNet(**nets),
    "lambdamart_listnet": sr.LambdaMART(n_trees=4, objective=sr.objectives.ListNetObjective()),
    "svmmap": sr.baselines.SVMMAP(regularization=(1.0, 0.01)),
    "softrank": sr.baselines.SoftRank(**nets),
    "lambdamart_softrank": sr.LambdaMART(n_trees=4, objective=sr.objectives.SoftRankObjective(sr.metric("ndcg@10"))),
    "coordinate_ascent": sr.baselines.CoordinateAscent(n_restarts=2, n_passes=1),
    "random_forest": sr.baselines.RandomForest(n_trees=8),
}
for ranker in rankers.values():
    ranker.set_params(n_threads=n_threads).fit(train, valid=vali)
members = rankers["lambdamart"], rankers["lambdarank"], rankers["linear_regression"]
rankers["combination"] = sr.combine(*members[:2], vali)
rankers["stacked"] = sr.stack(members, vali, n_epochs=3)
for name, ranker in rankers.items():
    ranker.set_params(n_threads=None).save(folder / f"{name}.swaprank")
    (folder / f"{name}.scores").write_bytes(ranker.predict(vali).tobytes())
for name, part in {"train": train, "vali": vali}.items():
    (folder / f"{name}.data").write_bytes(part.features.tobytes() + part.labels.tobytes())
"""


def old_cpu() -> dict[str, str]:
    """Environment variables that make this CPU look like an old one."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__  # type: ignore[import-not-found]

    optional = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]
    no_variants = ",".join(f"-{name}" for name in ("AVX2", "FMA", "FMA4", "AVX512F", "AVX512VL", "AVX2_Usable", "ERMS"))
    return {
        VARIABLE: cpu_levels()[-1].name,
        "NPY_DISABLE_CPU_FEATURES": " ".join(optional),
        "OPENBLAS_CORETYPE": "Prescott",
        "GLIBC_TUNABLES": f"glibc.cpu.hwcaps={no_variants}",
    }


def train_all(folder: Path, n_threads: int, variables: dict[str, str]) -> dict[str, bytes]:
    folder.mkdir()
    command = [sys.executable, "-c", TRAIN, str(folder), str(n_threads)]
    environment = {**os.environ, **variables}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.skipif(len(cpu_levels()) == 1, reason="this CPU has one level")
def test_models_have_the_same_bytes_on_two_cpu_levels_and_thread_counts(tmp_path: Path) -> None:
    new = train_all(tmp_path / "new", 2, {})
    old = train_all(tmp_path / "old", 1, old_cpu())
    assert len(new) > 30
    assert [name for name in new if new[name] != old[name]] == []
