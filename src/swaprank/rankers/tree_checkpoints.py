"""Checkpoints of boosted trees: the trees so far, and what was measured after each.

The trees are kept by their bins, too. Training goes on with the scores that the same documents get from the same trees,
added in the same order, so that all later trees are the same, bit for bit. Nothing in the file depends on the number
of workers: training may go on with more or fewer of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from swaprank.arrays import AnyArray
from swaprank.collective import allgather, total
from swaprank.data.cuts import Cuts
from swaprank.data.fingerprints import shared_fingerprint
from swaprank.errors import ClusterError, DataError, ModelFileError
from swaprank.files import existing_file
from swaprank.model_files.container import parse_model, write_model
from swaprank.model_files.plain_json import check_configuration, plain_values
from swaprank.models.forest import Forest
from swaprank.rankers.rounds import Callback, Measured, Progress
from swaprank.rankers.saving import saved_parameters
from swaprank.trees.boosting import Booster, GrownTree
from swaprank.trees.tree import Tree, make_forest
from swaprank.version import __version__

if TYPE_CHECKING:
    from swaprank.rankers.training import FitRequest
    from swaprank.rankers.tree_ranker import TreeRanker

KIND = "checkpoint"
_MAY_CHANGE = ("n_trees",)
"""More or fewer trees do not change the first ones."""


Configuration = dict[str, Any]
"""Everything that the trees depend on, as plain JSON values."""


def kept_trees(
    configuration: Configuration | None, request: FitRequest, booster: Booster, measured: Measured, n_trees: int
) -> list[GrownTree]:
    """At most so many trees of the checkpoint, if there is one, with what was measured; the first worker reads it."""
    if configuration is None:
        return []
    checkpoint, collective = request.checkpoint, request.collective
    content = b""
    if checkpoint is not None and collective.rank == 0 and checkpoint.path.exists():
        content = existing_file(checkpoint.path).read_bytes()
    content = allgather(collective, np.frombuffer(content, np.uint8)).tobytes()
    if not content:
        return []
    where = "the checkpoint" if checkpoint is None else checkpoint.path
    try:
        kind, meta, arrays = parse_model(content)
        if kind != KIND:
            raise DataError(f"{where} is a model ({kind}), not a checkpoint: choose another file.")
        check_configuration(where, meta["configuration"], configuration)
        trees = _trees(meta, arrays, booster)[:n_trees]
    except (ModelFileError, KeyError) as error:
        raise ModelFileError(f"{where}: ", error, " Delete it to start over.") from None
    measured.history = {
        name: {metric: values[: len(trees)] for metric, values in of_set.items()}
        for name, of_set in meta["history"].items()
    }
    return trees


@contextmanager
def saving(
    configuration: Configuration | None,
    request: FitRequest,
    booster: Booster,
    measured: Measured,
    trees: Sequence[GrownTree],
) -> Iterator[list[Callback]]:
    """The callback that writes the checkpoint of the first worker, if there is one.

    If a worker is lost, every other one that has a file writes the trees that were finished: nobody knows who is left.
    Trees that callbacks have not answered are grown again, so that no callback misses one.
    """
    checkpoint = request.checkpoint
    every = 1 if checkpoint is None else checkpoint.every

    def write(progress: Progress) -> None:
        if progress.round % every == 0 or progress.round == progress.n_rounds:
            write_all(trees)

    def write_all(finished: Sequence[GrownTree]) -> None:
        if checkpoint is None or not finished:
            return
        meta, arrays = make_forest([each.forest for each in finished], booster.n_features).to_parts()
        binned = {
            "column": np.concatenate([each.tree.feature[: each.n_leaves - 1] for each in finished]),
            "bin": np.concatenate([each.tree.bin[: each.n_leaves - 1] for each in finished]),
            "sets": np.concatenate([each.tree.sets[: each.n_leaves - 1] for each in finished]) > 0,
        }
        content = {"configuration": configuration, "history": measured.history, "model": meta}
        write_model(checkpoint.path, KIND, content, {**arrays, **binned})

    try:
        yield [] if checkpoint is None or request.collective.rank > 0 else [write]
    except ClusterError:
        write_all(trees[: measured.drop_unanswered_rounds()])
        raise


def configuration_of(
    ranker: TreeRanker, request: FitRequest, booster: Booster, measured: Measured
) -> Configuration | None:
    """The configuration, found before the first tree; None if no worker has a checkpoint."""
    collective, n_threads = request.collective, booster.n_threads
    # All workers take part in the sums.
    if total(collective, int(request.checkpoint is not None)) == 0:
        return None
    given = saved_parameters(ranker, request.seed)
    parameters = {name: each for name, each in given.items() if name not in _MAY_CHANGE}
    # What is chosen may depend on the number of trees.
    unset = [name for name in booster.rules.declared if name in parameters and parameters[name] is None]
    parameters |= {name: getattr(booster.rules, name) for name in unset}
    base, data = getattr(request.base, "model_", None), request.data
    cuts = Cuts(booster.bins.cuts, booster.bins.n_bins, booster.rules.max_bins)
    found = {
        "ranker": ranker.kind,
        **parameters,
        "base_ranker": None if base is None else _digest(base.to_parts().arrays),
        "metrics": [str(metric) for metric in request.metrics],
        "watched": None if measured.watched is None else str(measured.watched),
        "features": list(data.feature_names),
        "categories": hashlib.sha256(repr(sorted(data.categories.items())).encode()).hexdigest()[:16],
        "cuts of features": hashlib.sha256(cuts.values.tobytes() + cuts.n_bins.tobytes()).hexdigest()[:16],
        **shared_fingerprint("train", data, booster.bins.blocks, booster.scores, collective, n_threads),
    }
    for name, other in request.valid.items():
        bins = other.stored.binned(cuts, n_threads, other.order).blocks
        start = other.by_query(measured.scores[name])
        found |= shared_fingerprint(name, other, bins, start, collective, n_threads)
    found["swaprank"] = __version__
    return plain_values(found)


def _digest(arrays: dict[str, AnyArray]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(arrays[name].tobytes())
    return digest.hexdigest()[:16]


def _trees(meta: dict[str, Any], arrays: dict[str, AnyArray], booster: Booster) -> list[GrownTree]:
    """The trees in a checkpoint; every index is checked."""
    forest = Forest.from_parts(meta["model"], arrays)
    column, cut, sets = arrays["column"], arrays["bin"], arrays["sets"].astype(np.uint8)
    n_nodes, n_columns = len(forest.feature), len(booster.bins.n_bins)
    if not (
        column.shape == cut.shape == (n_nodes,)
        and sets.shape == (n_nodes, booster.layout.set_size)
        and ((column >= 0) & (column < n_columns)).all()
        and (booster.layout.feature[column] == forest.feature).all()
        and ((cut >= 0) & (cut <= 255)).all()
        and (booster.layout.set_size > 0 or (cut > 0).all())
    ):
        raise ModelFileError("it is damaged: its trees do not fit the data.")
    trees = []
    for number in range(forest.n_trees):
        one, nodes = forest.part(number, number + 1), slice(forest.tree_nodes[number], forest.tree_nodes[number + 1])
        tree = Tree(column[nodes], cut[nodes], one.missing_left, one.left, one.right, one.gain, sets[nodes])
        trees.append(GrownTree(tree, len(one.leaf_value), one))
    return trees
