"""A cluster whose workers are threads of this process: they train as on any cluster, and can be killed or stopped."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event, Thread, local
from typing import Any, final

from swaprank.arrays import Ints
from swaprank.cluster.launcher import Gone, Launcher, Outcome, Placement, Team
from swaprank.cluster.parts import Parts
from swaprank.cluster.shard import make_shard
from swaprank.cluster.socket_collective import SocketCollective
from swaprank.cluster.worker_task import Job, Message, Workplace, train_shard


class KilledError(BaseException):
    """The worker is dead: nobody hears of it."""


Harm = tuple[str, int, bool]
"""A worker, the number of its sum from 0 that it does not live to see, and whether it is stopped and not killed."""


class Threads(Launcher):
    """Workers named "a", "b", …, one of which comes to harm in each of the first attempts."""

    def __init__(self, names: str, harms: Sequence[Harm] = (), **options: Any) -> None:
        super().__init__(**options)
        self.names, self.harms = list(names), list(harms)
        self.attempts: list[list[str]] = []
        self.released = Event()

    def place(self, train: Parts, valid: Mapping[str, Parts], without: Collection[str] = ()) -> Placement:
        names = [name for name in self.names if name not in without]
        sets = {name: each.parts for name, each in valid.items()}
        size = min(len(names), len(train))
        self.attempts.append(names[:size])
        return Placement(names[:size], [make_shard(n, size, train.parts[n::size], sets) for n in range(size)])

    def start(self, job: Job, placement: Placement) -> Team:
        return ThreadTeam(self, job, placement)


@final
class ThreadTeam(Team):
    def __init__(self, launcher: Threads, job: Job, placement: Placement) -> None:
        self.launcher, self.job = launcher, job
        self.found: list[Outcome | None] = [None] * len(placement.workers)
        self.messages: SimpleQueue[Message | None] = SimpleQueue()
        self.stopped = Event()
        self.harm: Harm = launcher.harms.pop(0) if launcher.harms else ("", 0, False)
        for rank, name in enumerate(placement.workers):
            Thread(target=self.work, args=(name, rank, placement.shards[rank]), daemon=True).start()

    def work(self, name: str, rank: int, shard: Any) -> None:
        harmed, *harm = self.harm
        _HARM.now = harm if harmed == name else None, self.launcher.released
        try:
            self.found[rank] = train_shard(self.job, shard, ThreadWorkplace(name, self))
        except KilledError:
            self.found[rank] = Gone("has ended")
        except BaseException as error:
            self.found[rank] = error
        self.messages.put(None)

    def wait(self, seconds: float) -> Sequence[Message]:
        found = []
        with suppress(Empty):
            found.append(self.messages.get(timeout=seconds))
            while True:
                found.append(self.messages.get_nowait())
        return [message for message in found if message is not None]

    def outcomes(self) -> Sequence[Outcome | None]:
        return list(self.found)

    def tell(self, rank: int, function: Callable[..., object], *arguments: Any) -> None:
        function(*arguments)

    def ask(self, rank: int, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)

    def stop(self) -> None:
        self.stopped.set()


@final
class ThreadWorkplace(Workplace):
    host, n_threads = "127.0.0.1", 1

    def __init__(self, name: str, team: ThreadTeam) -> None:
        self.name, self.team = name, team

    def send(self, message: Message) -> None:
        self.team.messages.put(message)

    def cancelled(self) -> bool:
        return self.team.stopped.is_set()


_HARM = local()


def harmful(exchange: Callable[..., None]) -> Callable[..., None]:
    """`SocketCollective._exchange` of workers that come to harm."""

    def exchange_or_die(self: SocketCollective, outgoing: Mapping[int, Ints], incoming: Mapping[int, Ints]) -> None:
        harm, released = _HARM.now
        if harm is not None:
            at, stops = harm
            _HARM.now = (at - 1, stops), released
            if at <= 0 and stops:
                assert self._heartbeats is not None
                self._heartbeats._bell.close()
                released.wait()
            if at <= 0:
                raise KilledError
        exchange(self, outgoing, incoming)

    return exchange_or_die
