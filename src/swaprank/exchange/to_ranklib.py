"""RankLib's model file, which Elasticsearch LTR and OpenSearch LTR read as model/ranklib.

Trees are RankLib's LambdaMART, and linear models its Linear Regression. Features have numbers: their place in the
feature set, from 1. RankLib reads thresholds and leaf values in single precision, compares x <= threshold, rounds the
sum of the trees to single precision after each tree, and reads missing values as 0. Weights are in double precision.
"""

import numpy as np

from swaprank.arrays import Floats
from swaprank.exchange.exported import Export, check_missing_as_zero, ltr_content, refuse_kind
from swaprank.exchange.plain_trees import fold_tree, plain_trees
from swaprank.models.forest import Forest
from swaprank.models.served import Trees, WeightedSum

_DEEPEST = 190
"""From version 24 on, Java reads XML of at most 200 levels."""


def content(export: Export) -> bytes:
    """The model as RankLib's text, or the body of the request that creates it."""
    match export.model:
        case Trees(forest):
            text = _ensemble(plain_trees(export, forest, _DEEPEST))
        case WeightedSum(weights, _, bias):
            text = _linear_regression(weights, bias)
        case _:
            raise refuse_kind(export, "trees and linear models", "solr, onnx or c")
    check_missing_as_zero(export, "RankLib", " The format xgboost+json keeps where they go.")
    return ltr_content(export, "model/ranklib", text)


def _ensemble(forest: Forest) -> str:
    # No white space between tags of a line: RankLib takes the first child of an element, whatever it is.
    trees = (
        f'<tree id="{tree + 1}" weight="1.0"><split>{_split(forest, tree)}</split></tree>\n'
        for tree in range(forest.n_trees)
    )
    return f"## LambdaMART\n## No. of trees = {forest.n_trees}\n\n<ensemble>\n{''.join(trees)}</ensemble>\n"


def _split(forest: Forest, tree: int) -> str:
    def leaf(leaf: int) -> str:
        return f"<output>{np.float32(forest.leaf_value[leaf])!s}</output>"

    def node(node: int, left: str, right: str) -> str:
        return (
            f"<feature>{forest.feature[node] + 1}</feature><threshold>{forest.threshold[node]!s}</threshold>"
            f'<split pos="left">{left}</split><split pos="right">{right}</split>'
        )

    return fold_tree(forest, tree, leaf, node)


def _linear_regression(weights: Floats, bias: float) -> str:
    pairs = [f"0:{float(bias)!r}", *(f"{at + 1}:{float(weight)!r}" for at, weight in enumerate(weights))]
    return f"## Linear Regression\n{' '.join(pairs)}\n"
