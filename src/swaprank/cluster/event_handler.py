"""Handle the events of the first worker on the client: callbacks, checkpoints, Ctrl-C."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, NamedTuple, Self, final

from swaprank.cluster.supervisor import CHECK_SECONDS, Supervisor
from swaprank.cluster.worker_task import Job, Message, Round, answer, last_checkpoint
from swaprank.files import replacing


class Callbacks(NamedTuple):
    """Functions that are called on the client with each round."""

    display: Sequence[Callable[[Round], object]] = ()
    """Training does not wait for them."""
    deciding: Sequence[Callable[[Round], object]] = ()
    """Training waits for their answers, and stops if one is true."""


@final
class EventHandler:
    """Handles the messages of the first worker of one training, and answers it."""

    def __init__(self, client: Any, first_worker: str, job: Job, callbacks: Callbacks, supervisor: Supervisor) -> None:
        self._client, self._first_worker, self._job, self._callbacks = client, first_worker, job, callbacks
        self._supervisor = supervisor
        self._messages: SimpleQueue[Message] = SimpleQueue()
        self._news = Event()
        self.interrupted = False
        self.tracker: Mapping[str, Any] | None = None
        """Arguments with which the workers find each other."""
        self.n_rounds = 0
        """The number of rounds that were finished."""

    def __enter__(self) -> Self:
        _HANDLERS[self._job.session] = self
        self._client.subscribe_topic(self._job.topic, _receive)
        return self

    def __exit__(self, *error: object) -> None:
        del _HANDLERS[self._job.session]

    def receive(self, message: Message) -> None:
        """Keep a message for `handle_all`; called in a thread of Dask."""
        self._messages.put(message)
        self._news.set()

    def wake(self, future: Any) -> None:
        """End `wait`: a task has ended; called in a thread of Dask."""
        self._news.set()

    def wait(self, seconds: float) -> None:
        """Wait until there is news."""
        self._news.wait(seconds)
        self._news.clear()

    def handle_all(self) -> None:
        """Handle all messages that have arrived."""
        while not self._messages.empty():
            message = self._messages.get()
            if message.tracker is not None:
                self.tracker = message.tracker
            elif message.round is not None:
                self._handle_round(message.round)

    def _handle_round(self, finished: Round) -> None:
        self.n_rounds = finished[0]
        for show in self._callbacks.display:
            show(finished)
        checkpoint = self._job.checkpoint
        if checkpoint is not None and self.n_rounds % checkpoint.every == 0:
            self.save_checkpoint(self._call(last_checkpoint, self._job.session))
        if self._job.waits:
            answers = [decide(finished) for decide in self._callbacks.deciding]
            self._call(answer, self._job.session, any(answers))

    def save_checkpoint(self, content: bytes | None) -> None:
        """Write a checkpoint of the first worker to the file of the client."""
        if content and self._job.checkpoint is not None:
            with replacing(self._job.checkpoint.path) as stream:
                stream.write(content)

    def interrupt(self) -> None:
        """Ctrl-C: end after the round that is under way. Raises KeyboardInterrupt if there is nothing to keep yet."""
        if self.interrupted or not self.n_rounds:
            raise KeyboardInterrupt
        self.interrupted = True
        self._call(answer, self._job.session, True)

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function on the first worker; None if the worker is gone, which the supervisor reports."""
        results: list[Any] = []

        def call() -> None:
            with suppress(Exception):
                found = self._client.run(function, *arguments, workers=[self._first_worker], on_error="ignore")
                results.append(found.get(self._first_worker))

        # A worker that is stopped never answers: a thread can be left behind.
        thread = Thread(target=call, daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(CHECK_SECONDS)
            self._supervisor.check()
        return results[0] if results else None


_HANDLERS: dict[str, EventHandler] = {}
"""Those of trainings under way, by session: a client may train several rankers at once."""


def _receive(event: tuple[float, Any]) -> None:
    message = Message(*event[1])
    if message.session in _HANDLERS:
        _HANDLERS[message.session].receive(message)
