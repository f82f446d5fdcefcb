"""Tables with many columns: what is asked of a whole table is not asked again for every column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import narwhals
import numpy as np
import polars
import pytest

import swaprank as sr
from swaprank.data.frames import feature_columns, role_columns


def counted(monkeypatch: pytest.MonkeyPatch, cls: Any, name: str) -> list[int]:
    """The number of uses of a property or method of a class, from now on."""
    real: Any = getattr(cls, name)
    uses = [0]

    def use(self: Any, *arguments: Any, **options: Any) -> Any:
        uses[0] += 1
        return real(self, *arguments, **options) if callable(real) else real.fget(self)

    monkeypatch.setattr(cls, name, property(use) if not callable(real) else use)
    return uses


def table(width: int, *, missing: str | None = None) -> polars.DataFrame:
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {"label": [0, 1, 2, 1], "qid": [1, 1, 2, 2]}
    for at in range(width):
        values = rng.normal(size=4).round(3)
        columns[f"f{at}"] = values if missing is None else [missing, *values[1:].astype(str)]
    return polars.DataFrame(columns)


@pytest.mark.parametrize(
    "take",
    [
        sr.Dataset.from_frame,
        lambda frame: role_columns(frame, {"session": "qid"}, {"position": "label"}),
        lambda frame: feature_columns(frame, [f"f{at}" for at in reversed(range(frame.width - 2))], None, "the model"),
    ],
)
def test_the_names_are_asked_for_as_often_for_many_columns(monkeypatch: pytest.MonkeyPatch, take: Any) -> None:
    uses, seen = counted(monkeypatch, narwhals.DataFrame, "columns"), []
    for width in (3, 60):
        uses[0] = 0
        take(table(width))
        seen.append(uses[0])
    assert seen[0] == seen[1] > 0


def test_text_with_missing_values_is_converted_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    uses, seen = counted(monkeypatch, polars.DataFrame, "with_columns"), []
    for width in (3, 60):
        table(width, missing="NA").write_csv(tmp_path / f"{width}.csv")
        uses[0] = 0
        data = sr.read(tmp_path / f"{width}.csv")
        seen.append(uses[0])
        assert data.features.shape == (4, width)
        assert np.isnan(data.features[0]).all()
        assert np.isfinite(data.features[1:]).all()
    assert seen[0] == seen[1]


def test_two_columns_of_one_name_among_many_are_found(tmp_path: Path) -> None:
    names = ["label", "qid", *(f"f{at}" for at in range(60)), "f7"]
    (tmp_path / "twice.csv").write_text(",".join(names) + "\n" + ",".join(["1"] * len(names)) + "\n")
    with pytest.raises(sr.errors.DataError, match="two columns have the name 'f7'"):
        sr.read(tmp_path / "twice.csv")
