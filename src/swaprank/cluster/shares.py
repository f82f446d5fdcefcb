"""What one of the workers is given to train on, and how it becomes data sets."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from swaprank.cluster.agreement import NamedPart
from swaprank.cluster.joining import share_of
from swaprank.cluster.parts import FilePart
from swaprank.collective import Collective
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError


class Given(NamedTuple):
    """A part for one worker: a file, or a data set that Dask has brought there."""

    name: str
    part: FilePart | Dataset | None


class Share(NamedTuple):
    """What one worker is given."""

    rank: int
    size: int
    train: Sequence[Given]
    valid: Mapping[str, Sequence[Given]]
    divided: Collection[str]
    """Validation sets of which all workers are given all parts, and each takes some of the queries."""


def read_share(collective: Collective, share: Share) -> tuple[Dataset, dict[str, Dataset]]:
    """The training data and the validation sets of one worker; all workers call it."""
    data = share_of(collective, _named_parts(share.train), "the training data")
    return data, {name: share_of(collective, _valid_parts(share, name), f"the set '{name}'") for name in share.valid}


def dealt(parts: Sequence[Given], rank: int, size: int) -> Sequence[Given]:
    """The parts of a validation set for one worker: in turns; all of them, if there are fewer than workers."""
    return parts if len(parts) < size else parts[rank::size]


def _named_parts(given: Sequence[Given]) -> list[NamedPart]:
    """The parts of this worker that have documents."""
    parts = []
    for name, part in given:
        data = part.read() if isinstance(part, FilePart) else part
        if not isinstance(data, Dataset | None):
            raise DataError(f"{name} is of type {type(data).__name__}, not a Dataset.")
        if data is not None:
            parts.append(NamedPart(name, data))
    return parts


def _valid_parts(share: Share, name: str) -> list[NamedPart]:
    """The parts of a validation set; if all workers have them all, every so many queries of them."""
    parts = _named_parts(share.valid[name])
    if name not in share.divided:
        return parts
    own, n_before = [], 0
    for part, data in parts:
        first = (share.rank - n_before) % share.size
        if first < data.n_queries:
            own.append(NamedPart(part, data.subset(slice(first, None, share.size))))
        n_before += data.n_queries
    return own
