"""Arguments of `swaprank serve` that are wrong, told before anything listens."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import here
from tests.exchange.fitted_models import fitted

pytest.importorskip("starlette", reason="starlette is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("one", "two words"):
        fitted("trees").save(tmp_path / f"{name}.swaprank")
    (tmp_path / "other").mkdir()
    fitted("trees").save(tmp_path / "other" / "one.swaprank")
    (tmp_path / "short").write_text("short\n")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing argument 'MODEL...'"),
        (["no.swaprank"], "there is no file no.swaprank"),
        (["short"], "short"),
        (["two words.swaprank"], "'two words' cannot be a name in addresses"),
        (["one.swaprank", "other/one.swaprank"], "two models are named 'one'"),
        (["one.swaprank", "--split", "new"], "--split must be NAME=SHARE, such as new=0.1; found 'new'"),
        (["one.swaprank", "--split", "new=many"], "--split must be NAME=SHARE"),
        (["one.swaprank", "--split", "=0.1"], "--split must be NAME=SHARE"),
        (["one.swaprank", "--split", "fresh=0.1"], "no model is named 'fresh'; known are one."),
        (["one.swaprank", "--shadow", "oen"], "no model is named 'oen'; did you mean 'one'?"),
        (["one.swaprank", "--token-file", "short"], "short: a token has 16 or more"),
        (["one.swaprank", "--token-file", "gone"], "there is no file gone"),
        (["one.swaprank", "--host", "no such host"], "'no such host' is not an address of this machine"),
        (["one.swaprank", "--pages", "nowhere/pages.jsonl"], "there is no folder nowhere"),
        (["one.swaprank", "--workers", "0"], "--workers"),
        (["one.swaprank", "--port", "70000"], "--port"),
    ],
)
def test_mistakes_are_told(folder: Path, arguments: list[str], said: str) -> None:
    ended = here("serve", "--port", "0", *arguments, folder=folder)
    assert ended.code == 2
    assert said in ended.err.replace("│\n│ ", "")


def test_help_names_what_it_does() -> None:
    ended = here("serve", "--help")
    assert ended.code == 0
    for word in ("--split", "--shadow", "--pages", "--watch", "--token-file", "--drain", "--max-body", "SIGTERM"):
        assert word in ended.out
