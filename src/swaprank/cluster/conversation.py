"""What the client hears from the first worker while training, and what it says to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, final

from swaprank.cluster.worker_task import Answer, Job, Message, Round, say


class Listening(NamedTuple):
    """Functions that are called on the client with each round."""

    shown: Sequence[Callable[[Round], object]] = ()
    """Training does not wait for them."""
    asked: Sequence[Callable[[Round], object]] = ()
    """Training waits for their answers, and stops if one is true."""


@final
class Conversation:
    """The rounds that were heard, and Ctrl-C."""

    def __init__(self, client: Any, first_worker: str, job: Job, listening: Listening) -> None:
        self._client, self._first_worker, self._job, self._listening = client, first_worker, job, listening
        self._messages: SimpleQueue[Message | None] = SimpleQueue()
        self._waiting: list[Message | None] = []
        self._interrupted = False
        self.tracker: Mapping[str, Any] | None = None
        """What the workers need to find each other."""
        self.finished = 0
        """Rounds."""

    def receive(self, event: tuple[float, Message]) -> None:
        """Called by Dask, in its thread."""
        self._messages.put(Message(*event[1]))

    def wake(self, future: Any) -> None:
        """Called by Dask, in its thread, when a task has ended."""
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
        if self._job.waits:
            answers = [ask(finished) for ask in self._listening.asked]
            self._say("stop" if any(answers) else "go on")

    def interrupt(self) -> None:
        """Ctrl-C: end after the round that is under way. Raises KeyboardInterrupt if there is nothing to keep yet."""
        if self._interrupted or not self.finished:
            raise KeyboardInterrupt
        self._interrupted = True
        self._say("interrupt")

    def _say(self, answer: Answer) -> None:
        # If the worker is gone, the supervisor says so.
        self._client.run(say, self._job.session, answer, workers=[self._first_worker], on_error="ignore")


@contextmanager
def conversation_on(client: Any, first_worker: str, job: Job, listening: Listening) -> Iterator[Conversation]:
    """A conversation that lasts as long as the block."""
    conversation = Conversation(client, first_worker, job, listening)
    client.subscribe_topic(job.topic, conversation.receive)
    try:
        yield conversation
    finally:
        with suppress(Exception):  # The scheduler may be gone.
            client.unsubscribe_topic(job.topic)
