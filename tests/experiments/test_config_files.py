"""TOML that we write reads back as the same values."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swaprank.errors import DataError, ParameterError
from swaprank.experiments.config_files import read_config, toml_text
from swaprank.experiments.ranker_parameters import list_parameters, trainable_rankers, training_parameters
from swaprank.registry import ranker_class

VALUES = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"])),
)
TABLES = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), VALUES | st.lists(VALUES, max_size=3))


@pytest.mark.slow
@given(TABLES, st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), TABLES))
def test_toml_is_read_as_it_was_written(values: dict[str, Any], tables: dict[str, dict[str, Any]]) -> None:
    whole = {**values, **{name: table for name, table in tables.items() if name not in values and table}}
    assert tomllib.loads(toml_text(whole)) == whole


def test_code_cannot_be_written() -> None:
    with pytest.raises(ParameterError, match="metric: a configuration file cannot store <"):
        toml_text({"metric": object()})


@pytest.mark.parametrize("name", sorted(trainable_rankers()))
def test_every_parameter_has_a_meaning_and_can_be_written(name: str) -> None:
    facts = list_parameters(name)
    assert [fact.name for fact in facts if not fact.meaning] == []
    assert {fact.name for fact in facts} == set(ranker_class(name).declared) - {"base_ranker"}
    plain = training_parameters(ranker_class(name)())
    read = tomllib.loads(toml_text(plain))
    expected = {key: "none" if value is None else value for key, value in plain.items()}
    assert read == {key: list(value) if isinstance(value, tuple) else value for key, value in expected.items()}


@pytest.mark.parametrize("name", ["run.toml", "run.yaml"])
def test_brackets_in_brackets_without_end_are_an_error(name: str, tmp_path: Path) -> None:
    if name.endswith("yaml"):
        pytest.importorskip("yaml")
    (tmp_path / name).write_text("a = " + "[" * 50_000 if name.endswith("toml") else "a: " + "[" * 50_000)
    with pytest.raises(DataError, match="is nested too deeply"):
        read_config(tmp_path / name)
