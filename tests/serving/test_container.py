"""examples/docker: its commands run, and its files name what there is."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from swaprank.serving.metrics import Metrics
from swaprank.serving.models import Models
from tests.command_line import here
from tests.conftest import PROJECT
from tests.serving.running import saved
from tests.serving.test_server_process import serving

FOLDER = PROJECT / "examples" / "docker"


def instructions(name: str) -> list[str]:
    lines = (FOLDER / "Dockerfile").read_text().splitlines()
    return [line.removeprefix(f"{name} ") for line in lines if line.startswith(f"{name} ")]


def command(name: str) -> list[str]:
    (found,) = instructions(name)
    words: list[str] = json.loads(found)
    return words


def test_the_package_has_the_extra_and_commands_that_the_image_needs() -> None:
    install, *others = (shlex.split(run) for run in instructions("RUN"))
    assert install[:2] == ["pip", "install"]
    assert re.search(r"^serve = ", (PROJECT / "pyproject.toml").read_text(), re.MULTILINE)
    for words in others:
        assert words[0] == "rm" or here(*words[1:], "--help").code == 0


@pytest.mark.slow
def test_the_entry_point_serves_the_model(tmp_path: Path) -> None:
    name, subcommand, *options = command("ENTRYPOINT")
    assert (name, subcommand) == ("swaprank", "serve")
    (model,) = command("CMD")
    saved(tmp_path, model="trees")
    at = options.index("--host") + 1
    options[at] = "127.0.0.1"  # tests listen nowhere else
    with serving(tmp_path, *options, Path(model).name, "--drain", "0", SWAPRANK_TOKEN="") as server:
        assert server.ask("GET", "/ready")[0] == 200
        (check,) = instructions("HEALTHCHECK")
        assert "http://127.0.0.1:8000/ready" in check
        assert server.end() == 0


def test_compose_and_prometheus_name_files_and_ports_that_there_are() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    compose: Any = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    ranker = compose["services"]["ranker"]
    assert (FOLDER / ranker["build"]["context"] / ranker["build"]["dockerfile"]).resolve() == FOLDER / "Dockerfile"
    for volume in compose["services"]["prometheus"]["volumes"]:
        assert (FOLDER / volume.partition(":")[0]).is_file()
    prometheus = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    (target,) = prometheus["scrape_configs"][0]["static_configs"][0]["targets"]
    assert target == f"ranker:{instructions('EXPOSE')[0]}"
    assert all((FOLDER / rules).is_file() for rules in prometheus["rule_files"])


def test_alerts_are_about_counters_that_there_are(tmp_path: Path) -> None:
    text = Metrics(Models(saved(tmp_path, only="trees"))).text()
    families = set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))
    named = set(re.findall(r"\bswaprank_\w+", (FOLDER / "alerts.yml").read_text()))
    page = (PROJECT / "docs" / "server.md").read_text()
    named |= set(re.findall(r"`(swaprank_\w+)", page))
    assert len(named) > 8
    assert {re.sub("_bucket$", "", name) for name in named} <= families
