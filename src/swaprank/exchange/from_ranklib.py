"""RankLib's models but its nets: LambdaMART, MART, random forests, RankBoost, and three kinds of linear models.

    ## LambdaMART                                     the kind of model; other lines with # are comments
    <ensemble>
      <tree id="1" weight="0.1">
        <split>
          <feature> 3 </feature>                      features have numbers from 1
          <threshold> 0.5 </threshold>                left if x <= threshold
          <split pos="left"> … </split>
          <split pos="right"><output> 1.2 </output></split>

A random forest has several ensembles, and its score is their mean. Numbers are read in single precision, as RankLib
does, and a missing value is 0. A linear model has a line of weights in double precision, where feature 0 is a constant:

    0:0.5 1:-0.25 3:0.75

RankBoost has a line of features, thresholds and weights: a weight is added for each value above its threshold.

    1:-0.07:0.55 3:0.5:0.45
"""

import math
import re
from dataclasses import dataclass, field
from typing import final
from xml.parsers import expat

import numpy as np

from swaprank.arrays import AnyArray
from swaprank.errors import ModelFileError
from swaprank.exchange.tree_building import MOST_FEATURES, PeerModel, PeerTree, at_most, build_forest, linear_model
from swaprank.models.forest import Forest
from swaprank.models.linear import LinearModel

_KINDS = ("LambdaMART", "MART", "Random Forests")
_RANKBOOST = "RankBoost"
_LINEAR = ("Linear Regression", "Coordinate Ascent", "AdaRank")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def read(content: bytes) -> PeerModel:
    """The trees of a file; their features have numbers and no names."""
    text = content.decode("utf-8-sig", errors="replace").lstrip()
    header, _, rest = text.partition("\n") if text.startswith("#") else ("LambdaMART", "", text)
    kind = header.strip("# \t\r")
    body = "\n".join(line for line in rest.splitlines() if not line.lstrip().startswith("#"))
    if kind.upper() in (known.upper() for known in _LINEAR):
        return PeerModel("RankLib", _linear(body, with_constant=kind.upper() == _LINEAR[0].upper()), None, {}, None)
    if kind.upper() == _RANKBOOST.upper():
        trees = [_stump(part) for part in body.split()]
        return PeerModel("RankLib", build_forest(trees, _n_features(trees)), None, {}, None)
    if kind.upper() not in (known.upper() for known in _KINDS):
        raise ModelFileError(
            f"it is a RankLib model of the kind '{kind[:40]}', which is not one of "
            f"{', '.join((*_KINDS, _RANKBOOST, *_LINEAR))}: nets cannot be read. Train one of these kinds."
        )
    reader = _EnsembleReader()
    reader.parse(body)
    if reader.n_ensembles > 1 and kind.upper() != "RANDOM FORESTS":
        raise ModelFileError(f"it has {reader.n_ensembles:,} ensembles, but only random forests have more than one.")
    return PeerModel("RankLib", _forest(reader), None, {}, None)


def _linear(body: str, *, with_constant: bool) -> LinearModel:
    """A sum of weight x value, from pairs feature:weight. The weights of a feature that is there twice are added."""
    weights: dict[int, float] = {}
    bias = 0.0
    for pair in body.split():
        feature, _, weight = pair.partition(":")
        value = _number(weight, "weight")
        if feature == "0" and with_constant:
            bias += value
        else:
            at = _feature_number(feature) - 1
            weights[at] = weights.get(at, 0.0) + value
    if not weights:
        raise ModelFileError("it has no weights.")
    return linear_model(weights, max(weights) + 1, bias)


def _forest(reader: "_EnsembleReader") -> Forest:
    """All trees; those of a random forest give a share of the mean."""
    for tree in reader.trees:
        tree.leaf_value = [value / reader.n_ensembles for value in tree.leaf_value]
    return build_forest(reader.trees, _n_features(reader.trees))


def _n_features(trees: list[PeerTree]) -> int:
    return 1 + max((max(tree.feature, default=0) for tree in trees), default=0)


def _stump(part: str) -> PeerTree:
    feature, threshold, weight = [*part.split(":"), "", ""][:3]
    limit = at_most([_number(threshold, "threshold")])
    return PeerTree(
        [_feature_number(feature) - 1], limit, (limit >= 0).tolist(), [~0], [~1], [0.0, _number(weight, "weight")]
    )


_NEXT = {
    "models": {"ensemble": "models"},
    "ensemble": {"tree": "ensemble"},
    "tree": {"split": "whole tree"},
    "split": {"output": "leaf", "feature": "split on a feature"},
    "split on a feature": {"threshold": "split at a threshold"},
    "split at a threshold": {"split": "split with a left side"},
    "split with a left side": {"split": "node"},
}
"""The state of an element after its next child. RankLib tells children by their order."""
_COMPLETE = ("models", "ensemble", "whole tree", "leaf", "node", "feature", "threshold", "output")


@final
@dataclass
class _Element:
    """An element that is open."""

    state: str
    node: int = 0
    """The number of a split that is a node."""
    splits: list[int] = field(default_factory=list)
    """The splits within: nodes, or ~leaf, as in `PeerTree`."""


@final
class _EnsembleReader:
    """The trees of ensembles in XML. Elements are handled as they end, so depth costs no recursion."""

    def __init__(self) -> None:
        self.trees: list[PeerTree] = []
        self.n_ensembles = 0
        self._open: list[_Element] = []
        self._text: list[str] = []

    def parse(self, body: str) -> None:
        parser = expat.ParserCreate("utf-8")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text.append
        try:
            # Within an element there may be several ensembles, but no DTD, and so no entities.
            parser.Parse(b"<models>")
            parser.Parse(body.encode())
            parser.Parse(b"</models>", True)
        except expat.ExpatError as error:
            raise ModelFileError(f"its XML is damaged: {error}.") from None
        if self.n_ensembles == 0:
            raise ModelFileError("it has no <ensemble> of trees.")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if self._open:
            parent = self._open[-1]
            state = _NEXT.get(parent.state, {}).get(name)
            if state is None:
                raise ModelFileError(f"it has <{name[:40]}> in a {parent.state}, which RankLib does not write.")
            parent.state = state
            if attributes.get("pos", side := "right" if state == "node" else "left") != side:
                raise ModelFileError("it has the right side of a split before the left one, which RankLib mixes up.")
        self._open.append(_Element(name))
        self._text.clear()
        if name == "ensemble":
            self.n_ensembles += 1
        elif name == "tree":
            self._feature: list[int] = []
            self._threshold: list[float] = []
            self._children: list[tuple[int, int]] = []
            self._output: list[float] = []
            self._weight = _number(attributes.get("weight", ""), "weight")

    def _end(self, name: str) -> None:
        element = self._open.pop()
        if element.state not in _COMPLETE:
            raise ModelFileError(f"it has a {element.state} that ends too early.")
        text = "".join(self._text).strip()
        match element.state:
            case "feature":
                self._open[-1].node = len(self._feature)
                self._feature.append(_feature_number(text) - 1)
                self._children.append((0, 0))
            case "threshold":
                self._threshold.append(_number(text, "threshold"))
            case "output":
                self._output.append(_number(text, "output"))
            case "leaf":
                self._open[-1].splits.append(~(len(self._output) - 1))
            case "node":
                left, right = element.splits
                self._children[element.node] = (left, right)
                self._open[-1].splits.append(element.node)
            case "whole tree":
                self.trees.append(self._tree())
        self._text.clear()

    def _tree(self) -> PeerTree:
        threshold, output = _single(self._threshold), _single(self._output)
        left, right = ([pair[side] for pair in self._children] for side in (0, 1))
        # RankLib multiplies in double precision.
        values = output.astype(np.float64) * _single([self._weight])
        return PeerTree(self._feature, threshold, (threshold >= 0).tolist(), left, right, values.tolist())


def _feature_number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9 or not 1 <= int(text) <= MOST_FEATURES:
        raise ModelFileError(f"it has the feature '{text[:40]}': features have numbers from 1 to {MOST_FEATURES:,}.")
    return int(text)


def _number(text: str, what: str) -> float:
    if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        raise ModelFileError(f"it has the {what} '{text[:40]}', which is not a number.")
    return float(text)


def _single(values: list[float]) -> AnyArray:
    """Single precision; too large numbers become infinite, which `build_forest` refuses."""
    with np.errstate(over="ignore"):
        return np.array(values, np.float64).astype(np.float32)
