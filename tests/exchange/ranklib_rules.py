"""What RankLib, and Elasticsearch LTR with it, makes of a model file. Written from its rules, in plain Python.

Lines with # are comments, the others are stripped and joined. Children of XML elements count by their place, also white
space. Thresholds and outputs are float, and the sum is rounded to float after each tree. A missing value is 0.
"""

from __future__ import annotations

from typing import Any
from xml.dom import minidom

import numpy as np

from swaprank.arrays import Features, Floats

Split = tuple[int, np.float32, Any, Any] | np.float32


def scores(text: str, X: Features) -> Floats:
    """Scores of documents with features 1 to X.shape[1]; a feature beyond is an error."""
    header, *lines = text.split("\n")
    rows = np.where(np.isnan(X), np.float32(0), X)
    body = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if header == "## Linear Regression":
        pairs = [pair.split(":") for pair in body[0].split(" ")]
        constant = sum(float(weight) for number, weight in pairs if number == "0")
        weights = [(int(number), float(weight)) for number, weight in pairs if number != "0"]
        linear = [constant + sum(weight * float(x[number - 1]) for number, weight in weights) for x in rows]
        return np.array(linear, np.float32).astype(np.float64)
    assert header in ("## LambdaMART", "## MART", "## Random Forests")
    ensembles = [f"<ensemble>{part}" for part in "".join(body).split("<ensemble>")[1:]]
    assert len(ensembles) == 1 or header == "## Random Forests"
    sums = [_ensemble_scores(ensemble, rows) for ensemble in ensembles]
    mean: Floats = np.mean(sums, axis=0).astype(np.float32).astype(np.float64)
    return mean


def _ensemble_scores(xml: str, rows: Features) -> Floats:
    elements = minidom.parseString(xml).getElementsByTagName("tree")
    trees = [(_split(element.firstChild), np.float32(element.getAttribute("weight"))) for element in elements]
    found = []
    for x in rows:
        total = np.float32(0)
        for split, weight in trees:
            total = np.float32(float(total) + float(_output(split, x)) * float(weight))
        found.append(float(total))
    return np.array(found)


def _split(element: Any) -> Split:
    children = element.childNodes
    if children[0].nodeName == "feature":
        feature, threshold = (children[at].firstChild.nodeValue.strip() for at in (0, 1))
        assert int(feature) >= 1
        return int(feature), np.float32(threshold), _split(children[2]), _split(children[3])
    return np.float32(children[0].firstChild.nodeValue.strip())


def _output(split: Split, x: Features) -> np.float32:
    while isinstance(split, tuple):
        feature, threshold, left, right = split
        split = left if x[feature - 1] <= threshold else right
    return split
