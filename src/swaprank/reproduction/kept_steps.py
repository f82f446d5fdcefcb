"""Steps of long experiments, kept in a folder: a run that was interrupted continues after the last one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import swaprank as sr
from swaprank.files import file_in, replacing
from swaprank.rendering.result import plain
from swaprank.reproduction.experiment import Settings


def kept_values(settings: Settings, step: str, compute: Callable[[], Any]) -> Any:
    """The plain values of a step, from the folder of the settings if it is there, else computed and written there.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from swaprank.reproduction.experiment import Settings
    >>> from swaprank.reproduction.kept_steps import kept_values
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     settings = Settings(output=Path(folder))
    ...     kept_values(settings, "first", lambda: [1, 2]), kept_values(settings, "first", lambda: "not computed")
    ([1, 2], [1, 2])
    """
    file = _file(settings, step, ".json")
    if file is None:
        return plain(compute())
    if not file.exists():
        content = json.dumps(plain(compute())).encode()
        with replacing(file) as stream:
            stream.write(content)
    return json.loads(file.read_bytes())


def kept_ranker(settings: Settings, step: str, train: Callable[[], sr.Ranker]) -> sr.Ranker:
    """The ranker of a step, from the folder of the settings if it is there, else trained and saved there.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import swaprank as sr
    >>> from swaprank.reproduction.experiment import Settings
    >>> from swaprank.reproduction.kept_steps import kept_ranker
    >>> (train,) = sr.datasets.random_net((5,), n_features=2, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     settings = Settings(output=Path(folder))
    ...     first = kept_ranker(settings, "net", lambda: sr.LambdaRank(n_epochs=1).fit(train))
    ...     again = kept_ranker(settings, "net", lambda: sr.LambdaRank(n_epochs=0).fit(train))
    >>> again.predict(train).tolist() == first.predict(train).tolist()
    True
    """
    file = _file(settings, step, ".model")
    if file is not None and file.exists():
        return sr.load(file)
    ranker = train()
    if file is not None:
        ranker.save(file)
    return ranker


def _file(settings: Settings, step: str, ending: str) -> Path | None:
    """The file of a step. Its name has the settings on which the result depends."""
    if settings.output is None:
        return None
    settings.output.mkdir(parents=True, exist_ok=True)
    words = f"{step} {'quick ' if settings.quick else ''}seed {settings.random_state}".split()
    name = "".join(c if c.isalnum() or c in ".@-" else "_" for c in "-".join(words))
    return file_in(settings.output, f"{name}{ending}")
