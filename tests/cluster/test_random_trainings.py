"""A few of the random trainings of tools/cluster_trials.py, with workers that are threads of this process."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from swaprank.data import cuts
from tests.workers import run_workers

TOOL = Path(__file__).parents[2] / "tools" / "random_trainings.py"


def random_trainings() -> Any:
    spec = spec_from_file_location("random_trainings", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(8))
def test_random_trainings_have_the_bytes_of_one_process(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = random_trainings()
    monkeypatch.setattr(cuts, "CUT_SAMPLE", cuts.CUT_SAMPLE)  # The tool changes both.
    monkeypatch.setattr("swaprank.trees.boosting._VALUES_TO_SHARE", 1_000_000)
    configuration = tool.random_configuration(seed)
    # The cores are few: threads of all workers would wait for each other.
    ranker_of = tool.ranker_of
    monkeypatch.setattr(tool, "ranker_of", lambda given, _: ranker_of(given, 1))
    expected = tool.train_alone(configuration)
    found = run_workers(lambda collective: tool.train_share(configuration, collective), configuration["size"])
    assert set(found) == {expected}
