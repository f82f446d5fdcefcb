"""Parts as one data set of this process."""

from typing import Any

from swaprank.cluster.parts import Parts
from swaprank.cluster.shard import join_parts
from swaprank.collective import ALONE
from swaprank.data.dataset import Dataset


def gathered(data: Any, where: str = "the data") -> Any:
    """`Parts` as one data set, with their values, or their bins if they are binned; everything else as it is.

    >>> import swaprank as sr
    >>> from swaprank.cluster.gathering import gathered
    >>> one, two = sr.datasets.random_net((3, 2), n_features=4, random_state=0)
    >>> gathered(sr.Parts([one, two]))
    Dataset(250 documents, 5 queries, 4 features, labels 0 to 5)
    """
    if not isinstance(data, Parts):
        return data
    parts = list(data.parts)
    if not all(part.is_file or isinstance(part.value, Dataset) for part in parts):
        import dask

        values = dask.compute(*(part.value for part in parts))
        parts = [part._replace(value=value) for part, value in zip(parts, values, strict=True)]
    return join_parts(ALONE, parts, where)
