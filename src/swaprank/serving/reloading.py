"""New models while the server runs: files that changed, a signal, or a call."""

import asyncio
import logging
from typing import final

from swaprank.serving.metrics import Metrics
from swaprank.serving.models import Models, Reload
from swaprank.serving.shared_arrays import shared_zeros
from swaprank.serving.structured_logs import log

_TICK = 0.25


@final
class Reloader:
    """Reloads models, counts how that went, and tells the other workers."""

    def __init__(self, models: Models, metrics: Metrics, watch_seconds: float) -> None:
        self._models, self._metrics, self._watch_seconds = models, metrics, watch_seconds
        self._calls = shared_zeros((len(models.names),), "int64")
        """How often each model was asked to be reloaded, by any worker."""
        self._followed = self._calls.copy()

    def reload(self, name: str) -> Reload:
        """Reload a model in this worker."""
        done = self._models.reload(name)
        if done.outcome == "failed":
            log(logging.ERROR, "reload failed", model=name, version=done.served.version, error=done.error)
        elif done.outcome == "reloaded":
            log(logging.INFO, "reloaded", model=name, version=done.served.version, digest=done.served.digest)
        if done.outcome != "unchanged":
            self._metrics.add("swaprank_reloads_total", name, "ok" if done.outcome == "reloaded" else "failed")
        return done

    def reload_everywhere(self, name: str) -> Reload:
        """Reload a model in this worker, and let the others follow."""
        at = self._models.names.index(name)
        self._calls[at] += 1
        self._followed[at] = self._calls[at]
        return self.reload(name)

    def ask_all(self) -> None:
        """Let all workers reload all models, also those that start later."""
        self._calls += 1

    def reload_all(self) -> None:
        """Reload all models in this worker."""
        for name in self._models.names:
            self.reload(name)

    async def watch(self) -> None:
        """Reload what others were asked to reload, and models whose files have changed; without end."""
        loop = asyncio.get_running_loop()
        looked = loop.time()
        while True:
            await asyncio.sleep(min(_TICK, self._watch_seconds or _TICK))
            called = [name for at, name in enumerate(self._models.names) if self._calls[at] != self._followed[at]]
            self._followed[:] = self._calls
            if self._watch_seconds and loop.time() - looked >= self._watch_seconds:
                called += [name for name in await asyncio.to_thread(self._models.changed) if name not in called]
                looked = loop.time()
            for name in called:
                await asyncio.to_thread(self.reload, name)
