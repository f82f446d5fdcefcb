"""Every parameter of every ranker is checked and documented, and one more is one declaration."""

import inspect
import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

import swaprank as sr
from swaprank import registry
from swaprank.experiments.ranker_parameters import default_ranges, list_parameters
from swaprank.parameters import Parameters, parameter
from swaprank.rankers.mart import MART
from swaprank.registry import RANKERS, ranker_class
from tests.command_line import here

(DATA,) = sr.datasets.random_net((4,), n_features=2, n_documents=5, random_state=0)
CHECKED = [
    (kind, name)
    for kind in RANKERS
    for name, each in ranker_class(kind).declared.items()
    if each.bounds is not None or each.words or isinstance(each.default, bool)
]


@pytest.mark.parametrize(("kind", "name"), CHECKED)
def test_a_number_word_or_flag_that_is_none_is_refused(kind: str, name: str) -> None:
    each = ranker_class(kind).declared[name]
    only_words = each.words and each.bounds is None
    wrong: Any = ("two",) if each.each else 2 if only_words else "two"
    message = f"there is no {name} '2'" if only_words else f"{name} must be"
    with pytest.raises(sr.errors.ParameterError, match=message):
        ranker_class(kind)(**{name: wrong}).check_parameters()


@pytest.mark.parametrize("kind", RANKERS)
def test_every_parameter_has_a_meaning_a_type_and_a_valid_default(kind: str) -> None:
    made = ranker_class(kind)()
    made.check_parameters()
    for name, each in made.declared.items():
        assert each.text.endswith("."), name
        assert inspect.signature(type(made)).parameters[name].annotation is not inspect.Parameter.empty
        assert f"    {name}: " in str(type(made).__doc__)


@pytest.mark.parametrize("kind", RANKERS)
def test_no_name_of_others_means_two_things(kind: str) -> None:
    declared = ranker_class(kind).declared
    theirs = [name for each in declared.values() for name in each.also.split()]
    assert len(set(theirs)) == len(theirs)
    assert set(ranker_class(kind).accepted_names()) == {*declared, *theirs}


class Patient(MART):  # type: ignore[misc]
    """MART with one more parameter: this declaration is all that it takes."""

    kind: ClassVar[str] = "patient"
    patience: float = parameter(
        default=0.5, low=0, high=1, tune=(0.1, 0.9), also="calm", text="How long to wait for a better split."
    )


def test_a_new_parameter_is_one_declaration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(registry.RANKERS, "patient", f"{__name__}.Patient")
    assert inspect.signature(Patient).parameters["patience"].default == 0.5
    assert Patient(calm=0.25).get_params()["patience"] == 0.25  # type: ignore[call-arg]
    with pytest.raises(sr.errors.ParameterError, match="patience must be a number from 0 to 1; found 2"):
        Patient(patience=2).fit(DATA)
    assert "patience: How long to wait for a better split." in str(Patient.__doc__)
    assert ("patience", 0.5, "How long to wait for a better split.") in list_parameters("patient")
    assert default_ranges(Patient())["patience"] == (0.1, 0.9, True)
    Patient(n_trees=1, patience=0.75).fit(DATA).save(tmp_path / "model.swaprank")
    assert sr.load(tmp_path / "model.swaprank").get_params()["patience"] == 0.75
    sr.write_letor(DATA, tmp_path / "train.txt")
    to = tmp_path / "again.swaprank"
    assert here("train", tmp_path / "train.txt", "--ranker", "patient", "--set", "calm=0.5", "-o", to).code == 0
    assert json.loads(here("info", to, "--json").out)["parameters"]["patience"] == 0.5


def test_a_declaration_again_changes_what_it_names() -> None:
    class Few(Parameters):
        n_trees: int = parameter(default=3, low=0, also="n_estimators", text="Trees.")
        depth: int = parameter(default=2, low=1, text="Depth.")

    class More(Few):
        n_trees: int = parameter(default=30)
        depth = 5

    assert More().n_trees == 30
    assert More(n_estimators=4).n_trees == 4  # type: ignore[call-arg]
    assert list(More.declared) == ["n_trees"]
    assert More.depth == 5
    assert Few().depth == 2
