"""Read damaged files of all kinds, and check that nothing but an answer or a clear error comes back.

    python tools/fuzz.py readers [--cases 6000] [--seed 0] [--case 123]
    python tools/fuzz.py models  [--cases 5000] [--seed 0] [--case 123]
    python tools/fuzz.py bins    [--cases 5000] [--seed 0] [--case 123]
    python tools/fuzz.py peers   [--cases 20000] [--seed 0] [--case 123]      models of other libraries
    python tools/fuzz.py clicks  [--cases 5000] [--seed 0] [--case 123]       click logs
    python tools/fuzz.py trials  [--cases 1000] [--seed 0] [--case 123]       files of tune
    python tools/fuzz.py config  [--cases 5000] [--seed 0] [--case 123]       configurations of train

Every case starts from a valid file and damages it: flipped, deleted, repeated and inserted bytes, odd numbers and
words, other types; model files also with a right checksum. It passes if the result is finite, or if a SwaprankError is
raised. Another exception, a crash, more than a minute, or more than 8 GB of memory is a failure. The same seed gives
the same cases; `--case` repeats one of them in this process and keeps its file.
"""

from __future__ import annotations

import argparse
import gzip
import lzma
import selectors
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from damage import Rng, damaged, pick, rewritten
from fuzz_bins import bins_case, make_bins_files
from fuzz_peers import make_peers, peer_case
from fuzz_runs import clicks_case, config_case, make_trials, trials_case

import swaprank as sr
from swaprank.experiments.model_summary import summarize_model
from swaprank.reading.read import read_judged

SECONDS = 60
MEMORY = 8 << 30


def letor(rng: Rng, with_qid: bool = True) -> bytes:
    lines = []
    for row in range(int(rng.integers(1, 40))):
        qid = f" qid:{row // 5}" if with_qid else ""
        columns = range(1, 8) if rng.random() < 0.8 else sorted(set(rng.integers(0, 30, 5).tolist()))
        values = " ".join(f"{column}:{value:.6g}" for column, value in zip(columns, rng.normal(size=7), strict=False))
        comment = f" #docid = d{row}" if rng.random() < 0.5 else ""
        lines.append(f"{rng.integers(5)}{qid} {values}{comment}\n")
    return "".join(lines).encode()


def table(rng: Rng, separator: str) -> bytes:
    rows = [["label", "qid", "a", "b", "docid"]]
    rows += [[str(row % 3), f"q{row // 4}", f"{rng.normal():.5g}", str(row), f'"d{row}"'] for row in range(30)]
    return "".join(separator.join(row) + "\n" for row in rows).encode()


def parquet(rng: Rng) -> bytes:
    import io

    import polars

    columns = {"label": [0, 1, 2, 1], "qid": ["a", "a", "b", "b"], "x": rng.normal(size=4), "y": [1, None, 3, 4]}
    stream = io.BytesIO()
    polars.DataFrame(columns).write_parquet(stream)
    return stream.getvalue()


def trec(rng: Rng, form: str) -> bytes:
    return "".join(form.format(row // 5, row, row % 3, rng.normal()) for row in range(30)).encode()


FORMATS: dict[str, tuple[Callable[[Rng], bytes], Callable[[Path], Any]]] = {
    "data.txt": (letor, sr.read),
    "data.svm": (lambda rng: letor(rng, with_qid=False), sr.read),
    "judged.txt": (letor, read_judged),
    "data.csv": (lambda rng: table(rng, ","), sr.read),
    "data.tsv": (lambda rng: table(rng, "\t"), lambda file: sr.read(file, docid="docid")),
    "data.parquet": (parquet, sr.read),
    "judged.qrels": (lambda rng: trec(rng, "{} 0 d{} {}\n"), sr.trec.read_qrels),
    "bm25.run": (lambda rng: trec(rng, "{} Q0 d{} {} {} tag\n"), sr.trec.read_run),
    "scores.txt": (lambda rng: trec(rng, "{3}\n"), sr.trec.read_scores),
    "a.run": (lambda rng: trec(rng, "{} Q0 d{} {} {} tag\n"), sr.trec.read_scores),
}


def packed(content: bytes, ending: str) -> bytes:
    if ending == ".gz":
        return gzip.compress(content)
    if ending == ".xz":
        return lzma.compress(content)
    import zstandard

    return zstandard.ZstdCompressor(write_checksum=True).compress(content)


def reader_case(rng: Rng, folder: Path) -> str:
    """Write a damaged file and read it; returns what came back."""
    name = pick(rng, list(FORMATS))
    write, read = FORMATS[name]
    content = write(rng)
    ending = pick(rng, ["", "", ".gz", ".xz", ".zst"]) if name != "data.parquet" else ""
    if not ending:
        content = damaged(content, rng)
    elif rng.random() < 0.6:
        content = packed(damaged(content, rng), ending)
    else:
        content = damaged(packed(content, ending), rng)
    file = folder / f"{name}{ending}"
    file.write_bytes(content)
    sizes = folder / f"{name}.{pick(rng, ['query', 'group'])}"
    if name == "data.svm":
        sizes.write_bytes(
            damaged(b"5\n" * (content.count(b"\n") // 5), rng) if rng.random() < 0.5 else b"1\n" * content.count(b"\n")
        )
    try:
        check_data(read(file))
    except sr.errors.SwaprankError:
        return "refused"
    finally:
        sizes.unlink(missing_ok=True)
    return "read"


def check_data(data: Any) -> None:
    if isinstance(data, sr.Dataset):
        assert not np.isinf(data.features).any()
        assert np.isfinite(data.labels).all()
        assert len(data.labels) == len(data.features) == data.indptr[-1]
    elif isinstance(data, sr.trec.Qrels):
        assert len(data.label) == len(data.docid)
    elif isinstance(data, sr.trec.Run):
        assert np.isfinite(data.score).all()
    else:
        assert data.dtype == np.float64


def make_models(folder: Path) -> None:
    """One small model of every kind."""
    train, vali = sr.datasets.random_net((25, 15), n_features=5, n_documents=8, random_state=0)
    trees = sr.LambdaMART(n_trees=4, n_leaves=5, min_docs_in_leaf=3).fit(train, valid=vali)
    linear = sr.LinearRegressionRanker().fit(train)
    net = sr.RankNet(hidden=(4,), n_epochs=2).fit(train)
    rankers = {
        "lambdamart": trees,
        "sets": with_sets(sr.LambdaMART(n_trees=4, n_leaves=5, min_docs_in_leaf=3).fit(train)),
        "mart": sr.MART(n_trees=3, n_leaves=4, min_docs_in_leaf=3).fit(train),
        "linear": linear,
        "ranknet": net,
        "lambdarank": sr.LambdaRank(hidden=(), n_epochs=2, activation="relu").fit(train, valid=vali),
        "smoothrank": sr.SmoothRank(max_iterations=3).fit(train),
        "kernel": sr.SmoothRank(features="kernel_pca", n_landmarks=12, max_iterations=3).fit(train),
        "smooth_net": sr.SmoothRank(hidden=(3,), max_iterations=3).fit(train),
        "combination": sr.combine(trees, linear, vali),
        "stacked": sr.stack([trees, linear, net], vali, n_epochs=2),
        "nested": sr.combine(sr.combine(trees, net, vali), linear, vali),
    }
    for name, ranker in rankers.items():
        ranker.save(folder / f"{name}.swaprank")


def with_sets(ranker: sr.LambdaMART) -> sr.LambdaMART:
    """The same trees with sets of categories instead of the thresholds of two features."""
    rng, forest = np.random.default_rng(0), ranker.model_
    n_words = np.where(forest.feature < 2, rng.integers(1, 4, len(forest.feature)), 0).astype(np.int32)
    threshold = np.where(n_words > 0, np.float32(0), forest.threshold)
    words = rng.integers(2**32, size=n_words.sum(), dtype=np.uint32)
    model = replace(forest, n_words=n_words, words=words, threshold=threshold)
    ranker.learned_ = replace(ranker.learned_, model=model)
    return ranker


def model_case(rng: Rng, folder: Path) -> str:
    """Write a damaged model file, load it, and use the model; returns what came back."""
    valid = pick(rng, sorted((folder / "models").iterdir())).read_bytes()
    content = damaged(valid, rng) if rng.random() < 0.15 else rewritten(valid, rng, with_digests=True)
    file = folder / "model.swaprank"
    file.write_bytes(content)
    try:
        ranker = sr.load(file)
    except sr.errors.SwaprankError:
        return "refused"
    use(ranker, folder / "again.swaprank")
    return "loaded"


def use(ranker: sr.Ranker, file: Path) -> None:
    """Everything that is done with a loaded model; a SwaprankError is an answer."""
    n_features = ranker.n_features_in_
    assert n_features < 10**6
    X = np.random.default_rng(0).normal(size=(6, n_features)).astype(np.float32)
    X[1], X[2], X[3, ::2] = np.float32(3.4e38), np.float32(-3.4e38), np.nan
    X[4], X[5] = np.arange(n_features) % 100, np.float32(2**24 - 1)
    verbs: list[Callable[[], Any]] = [
        lambda: ranker.predict(X),
        lambda: ranker.predict(X[:1]),
        lambda: ranker.predict_stage(X, 1),
        lambda: ranker.contributions(X),
        lambda: ranker.model_.importances().values,  # type: ignore[union-attr]
        lambda: np.zeros(len(repr(ranker)) + len(ranker.size_) + len(summarize_model(ranker).to_text())),
        lambda: np.zeros(len(summarize_model(ranker).to_json())),
        lambda: np.zeros(len(str(ranker.training_metric()))),
    ]
    for verb in verbs[:4] + ([verbs[4]] if ranker.model_.importances() is not None else []) + verbs[5:]:
        try:
            assert np.isfinite(verb()).all(), "not finite"
        except sr.errors.SwaprankError:
            continue
    ranker.save(file)
    again = sr.load(file)
    try:
        expected = ranker.predict(X)
    except sr.errors.SwaprankError:
        return
    assert np.array_equal(again.predict(X), expected), "another model after saving"


CASES: dict[str, Callable[[Rng, Path], str]] = {
    "readers": reader_case,
    "models": model_case,
    "bins": bins_case,
    "peers": lambda rng, folder: peer_case(rng, folder, use),
    "clicks": clicks_case,
    "trials": trials_case,
    "config": config_case,
}
N_CASES = {
    "readers": 6000,
    "models": 5000,
    "bins": 5000,
    "peers": 20000,
    "clicks": 5000,
    "trials": 1000,
    "config": 5000,
}


def run_case(kind: str, seed: int, case: int, folder: Path) -> str:
    """Run a case; returns what came back, or the failure."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return CASES[kind](np.random.default_rng((seed, case)), folder)
    except Exception as error:
        return f"FAILED: {type(error).__name__}: {str(error)[:300]}"


def prepare(kind: str, folder: Path) -> None:
    if kind == "models":
        (folder / "models").mkdir()
        make_models(folder / "models")
    elif kind == "bins":
        (folder / "bins").mkdir()
        make_bins_files(folder / "bins")
    elif kind == "peers":
        (folder / "peers").mkdir()
        make_peers(folder / "peers")
    elif kind == "trials":
        make_trials(folder)


def work(kind: str, seed: int, first: int, last: int, folder: Path) -> None:
    """Run cases and print each result, in a process that may crash."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for case in range(first, last):
        print(run_case(kind, seed, case, folder).replace("\n", " "), flush=True)


def fuzz(kind: str, seed: int, n_cases: int, folder: Path) -> Counter[str]:
    """Run all cases in processes that are started again after a crash or when one hangs; print the failures."""
    counts: Counter[str] = Counter()
    case = 0
    while case < n_cases:
        command = [sys.executable, __file__, kind, "--seed", str(seed), "--work", str(case), str(n_cases), str(folder)]
        with (
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as worker,
            selectors.DefaultSelector() as waiting,
        ):
            assert worker.stdout is not None
            waiting.register(worker.stdout, selectors.EVENT_READ)
            while case < n_cases:
                line = worker.stdout.readline().strip() if waiting.select(SECONDS) else "FAILED: it hangs"
                if not line:
                    line = f"FAILED: the process ended with {worker.wait()}"
                if line.startswith("FAILED"):
                    print(f"case {case}: {line}", flush=True)
                counts[line.partition(":")[0]] += 1
                case += 1
                if "hangs" in line or "the process ended" in line:
                    worker.kill()
                    break
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=list(CASES))
    parser.add_argument("--cases", type=int, help="default: 1000 to 20000, as above")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="run only this case, here")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.kind, options.seed, int(options.work[0]), int(options.work[1]), Path(options.work[2]))
    elif options.case is not None:
        folder = Path("fuzz_case")
        folder.mkdir()
        prepare(options.kind, folder)
        CASES[options.kind](np.random.default_rng((options.seed, options.case)), folder)
        print(f"passed; its file is in {folder}")
    else:
        with TemporaryDirectory() as temporary:
            prepare(options.kind, Path(temporary))
            n_cases = options.cases or N_CASES[options.kind]
            counts = fuzz(options.kind, options.seed, n_cases, Path(temporary))
        print(f"{options.kind}, seed {options.seed}: {n_cases} tried, {counts['FAILED']} failed; {dict(counts)}")
        sys.exit(counts["FAILED"] > 0)


if __name__ == "__main__":
    main()
