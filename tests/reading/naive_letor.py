"""A naive parser of LETOR text, line by line, to test the kernel against."""

from __future__ import annotations

import numpy as np


def naive_letor(text: str, absent: float = 0.0) -> dict[str, object]:
    labels, qids, docids, rows = [], [], [], []
    for line in text.split("\n"):
        content, _, comment = line.partition("#")
        words = content.split()
        if not words:
            continue
        labels.append(float(words[0]))
        qids.append(words[1].removeprefix("qid:"))
        rows.append({int(i): single(v) for i, v in (pair.split(":") for pair in words[2:])})
        before, equals, after = comment.partition("=")
        docids.append(after.split()[0] if equals and before.strip() == "docid" and after.split() else "")
    indices = [index for row in rows for index in row]
    first = 0 if 0 in indices else 1
    features = np.full((len(rows), max(indices) - first + 1), absent, np.float32)
    for features_row, row in zip(features, rows, strict=True):
        for index, value in row.items():
            features_row[index - first] = value
    return {"features": features, "labels": labels, "qids": qids, "docids": docids}


def single(text: str) -> np.float32:
    if text.lower().lstrip("+-") in ("nan", "null"):
        return np.float32(np.nan)
    with np.errstate(over="ignore"):
        value = np.float32(float(text))
    return np.float32(np.nan) if np.isinf(value) else value
