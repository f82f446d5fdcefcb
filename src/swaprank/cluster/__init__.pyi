from .dask_launcher import Dask as Dask
