"""The same training on many machines: what workers share, and how Dask or MPI runs them."""

from swaprank.cluster.dask_launcher import Dask

__all__ = ["Dask"]
