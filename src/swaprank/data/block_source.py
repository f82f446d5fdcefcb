"""Documents in blocks of rows: what data larger than memory comes as."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, final

from swaprank.arrays import Features, Ints
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError


class Block(NamedTuple):
    """Consecutive rows of a file; the first query may continue that of the block before, if it is of the same file."""

    data: Dataset
    source: str
    """Where the rows are, for error messages: the name of the file."""
    sampled: Callable[[Ints], Features] | None = None
    """Gives the features of some rows, if the data set has none: in the first pass, few rows are needed."""

    def features_of(self, rows: Ints) -> Features:
        """The features of some rows."""
        return self.data.features[rows] if self.sampled is None else self.sampled(rows)


class BlockSource(ABC):
    """Blocks that can be gone through more than once: for a sample of their rows, then to bin them."""

    fill: float = 0.0
    """The value of features that earlier blocks of LETOR text do not know of."""

    @abstractmethod
    def blocks(self, *, is_first_pass: bool) -> Iterator[Block]:
        """All blocks, from the first."""

    def settled(self) -> bool:
        """Whether the blocks that were gone through are right; if not, they will be the next time."""
        return True


@final
class GivenBlocks(BlockSource):
    """Data sets that somebody gives."""

    def __init__(self, given: Iterable[Any]) -> None:
        if isinstance(given, Iterator) or not isinstance(given, Iterable):
            raise DataError(
                "blocks are gone through twice: give a list, or an object whose __iter__ starts from the first block "
                f"each time; found {type(given).__name__}."
            )
        self._given = given

    def blocks(self, *, is_first_pass: bool) -> Iterator[Block]:
        """See `BlockSource`."""
        for number, data in enumerate(self._given):
            if not isinstance(data, Dataset):
                raise DataError(f"block {number} must be a Dataset, found {type(data).__name__}.")
            yield Block(data, "the blocks")
