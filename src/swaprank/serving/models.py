"""The models that a server has, by name. A new one takes the place of the old one once it is ready, or not at all."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, Literal, NamedTuple, final

from swaprank.errors import DataError, SwaprankError
from swaprank.files import existing_file, file_digest
from swaprank.rankers.ranker import Ranker
from swaprank.registry import load
from swaprank.serving.scorer import Scorer
from swaprank.serving.seen_ranges import SeenRanges

_ATTEMPTS = 5
_SHORT = 12


@final
@dataclass(frozen=True, eq=False)
class Served:
    """A model that answers requests. It never changes, so a request keeps the one that it began with."""

    name: str
    scorer: Scorer
    digest: str
    """SHA-256 of its file."""
    loaded: datetime
    ranges: SeenRanges | None
    """What training has seen; None if the file does not say it."""

    @property
    def version(self) -> str:
        """The first digits of the digest, which tell files apart."""
        return self.digest[:_SHORT]

    def description(self) -> dict[str, Any]:
        """The model in plain values."""
        ranker = self.scorer.ranker
        return {
            "name": self.name,
            "version": self.version,
            "digest": self.digest,
            "loaded": self.loaded.isoformat(timespec="seconds"),
            "ranker": ranker.kind,
            "size": ranker.size_,
            "features": list(self.scorer.feature_names),
            "categories": {name: list(texts) for name, texts in ranker.categories_.items()},
        }


class Reload(NamedTuple):
    """How a reload went."""

    outcome: Literal["reloaded", "unchanged", "failed"]
    served: Served
    """The model that answers now."""
    error: str = ""


@final
class Models:
    """Served models by name; the first is the default.

    Args:
        files: Their files.
        read: Makes a ranker of a file.
    """

    def __init__(self, files: Mapping[str, Path], read: Callable[[Path], Ranker] = load) -> None:
        self._files, self._read, self._reloading = dict(files), read, Lock()
        self._tried = {name: _signature(file) for name, file in files.items()}
        self._served = {name: _served(name, file, read) for name, file in files.items()}
        self.names = tuple(files)

    def __getitem__(self, name: str) -> Served:
        """The model with this name; KeyError if there is none."""
        return self._served[name]

    def __iter__(self) -> Iterator[Served]:
        return iter(list(self._served.values()))

    @property
    def default(self) -> Served:
        """The model that answers requests without a name."""
        return self._served[self.names[0]]

    def changed(self) -> list[str]:
        """The names of models whose files are not those that were read last, or could not be read."""
        return [name for name, file in self._files.items() if _signature(file) not in (None, self._tried[name])]

    def reload(self, name: str) -> Reload:
        """Read a model's file again. Requests go on with the old model until the new one is ready, and if it is bad."""
        with self._reloading:
            before, file = self._served[name], self._files[name]
            self._tried[name] = _signature(file)
            try:
                if file_digest(existing_file(file)) == before.digest:
                    return Reload("unchanged", before)
                new = _served(name, file, self._read)
                _check_features(before, new)
            except (SwaprankError, OSError) as error:
                return Reload("failed", before, str(error))
            except Exception as error:  # Whatever a file does to its reader, the server goes on.
                return Reload("failed", before, f"{type(error).__name__}: {error}")
            self._served[name] = new
            return Reload("reloaded", new)


def _served(name: str, file: Path, read: Callable[[Path], Ranker]) -> Served:
    """Read and warm a model; again, if its file was replaced meanwhile."""
    for _ in range(_ATTEMPTS):
        digest, scorer = file_digest(existing_file(file)), Scorer(read(file))
        if file_digest(existing_file(file)) == digest:
            ranges = SeenRanges.of(scorer)
            return Served(name, scorer, digest, datetime.now(UTC), ranges)
    raise DataError(f"{file} changes all the time: write it elsewhere, and rename it when it is complete.")


def _check_features(before: Served, new: Served) -> None:
    """Rows by position would have another meaning."""
    if before.scorer.feature_names != new.scorer.feature_names:
        raise DataError(
            f"the new file of '{before.name}' has other features, or another order of features ("
            f"{len(new.scorer.feature_names)} instead of {len(before.scorer.feature_names)}): serve it under another "
            "name, or start the server again."
        )


def _signature(file: Path) -> tuple[int, int, int] | None:
    """What changes with the content of a file; None if there is no such file."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
