"""Damage files at random, for fuzz.py: bytes, values of a header, and what is put in their place."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import numpy as np

from swaprank.model_files.container import FIRST_ARRAY, HEAD

Rng = np.random.Generator

ODD_NUMBERS = (
    b"1e400 -1e308 1.7976931348623157e308 3.5e38 nan -inf 1e-400 0x1p3 1_0 00 - + . 1e 1e+ .5. -0 1e99999".split()
)
ODD_TEXTS = [
    *ODD_NUMBERS, b"9" * 400, b"0." + b"3" * 3000, b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3", "äß".encode(),
    b"\xe2\x80\xa8", b"\xd9\xa3", b"\r", b"\r\n", b"\n\n", b"\t", b"\x0b", b"\x0c", b"\x1a", b'"', b'""', b'"a\nb"',
    b"'", b",", b";", b":", b"#", b"#docid = ", b"qid:", b"qid:1 qid:2", b" 1:", b" 0:", b" 99999:1", b" 10000000:1",
    b" 99999999999999999999:1", b"x" * 5000, b" 1:1" * 3000, b"NULL", b"NaN", b"None", b"true", b"\x1f\x8b", b"PAR1",
    b"Q0", b"[" * 100_000,
]  # fmt: skip
ODD_VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2, 10**400, -(10**30), 2**31, 2**63, 0.5, -0.0, 1e308, -1e308, 1e-320, "", "many",
    {"$float": "nan"}, {"$float": "inf"}, {"$float": "x"}, "nan", "ndcg@10", "map(rel=2)", "lambda", "forest", "linear",
    "net", "ensemble", "a (own)", "\ud800", "x" * 5000, [], [[]], [1, 2], ["a"], [None], {}, {"a": 1}, "tanh", "rbf",
]  # fmt: skip
ODD_ENTRIES = [
    np.nan,
    np.inf,
    -np.inf,
    1e308,
    -1e308,
    1e300,
    3.4e38,
    1e-320,
    0,
    -1,
    1,
    2,
    127,
    2**31 - 1,
    -(2**31),
    2**62,
]


def pick(rng: Rng, options: Any) -> Any:
    return options[int(rng.integers(len(options)))]


def damaged(content: bytes, rng: Rng) -> bytes:
    """Some bytes are changed, removed, repeated or inserted."""
    data = bytearray(content)
    for _ in range(min(int(rng.geometric(0.6)), 4)):
        at, length = int(rng.integers(len(data) + 1)), int(rng.geometric(0.05))
        kind = rng.integers(12)
        if kind == 0 and data:
            data[min(at, len(data) - 1)] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del data[at : at + length]
        elif kind == 2:
            data[at:at] = data[at : at + length] * int(rng.integers(1, 20))
        elif kind == 3:
            data[at:at] = rng.bytes(length)
        elif kind == 4:
            del data[at:]
        elif kind == 5:
            words = bytes(data).split(b" ")
            words[int(rng.integers(len(words)))] = pick(rng, ODD_TEXTS)
            data = bytearray(b" ".join(words))
        elif kind == 6:
            lines = bytes(data).split(b"\n")
            lines.insert(int(rng.integers(len(lines))), pick(rng, lines))
            data = bytearray(b"\n".join(lines))
        elif kind <= 8:
            data[at:at] = pick(rng, ODD_TEXTS)
        else:
            numbers = list(re.finditer(rb"[0-9.]+", data)) or list(re.finditer(b"", data))[:1]
            first, last = pick(rng, numbers).span()
            data[first:last] = pick(rng, [*ODD_NUMBERS, b"%d" % rng.integers(10**6), b"%.17g" % rng.normal()])
    return bytes(data)


def replace_value(header: Any, rng: Rng) -> None:
    """Walk down from the header to a random value, and change or remove it."""
    at = header
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = pick(rng, keys) if at is not header else pick(rng, ["meta"] * 8 + ["arrays", "kind"])
        if key not in keys:
            return
        inner = at[key]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.9:
            at = inner
            continue
        change = rng.random()
        if change < 0.1:
            del at[key]
        elif change < 0.2 and isinstance(at, dict):
            at["extra"] = inner
        elif change < 0.25:
            for _ in range(int(pick(rng, [1, 5, 300]))):
                inner = [inner]
            at[key] = inner
        else:
            at[key] = pick(rng, ODD_VALUES)
        return


def rewritten(valid: bytes, rng: Rng, *, with_digests: bool) -> bytes:
    """A model or bins of which some values of the header, its text or entries of arrays are replaced.

    The checksum of the header is right, and so are those of the arrays, `with_digests`.
    """
    _, version, _, start, _, _ = HEAD.unpack(valid[: HEAD.size])
    header, data = json.loads(valid[start:]), bytearray(valid[:start])
    for _ in range(int(rng.integers(1, 3))):
        if rng.random() < 0.5:
            replace_value(header, rng)
        else:
            replace_entry(header, data, rng, with_digests)
    text = json.dumps(header).encode()
    if rng.random() < 0.1:
        text = damaged(text, rng)
    version = int(pick(rng, [version] * 20 + [0, version - 1, version + 1]))
    head = HEAD.pack(valid[:16], version, start + len(text), start, len(text), hashlib.sha256(text).digest())
    return head + bytes(data[HEAD.size :]) + text


def replace_entry(header: Any, data: bytearray, rng: Rng, with_digests: bool) -> None:
    """Change an entry of an array, in its own type."""
    described = header.get("arrays")
    arrays = [each for each in described if isinstance(each, dict)] if isinstance(described, list) else []
    if not arrays:
        return
    each = pick(rng, arrays)
    try:
        dtype, n, start = np.dtype(each["dtype"]), int(np.prod(each["shape"])), int(each["start"])
    except (TypeError, KeyError, ValueError, OverflowError):
        return
    at = start + dtype.itemsize * int(rng.integers(n)) if 0 < n < len(data) else -1
    if not FIRST_ARRAY <= at <= len(data) - dtype.itemsize:
        return
    with np.errstate(all="ignore"):
        data[at : at + dtype.itemsize] = np.array([pick(rng, ODD_ENTRIES)]).astype(dtype).tobytes()
    if with_digests:
        each["sha256"] = hashlib.sha256(data[start : start + n * dtype.itemsize]).hexdigest()
