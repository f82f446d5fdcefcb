"""What a cluster must do to train: an engine such as Dask, Spark or Ray is one file that implements this.

    launcher.place(train, valid, without)     which workers take part, and which parts each of them is given
    launcher.start(job, placement)            runs train_shard(job, shard, workplace) on each, and returns at once
      team.wait(seconds)                        their messages: first their addresses, then each round
      team.tell(rank, begin, …), team.ask(…)    calls of the driver on a worker while its task runs
      team.outcomes()                           what each has returned or raised, or that it is gone
      team.stop()                               nobody waits for the tasks any more

An engine starts tasks, carries small messages, and says who is gone: nothing else. Everything that a training needs is
there already (`training.py`, `worker_task.py`): the group forms and adds up over sockets of its own, notices a worker
that ended or fell silent, forms again without it and goes on from the last round, shares validation sets, stops early,
keeps checkpoints, shows progress, waits for the answers of callbacks, ends at Ctrl-C, and explains errors.

Messages go two ways. A worker sends with `Workplace.send`: an address once, and from the first worker a few hundred
bytes a round. The driver calls functions of `worker_task` by `Team.tell` and `Team.ask`, one of which returns a
checkpoint. With Dask these are its events and `Client.run`, which also work if the client is behind a firewall; with
Ray, calls of actors. An engine without such things opens a port of its own on the driver.

MPI needs none of this: `mpiexec` starts all processes, and each of them is its own driver (`mpi_training.py`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, NamedTuple

from swaprank.cluster.parts import Parts
from swaprank.cluster.shard import Shard
from swaprank.cluster.socket_collective import SILENCE_SECONDS
from swaprank.cluster.worker_task import Broken, Job, Message, WorkerResult
from swaprank.errors import ClusterError, ParameterError

_LONGEST_SILENCE = 10**6
"""Seconds; operating systems cannot wait much longer."""


class Placement(NamedTuple):
    """The workers that take part, by rank."""

    workers: Sequence[str]
    """Their names, as errors call them; `Workplace.name` is the same."""
    shards: Sequence[Shard]


class Gone(NamedTuple):
    """The outcome of a worker that cannot return anything any more."""

    why: str
    """Such as "has ended", after the name of the worker."""


Outcome = WorkerResult | Broken | Gone | BaseException
"""What `train_shard` has returned or raised, or Gone."""


class LostWorkersError(ClusterError):
    """Workers were lost before the training had started; it may go on without them."""

    def __init__(self, workers: Collection[str], *parts: Any) -> None:
        super().__init__(*parts)
        self.workers = workers


class Team(ABC):
    """The tasks of one attempt to train, as their driver sees them."""

    @abstractmethod
    def wait(self, seconds: float) -> Sequence[Message]:
        """The messages that have arrived; if there are none and no task ends, wait for at most so long."""

    @abstractmethod
    def outcomes(self) -> Sequence[Outcome | None]:
        """The outcome of each worker by rank, None while its task runs.

        A worker that was lost with its process is Gone within seconds; one that is stopped or cut off, when its engine
        has not heard of it for the seconds of silence. Raises ClusterError if the cluster itself does not answer.
        """

    @abstractmethod
    def tell(self, rank: int, function: Callable[..., object], *arguments: Any) -> None:
        """Call a function of a module in the process of a worker, beside its task. It returns at once."""

    @abstractmethod
    def ask(self, rank: int, function: Callable[..., Any], *arguments: Any) -> Any:
        """Like `tell`, and wait for what the function returns; None if the worker is gone or silent, or a task ends."""

    @abstractmethod
    def stop(self) -> None:
        """Nobody waits for the tasks: `Workplace.cancelled` is true from now on. It must not hang or raise."""


def check_number(name: str, value: Any, least: int) -> None:
    """Raise ParameterError for what is no whole number, or too small."""
    if not isinstance(value, Integral) or value < least:
        raise ParameterError(f"{name} must be a whole number from {least}; found {value!r}.")


class Launcher(ABC):
    """An engine that starts workers; `fit` takes it as `cluster`.

    Args:
        max_restarts: How many times a training goes on without workers that were lost.
        silence: A worker without a heartbeat for so many seconds is taken for lost; the time that it computes does not
            matter.
    """

    def __init__(self, *, max_restarts: int = 3, silence: float = SILENCE_SECONDS) -> None:
        check_number("max_restarts", max_restarts, 0)
        seconds: Any = silence
        if not isinstance(seconds, Real) or not 0 < float(seconds) <= _LONGEST_SILENCE:
            raise ParameterError(
                f"silence must be a number of seconds above 0, and at most {_LONGEST_SILENCE:,}; found {silence!r}."
            )
        self.max_restarts, self.silence = max_restarts, float(silence)

    @abstractmethod
    def place(self, train: Parts, valid: Mapping[str, Parts], without: Collection[str] = ()) -> Placement:
        """Choose workers that live, compute parts that are not files, and divide all parts (`make_shard`).

        Args:
            train: The training data; at least one part for each worker that takes part.
            valid: The validation sets by name.
            without: Names of workers that were lost: they take no part, even if the cluster still knows them. Parts
                that only they had are computed again.

        Raises LostWorkersError if a worker is lost meanwhile, and ClusterError if parts are.
        """

    @abstractmethod
    def start(self, job: Job, placement: Placement) -> Team:
        """Start `train_shard` on all workers of the placement, all at the same time."""

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until no other training uses the cluster, if two at once could wait for each other."""
        yield
