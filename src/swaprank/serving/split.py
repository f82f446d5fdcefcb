"""A/B tests: which model answers a session, by a hash, so that a session always meets the same one."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import final


@final
class Split:
    """Sessions divided among models.

    The hash depends on the names of the models that are split off, not on their shares: a session stays with a model
    when its share grows, and another test divides the sessions anew.

    >>> from swaprank.serving.split import Split
    >>> split = Split("old", {"new": 0.25})
    >>> [split.model_of(f"session {number}") for number in range(6)]
    ['new', 'old', 'old', 'old', 'old', 'old']
    >>> split.model_of(None)
    'old'
    """

    def __init__(self, default: str, shares: Mapping[str, float]) -> None:
        self.default, self.shares = default, dict(shares)
        self._salt = "\n".join(sorted(shares)).encode()

    def model_of(self, session: str | None) -> str:
        """The name of the model that answers a session; the default for a request without one."""
        if session is None or not self.shares:
            return self.default
        place = self._place(session)
        for name, share in self.shares.items():
            place -= share
            if place < 0:
                return name
        return self.default

    def _place(self, session: str) -> float:
        """A number from 0 to below 1, uniform over sessions."""
        digest = blake2b(session.encode("utf-8", "surrogatepass"), digest_size=8, key=self._salt[:64]).digest()
        return (int.from_bytes(digest, "big") >> 11) / 2**53
