"""Sums over workers by MPI, in processes that `mpiexec` started."""

from typing import Any, final

from swaprank.arrays import Ints, row_blocks
from swaprank.collective import Collective
from swaprank.errors import ClusterError, MissingExtraError

_PIECE = 2**27
"""Older versions of MPI count values in 31 bits."""


@final
class MPICollective(Collective):
    """The processes of MPI's world."""

    def __init__(self) -> None:
        self._mpi = _mpi()
        world = self._mpi.COMM_WORLD
        self.rank, self.size = world.Get_rank(), world.Get_size()
        # Threads of a fit take turns.
        if self._mpi.Query_thread() < self._mpi.THREAD_SERIALIZED:
            raise ClusterError("this MPI was built without support of threads: use one that has MPI_THREAD_SERIALIZED.")

    def add(self, values: Ints) -> None:
        """See `Collective`. If a process is gone, MPI ends all of them."""
        for piece in row_blocks(values.size, _PIECE):
            self._mpi.COMM_WORLD.Allreduce(self._mpi.IN_PLACE, values.reshape(-1)[piece], op=self._mpi.SUM)

    def abandon(self, exit_code: int) -> None:
        """End all processes: one of them cannot go on, and the others would wait for it."""
        self._mpi.COMM_WORLD.Abort(exit_code)


def _mpi() -> Any:
    try:
        from mpi4py import MPI
    except ImportError as error:
        # mpi4py may be there, but no library of MPI.
        raise MissingExtraError(
            f"training with MPI needs mpi4py and MPI: pip install 'swaprank[mpi]' ({error})"
        ) from None
    return MPI
