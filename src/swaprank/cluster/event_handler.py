"""Handle the messages of the workers on the driver: addresses, callbacks, checkpoints, Ctrl-C."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, final

from swaprank.cluster.formation import Address
from swaprank.cluster.launcher import Team
from swaprank.cluster.worker_task import Job, Message, Round, answer, begin, last_checkpoint
from swaprank.files import replacing


class Callbacks(NamedTuple):
    """Functions that are called on the driver with each round."""

    display: Sequence[Callable[[Round], object]] = ()
    """Training does not wait for them."""
    deciding: Sequence[Callable[[Round], object]] = ()
    """Training waits for their answers, and stops if one is true."""


@final
class EventHandler:
    """Handles the messages of one team, and answers them."""

    def __init__(self, team: Team, size: int, job: Job, callbacks: Callbacks) -> None:
        self.team, self._size, self._job, self._callbacks = team, size, job, callbacks
        self._addresses: dict[int, Address] = {}
        self.interrupted = False
        self.n_rounds = 0
        """The number of rounds that were finished."""

    def handle(self, message: Message) -> None:
        """Do what a message asks for."""
        if message.address is not None:
            self._addresses[message.rank] = message.address
            if len(self._addresses) == self._size:
                members = [self._addresses[rank] for rank in range(self._size)]
                for rank in range(self._size):
                    self.team.call(rank, begin, self._job.session, rank, members)
        elif message.round is not None:
            self._handle_round(message.round)

    def _handle_round(self, finished: Round) -> None:
        self.n_rounds = finished[0]
        for show in self._callbacks.display:
            show(finished)
        checkpoint = self._job.checkpoint
        if checkpoint is not None and self.n_rounds % checkpoint.every == 0:
            self.save_checkpoint(self.team.call(0, last_checkpoint, self._job.session))
        if self._job.waits:
            answers = [decide(finished) for decide in self._callbacks.deciding]
            self.team.call(0, answer, self._job.session, any(answers))

    def save_checkpoint(self, content: bytes | None) -> None:
        """Write a checkpoint of the first worker to the file of the driver."""
        if content and self._job.checkpoint is not None:
            with replacing(self._job.checkpoint.path) as stream:
                stream.write(content)

    def interrupt(self) -> None:
        """Ctrl-C: end after the round that is under way. Raises KeyboardInterrupt if there is nothing to keep yet."""
        if self.interrupted or not self.n_rounds:
            raise KeyboardInterrupt
        self.interrupted = True
        self.team.call(0, answer, self._job.session, True)
