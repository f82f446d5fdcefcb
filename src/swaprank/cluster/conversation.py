"""What the client hears from the first worker while training, and what it says to it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, final

from swaprank.cluster.supervision import CHECK_SECONDS, Supervisor
from swaprank.cluster.worker_task import Job, Message, Round, last_checkpoint, say
from swaprank.files import replacing


class Listening(NamedTuple):
    """Functions that are called on the client with each round."""

    shown: Sequence[Callable[[Round], object]] = ()
    """Training does not wait for them."""
    asked: Sequence[Callable[[Round], object]] = ()
    """Training waits for their answers, and stops if one is true."""


@final
class Conversation:
    """What was heard of one training, and Ctrl-C."""

    def __init__(self, client: Any, first_worker: str, job: Job, listening: Listening, supervisor: Supervisor) -> None:
        self._client, self._first_worker, self._job, self._listening = client, first_worker, job, listening
        self._supervisor = supervisor
        self._messages: SimpleQueue[Message | None] = SimpleQueue()
        self._waiting: list[Message | None] = []
        self.interrupted = False
        self.tracker: Mapping[str, Any] | None = None
        """What the workers need to find each other."""
        self.finished = 0
        """Rounds."""

    def receive(self, message: Message) -> None:
        """Called in a thread of Dask."""
        self._messages.put(message)

    def wake(self, future: Any) -> None:
        """Called in a thread of Dask, when a task has ended."""
        self._messages.put(None)

    def wait(self, seconds: float) -> None:
        """Until there is news."""
        with suppress(Empty):
            self._waiting.append(self._messages.get(timeout=seconds))

    def hear_all(self) -> None:
        """Take in all news."""
        while True:
            try:
                message = self._waiting.pop(0) if self._waiting else self._messages.get_nowait()
            except Empty:
                return
            if message is not None and message.tracker is not None:
                self.tracker = message.tracker
            elif message is not None and message.round is not None:
                self._hear(message.round)

    def _hear(self, finished: Round) -> None:
        self.finished = finished[0]
        for show in self._listening.shown:
            show(finished)
        kept = self._job.checkpoint
        if kept is not None and self.finished % kept.every == 0:
            self.keep(self._ask(last_checkpoint, self._job.session))
        if self._job.waits:
            answers = [ask(finished) for ask in self._listening.asked]
            self._ask(say, self._job.session, any(answers))

    def keep(self, content: bytes | None) -> None:
        """Write a checkpoint of the first worker here."""
        if content and self._job.checkpoint is not None:
            with replacing(self._job.checkpoint.path) as stream:
                stream.write(content)

    def interrupt(self) -> None:
        """Ctrl-C: end after the round that is under way. Raises KeyboardInterrupt if there is nothing to keep yet."""
        if self.interrupted or not self.finished:
            raise KeyboardInterrupt
        self.interrupted = True
        self._ask(say, self._job.session, True)

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function on the first worker; None if the worker is gone, as the supervisor will say."""
        answers: list[Any] = []

        def ask() -> None:
            with suppress(Exception):
                found = self._client.run(function, *arguments, workers=[self._first_worker], on_error="ignore")
                answers.append(found.get(self._first_worker))

        # A worker that is stopped never answers: a thread can be left behind.
        thread = Thread(target=ask, daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(CHECK_SECONDS)
            self._supervisor.check()
        return answers[0] if answers else None


_CONVERSATIONS: dict[str, Conversation] = {}
"""Those that go on, by their session: a client may train several rankers at once."""


def _receive(event: tuple[float, Any]) -> None:
    message = Message(*event[1])
    if message.session in _CONVERSATIONS:
        _CONVERSATIONS[message.session].receive(message)


@contextmanager
def conversation_on(
    client: Any, first_worker: str, job: Job, listening: Listening, supervisor: Supervisor
) -> Iterator[Conversation]:
    """A conversation that lasts as long as the block."""
    conversation = Conversation(client, first_worker, job, listening, supervisor)
    _CONVERSATIONS[job.session] = conversation
    client.subscribe_topic(job.topic, _receive)
    try:
        yield conversation
    finally:
        del _CONVERSATIONS[job.session]
