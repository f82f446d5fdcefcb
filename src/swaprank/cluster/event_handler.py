"""Handle the messages of the workers on the driver: addresses, callbacks, checkpoints, Ctrl-C."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, final

from swaprank.cluster.formation import Address
from swaprank.cluster.launcher import Team
from swaprank.cluster.worker_task import Job, Message, Round, answer, begin, last_checkpoint
from swaprank.files import replacing


def _ignore(text: str) -> None:
    """Nobody is told."""


class Callbacks(NamedTuple):
    """Functions that are called on the driver."""

    display: Sequence[Callable[[Round], object]] = ()
    """Called with each round; training does not wait for them."""
    deciding: Sequence[Callable[[Round], object]] = ()
    """Called with each round; training waits for their answers, and stops if one is true."""
    notice: Callable[[str], object] = _ignore
    """Called with a sentence when a worker was lost."""


@final
class EventHandler:
    """Handles the messages of one training, from one team after the other, and answers them."""

    def __init__(self, job: Job, callbacks: Callbacks) -> None:
        self._job, self._callbacks = job, callbacks
        self._team: Team | None = None
        self._size = 0
        self._addresses: dict[int, Address] = {}
        self._stops = False
        """The answer of the callbacks to the last round."""
        self.notice = callbacks.notice
        self.checkpoint = job.checkpoint.content
        """The one from which training goes on without workers that are lost."""
        self.interrupted = False
        self.n_rounds = 0
        """The number of rounds that were finished."""

    def listen(self, team: Team, job: Job, size: int) -> None:
        """Handle the messages of this team from now on."""
        self._team, self._job, self._size = team, job, size
        self._addresses = {}

    @property
    def heard(self) -> Collection[int]:
        """The ranks of the workers whose tasks have started."""
        return self._addresses.keys()

    def handle(self, message: Message) -> None:
        """Do what a message asks for."""
        if self._team is not None and message.session == self._job.session:
            if message.address is not None:
                self._handle_address(self._team, message.rank, message.address)
            elif message.round is not None:
                self._handle_round(self._team, message.round)

    def _handle_address(self, team: Team, rank: int, address: Address) -> None:
        self._addresses[rank] = address
        if len(self._addresses) == self._size:
            members = [self._addresses[rank] for rank in range(self._size)]
            for each in range(self._size):
                team.tell(each, begin, self._job.session, each, members)

    def _handle_round(self, team: Team, finished: Round) -> None:
        # After a worker was lost, a round may come again: it is the same, and was answered.
        if finished[0] > self.n_rounds:
            self.n_rounds = finished[0]
            for show in self._callbacks.display:
                show(finished)
            before = self.checkpoint
            if self.n_rounds % self._job.checkpoint.every == 0:
                self.keep(team.ask(0, last_checkpoint, self._job.session))
            answers = [decide(finished) for decide in self._callbacks.deciding]
            self._stops = any(answers)
            if self._stops:
                # If a worker is lost now, this round must come again, to end training.
                self.checkpoint = before
        ends = finished[0] == self.n_rounds and (self._stops or self.interrupted)
        if self._job.waits or ends:
            team.tell(0, answer, self._job.session, ends)

    def keep(self, content: bytes | None) -> None:
        """Keep a checkpoint in the file of the user, and to go on from it unless a callback has ended training."""
        if content:
            if not self._stops:
                self.checkpoint = content
            if self._job.checkpoint.path is not None:
                with replacing(self._job.checkpoint.path) as stream:
                    stream.write(content)

    def interrupt(self) -> None:
        """Ctrl-C: end after the round that is under way. Raises KeyboardInterrupt if there is nothing to keep yet."""
        if self.interrupted or not self.n_rounds:
            raise KeyboardInterrupt
        self.interrupted = True
        if self._team is not None:
            self._team.tell(0, answer, self._job.session, True)
