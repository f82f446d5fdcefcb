"""Plain values that workers tell each other, made of sums."""

import json
from typing import Any

import numpy as np

from swaprank.collective import Collective, gathered


def told_by_each(collective: Collective, value: Any) -> list[Any]:
    """What each worker says, in the order of ranks: values that JSON can hold.

    >>> from swaprank.cluster.messages import told_by_each
    >>> from swaprank.collective import ALONE
    >>> told_by_each(ALONE, {"part": "a.parquet"})
    [{'part': 'a.parquet'}]
    """
    text = np.frombuffer(json.dumps(value).encode(), np.uint8)
    lengths = gathered(collective, np.array([len(text)], np.int64))
    content = gathered(collective, text).tobytes()
    ends = np.cumsum(lengths).tolist()
    return [json.loads(content[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
