"""The same training on many machines: what workers share, and how Dask or MPI runs them."""
