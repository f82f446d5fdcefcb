"""`swaprank serve`: models behind HTTP."""

import os
import re
from pathlib import Path
from typing import Annotated, Any

import typer

import swaprank as sr
from swaprank.cli.options import split_names
from swaprank.cli.output import Verbosity, print_info, verbosity
from swaprank.cli.rankings import load_any
from swaprank.files import existing_file, writable_target

_TOKEN = "SWAPRANK_TOKEN"  # noqa: S105 (the name of a variable)
_SHORTEST_TOKEN = 16
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LIMITS, _TESTS, _RUNNING = "Limits", "Several models", "Operation"


def serve(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="Model files, as FILE or NAME=FILE. The first answers whoever asks for none by name.",
        ),
    ],
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for a free one.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads of each process that rank.", show_default="cores / workers")
    ] = None,
    split: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=SHARE",
            help="A/B test: this share of the sessions is answered by another model. Can be repeated.",
            rich_help_panel=_TESTS,
        ),
    ] = None,
    shadow: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="A model that ranks, too, and is logged, but never shown.", rich_help_panel=_TESTS
        ),
    ] = None,
    pages: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Append shown pages to this file, as JSON lines for `swaprank clicks --schema ubi`.",
            rich_help_panel=_TESTS,
        ),
    ] = None,
    watch: Annotated[
        float,
        typer.Option(min=0, help="Seconds between looks for new model files; 0: none.", rich_help_panel=_RUNNING),
    ] = 2.0,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="File with the bearer token for POST /models/NAME/reload.",
            show_default=f"the variable {_TOKEN}",
            rich_help_panel=_RUNNING,
        ),
    ] = None,
    drift_share: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Share of requests whose values are compared with training; 0 for none.",
            rich_help_panel=_RUNNING,
        ),
    ] = 0.01,
    drain: Annotated[
        float,
        typer.Option(min=0, help="Seconds between a signal to end and closing the port.", rich_help_panel=_RUNNING),
    ] = 1.0,
    max_body: Annotated[int, typer.Option(min=1, help="Bytes of a body.", rich_help_panel=_LIMITS)] = 16_000_000,
    body_seconds: Annotated[
        float, typer.Option(min=0.001, help="Seconds to send a request.", rich_help_panel=_LIMITS)
    ] = 10.0,
    max_documents: Annotated[
        int, typer.Option(min=1, help="Documents of a request.", rich_help_panel=_LIMITS)
    ] = 10_000,
    max_requests: Annotated[
        int, typer.Option(min=1, help="Requests under way in each process.", rich_help_panel=_LIMITS)
    ] = 256,
) -> None:
    """Answer requests to rank over HTTP: JSON, binary rows or Arrow; metrics, reloads and A/B tests.

    /docs describes the requests. SIGTERM and Ctrl-C finish what is under way; SIGHUP reloads the models.
    """
    _check_extra()
    from swaprank.serving.app import Service
    from swaprank.serving.listening import listener
    from swaprank.serving.models import Models
    from swaprank.serving.process import serve as run
    from swaprank.serving.settings import Limits, Settings
    from swaprank.serving.structured_logs import log_to_standard_error
    from swaprank.threads import thread_count

    files = _named_files(models)
    settings = Settings(
        Limits(max_body, body_seconds, max_documents, max_requests),
        workers,
        threads or max(1, thread_count(None) // workers),
        _shares(split or []),
        shadow,
        pages,
        watch,
        drain,
        drift_share,
        _token(token_file),
    )
    settings.check(tuple(files))
    if pages is not None:
        writable_target(pages)
    with listener(host, port) as bound:
        service = Service(Models(files, load_any), settings)
        log_to_standard_error(quiet=verbosity.get() is Verbosity.QUIET)
        run(service, bound, lambda address: print_info(_greeting(address, service.models)))


def _check_extra() -> None:
    for module in ("starlette", "uvicorn", "httptools", "msgspec"):
        sr.errors.import_extra(module, f'a server needs {module}: pip install "swaprank[serve]".')


def _named_files(arguments: list[str]) -> dict[str, Path]:
    """Model files by name; without one, a file is named by the part before its ending."""
    files: dict[str, Path] = {}
    for given, value in split_names(arguments, "models", "NAME=FILE").items():
        file = Path(value)
        name = file.stem if given == value else given
        if not _NAME.fullmatch(name):
            raise typer.BadParameter(
                f"'{name}' cannot be a name in addresses: write NAME={value}, a NAME of letters, digits, . _ and -."
            )
        if name in files:
            raise typer.BadParameter(f"two models are named '{name}': write NAME=FILE.")
        files[name] = file
    return files


def _shares(given: list[str]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for text in given:
        name, _, share = text.rpartition("=")
        try:
            shares[name] = float(share)
        except ValueError:
            raise typer.BadParameter(f"--split must be NAME=SHARE, such as new=0.1; found '{text}'.") from None
        if not name:
            raise typer.BadParameter(f"--split must be NAME=SHARE, such as new=0.1; found '{text}'.")
    return shares


def _token(file: Path | None) -> str | None:
    """The token of administrators from a file or the environment, if there is one."""
    where = _TOKEN if file is None else str(file)
    given = os.environ.get(_TOKEN, "") if file is None else existing_file(file).read_text("utf-8")
    if file is None and not given:
        return None
    token = given.strip()
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise sr.errors.ParameterError(
            f"{where}: a token has {_SHORTEST_TOKEN} or more letters, digits and signs in one line."
        )
    return token


def _greeting(address: str, models: Any) -> str:
    served = [f"{each.name}: {type(each.scorer.ranker).__name__}, {each.scorer.ranker.size_}" for each in models]
    return "\n".join([f"{address}/docs", *served, "Press Ctrl-C to end."])
