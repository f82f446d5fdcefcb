"""What an operator decides about a server: limits, and which model answers whom."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from swaprank.errors import Hint, ParameterError, did_you_mean
from swaprank.parameters import Bounds, check_parameter


@final
@dataclass(frozen=True)
class Limits:
    """What a client may ask for, and how long it may take."""

    body_bytes: int = 16_000_000
    """A larger body is refused while it arrives."""
    body_seconds: float = 10.0
    """Time to send a body; also time to send the line and the headers of a request."""
    documents: int = 10_000
    """Documents of one request."""
    requests: int = 256
    """Requests that one worker has under way; others are told to try again."""

    def __post_init__(self) -> None:
        check_parameter("max_body", self.body_bytes, Bounds(True, 1, 2**40))
        check_parameter("body_seconds", self.body_seconds, Bounds(False, 0, 86_400, open_low=True))
        check_parameter("max_documents", self.documents, Bounds(True, 1, 2**31))
        check_parameter("max_requests", self.requests, Bounds(True, 1, 2**31))


@final
@dataclass(frozen=True)
class Settings:
    """Everything about a server but its models and its address.

    >>> from swaprank.serving.settings import Settings
    >>> Settings(split={"new": 0.1}).limits.documents
    10000
    """

    limits: Limits = Limits()
    workers: int = 1
    threads: int = 1
    """Threads of each worker that rank."""
    split: Mapping[str, float] = field(default_factory=dict)
    """Shares of the sessions that another model than the first answers, by its name."""
    shadow: str | None = None
    """A model that ranks what others answer, without being shown."""
    pages: Path | None = None
    """A file that shown pages are appended to."""
    watch_seconds: float = 2.0
    """Time between two looks at the model files; 0 for none."""
    drain_seconds: float = 1.0
    """Time from a signal to end until the port is closed, in which balancers see that the server is not ready."""
    drift_share: float = 0.01
    """The share of requests whose values are compared with those of training."""
    token: str | None = None
    """The bearer token of administrators; without one, models are not reloaded by HTTP."""

    def check(self, names: tuple[str, ...]) -> None:
        """Raise ParameterError unless the settings fit the names of the served models."""
        check_parameter("workers", self.workers, Bounds(True, 1, 1024))
        check_parameter("threads", self.threads, Bounds(True, 1, 1024))
        check_parameter("watch", self.watch_seconds, Bounds(False, 0, 86_400))
        check_parameter("drain", self.drain_seconds, Bounds(False, 0, 3_600))
        check_parameter("drift_share", self.drift_share, Bounds(False, 0, 1))
        for name in (*self.split, *(() if self.shadow is None else (self.shadow,))):
            if name not in names:
                raise ParameterError(f"no model is named '{name}'; {did_you_mean(name, names)}")
        for name, share in self.split.items():
            if name == names[0]:
                raise ParameterError(
                    Hint("split"), f": '{name}' is the first model, which answers everybody else: split off others."
                )
            check_parameter(f"the share of '{name}'", share, Bounds(False, 0, 1, open_low=True))
        if sum(self.split.values()) > 1 + 1e-9:
            raise ParameterError(Hint("split"), f": the shares sum to {sum(self.split.values()):g}, which is above 1.")
